//! The runtime of a thread that talks to others.

use std::io;
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use tokio::runtime::{Builder, Runtime};

/// Pairs of descriptors that the first runtime of a process takes, with one to spare.
const PAIRS: usize = 3;

/// For one thread.
///
/// # Errors
/// When the system lacks what it needs.
pub fn build_runtime() -> io::Result<Runtime> {
    // tokio panics where its signals find no descriptors.
    let room: io::Result<Vec<_>> = (0..PAIRS).map(|_| UnixStream::pair()).collect();
    let built = room.map(drop).and_then(|()| Builder::new_current_thread().enable_all().build());
    built.map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::EMFILE as i32 => {
            io::Error::new(error.kind(), "too many open files (raise their limit: ulimit -n)")
        }
        _ => error,
    })
}
