//! Who this host is, whom it knows and whom it lets in: the files that say so.
//!
//! A host is its Ed25519 key, made at first use ([`Home::load_or_make_identity`]). Peers that were
//! met are lines of a file ([`KnownPeersFile`]), and so are those that a server lets in
//! ([`AllowFile`]). A one-time code makes two hosts known to each other ([`enrolment`]).

mod allowed;
pub mod enrolment;
mod error;
mod home;
mod key_log;
mod peers;
mod refusal;
mod safe_file;
mod secret;

use polypath_net::Association;
pub use polypath_net::{
    AllowList, Enrolment, Fingerprint, Identity, KnownPeers, PreShared, PublicKey, Standing, Tls,
    Trust,
};
pub use polypath_proto::protection::OVERHEAD;

pub use self::allowed::{AllowFile, Doorkeeper};
pub use self::error::KeyError;
pub use self::home::{Home, load_or_make, public_pem};
pub use self::key_log::KeyLogFile;
pub use self::peers::{KnownPeersFile, PeerNames, Verdict};
pub use self::refusal::KeyRefusal;
pub(crate) use self::safe_file::read_trusted;
pub use self::secret::read_secret;

/// What people know the peer of an association by; `None` if it proved nothing.
pub fn peer_fingerprint(association: &Association) -> Option<Fingerprint> {
    association.peer_identity().map(|key| key.fingerprint())
}
