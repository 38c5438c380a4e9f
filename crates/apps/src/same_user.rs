//! Who is at the other end of a Unix socket.

use tokio::net::UnixStream;

/// Whether it is this user, or root. Files say who may connect; the kernel says who did.
pub fn is_same_user(stream: &UnixStream) -> bool {
    let own = nix::unistd::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}
