//! Who is who: an end is its Ed25519 key, as in ssh and WireGuard. Keys, their fingerprints, and
//! whom to let in. Texts alone: what reads and writes the files is above.

mod allow_list;
mod enrolment;
mod fingerprint;
mod key;
mod known_peers;
mod text;
mod trust;

pub use allow_list::AllowList;
pub use enrolment::{CodeError, Enrolment};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use key::{Identity, IdentityError, PublicKey};
pub use known_peers::{KnownPeers, Standing};
pub use text::TextError;
pub use trust::Trust;
