//! How two hosts become known to each other by a one-time code.
//!
//! Both derive the same key pair from the code, and their first association runs with that pair at
//! both ends: nobody else gets through. In it the client tells its permanent public key. The server
//! writes it down and answers with its own, which the client writes down. Neither has to prove
//! there that it owns the key: it does so in every association that follows, and whoever tells the
//! key of another gains nothing.

use std::time::Duration;

use polypath_net::{Association, Closed, PublicKey, SendError};

/// What a message begins with, and the version.
const MAGIC: &[u8] = b"PPEN\x01";

/// What stands before an Ed25519 key in its SubjectPublicKeyInfo (RFC 8410 section 4).
const SPKI_HEADER: [u8; 12] = [0x30, 0x2a, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 3, 0x21, 0];
const SPKI_LEN: usize = SPKI_HEADER.len() + 32;

/// How long the peer may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why two hosts are not known to each other now.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnrolmentError {
    /// The association ended.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// Something could not be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The peer did not say who it is.
    #[error("the peer did not tell its key within {} s", PATIENCE.as_secs())]
    Mute,
    /// It said something else.
    #[error("the peer told something that is no key")]
    NoKey,
    /// Its key could not be written down here.
    #[error("{0}")]
    Unwritten(String),
}

/// The client's part: tells its key, and gives the server's, which has it by then.
///
/// # Errors
/// When the server does not answer, or not with a key.
pub async fn introduce(
    association: &Association,
    own: &PublicKey,
) -> Result<PublicKey, EnrolmentError> {
    association.send(0, encode(own)).await?;
    hear(association).await
}

/// The server's part: hears the client's key, lets `keep` write it down, and answers with its own.
/// When it cannot be written, the client is told that there was trouble, and the association ends.
///
/// # Errors
/// When the client says nothing, or what is no key; what `keep` says.
pub async fn welcome(
    association: &Association,
    own: &PublicKey,
    keep: impl FnOnce(&PublicKey) -> Result<(), String>,
) -> Result<PublicKey, EnrolmentError> {
    let peer = hear(association).await?;
    if let Err(why) = keep(&peer) {
        association.abort("the key could not be written down");
        return Err(EnrolmentError::Unwritten(why));
    }
    association.send(0, encode(own)).await?;
    Ok(peer)
}

async fn hear(association: &Association) -> Result<PublicKey, EnrolmentError> {
    let heard = tokio::time::timeout(PATIENCE, association.recv()).await;
    let message = heard.map_err(|_| EnrolmentError::Mute)??.ok_or(Closed::Shutdown)?;
    let key = decode(&message.data).ok_or(EnrolmentError::NoKey);
    if key.is_err() {
        association.abort("no key");
    }
    key
}

fn encode(key: &PublicKey) -> Vec<u8> {
    [MAGIC, key.spki()].concat()
}

fn decode(message: &[u8]) -> Option<PublicKey> {
    let spki = message.strip_prefix(MAGIC)?;
    (spki.len() == SPKI_LEN && spki.starts_with(&SPKI_HEADER)).then(|| PublicKey::from_spki(spki))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::keys::Identity;

    #[test]
    fn keys_survive_and_nothing_else_is_one() {
        let key = Identity::generate().unwrap();
        let message = encode(key.public());
        assert_eq!(decode(&message).as_ref(), Some(key.public()));
        for end in 0..message.len() {
            assert_eq!(decode(&message[..end]), None);
        }
        for at in 0..MAGIC.len() + SPKI_HEADER.len() {
            let mut changed = message.clone();
            changed[at] ^= 1;
            assert_eq!(decode(&changed), None, "{at}");
        }
        assert_eq!(decode(&[&message[..], &[0]].concat()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = decode(&[MAGIC, &bytes].concat());
            let _ = decode(&bytes);
        }
    }
}
