//! How the two ends of an association begin: each says its hello on stream 0.

use std::time::Duration;

use tokio::sync::mpsc;

use super::frame::{Frame, Instance, VERSION};
use super::mux::Mux;

/// How long the other end may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Why the two ends do not work together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// It says something else first.
    #[error("the peer did not say hello: is `polypath serve` running there?")]
    Rude,
    /// It has another version of the protocol.
    #[error("the peer has version {theirs} of the protocol of forward, this end {VERSION}")]
    Version {
        /// Its version.
        theirs: u16,
    },
    /// It says nothing.
    #[error(
        "the peer said no hello within {} s: is `polypath serve` running there?",
        PATIENCE.as_secs()
    )]
    Silent,
    /// The association ended.
    #[error("the peer ended the association before it said hello")]
    Gone,
}

/// A number that no other process has.
///
/// # Errors
/// When the system has no randomness.
pub fn draw_instance() -> Result<Instance, std::io::Error> {
    let mut instance = Instance::default();
    getrandom::fill(&mut instance).map_err(std::io::Error::other)?;
    Ok(instance)
}

/// Says hello and waits for the peer's, which says who it is.
///
/// # Errors
/// When it does not come, or is another.
pub async fn exchange(
    mux: &Mux,
    letters: &mut mpsc::Receiver<Frame>,
    instance: Instance,
) -> Result<Instance, HelloError> {
    let connections = mux.limits().connections;
    let hello = Frame::Hello { version: VERSION, instance, connections };
    mux.send(0, &hello).await.map_err(|_| HelloError::Gone)?;
    let answer = tokio::time::timeout(PATIENCE, letters.recv()).await;
    match answer.map_err(|_| HelloError::Silent)?.ok_or(HelloError::Gone)? {
        Frame::Hello { version: VERSION, instance, connections } => {
            mux.set_peer_limit(connections);
            Ok(instance)
        }
        Frame::Hello { version, .. } => Err(HelloError::Version { theirs: version }),
        _ => Err(HelloError::Rude),
    }
}
