//! A process that uses the association of another one.

use std::io;
use std::path::Path;

use tokio::net::UnixStream;
use tokio::sync::mpsc;

use super::words::{Answer, Ask, hear, say};
use crate::forward::channel::OpenError;
use crate::forward::client::Remote;
use crate::forward::refusal::Refusal;
use crate::forward::spec::Listen;
use crate::forward::target::Target;

fn unexpected() -> io::Error {
    io::Error::other("the other process says something else")
}

/// Opens a connection to `to` by the process that has the lobby at `path`. What comes is the
/// connection.
///
/// # Errors
/// The outer one: that process is gone. The inner one: the far end refused.
pub async fn open(path: &Path, to: &Target) -> io::Result<Result<UnixStream, OpenError>> {
    let mut stream = UnixStream::connect(path).await?;
    say(&mut stream, &Ask::Open(to.to_string())).await?;
    match hear(&mut stream).await?.ok_or(io::ErrorKind::UnexpectedEof)? {
        Answer::Opened => Ok(Ok(stream)),
        Answer::Refused(code) => Ok(Err(Refusal::from_code(code).into())),
        Answer::Lost => Ok(Err(OpenError::Lost)),
        _ => Err(unexpected()),
    }
}

/// Has the far end listen at `at`, as long as this is awaited; each connection there is given to
/// `taken`, once [`take`] gets it by its number.
///
/// # Errors
/// When the process that has the lobby is gone.
pub async fn listen(
    path: &Path,
    at: &Listen,
    told: &mpsc::UnboundedSender<Remote>,
    taken: impl Fn(u64),
) -> io::Result<()> {
    let mut stream = UnixStream::connect(path).await?;
    say(&mut stream, &Ask::Listen(at.to_string())).await?;
    while let Some(answer) = hear(&mut stream).await? {
        let remote = match answer {
            Answer::Incoming(number) => {
                taken(number);
                continue;
            }
            Answer::Listening(port) => Remote::Listening(at.clone(), port),
            Answer::Refused(code) => Remote::Refused(at.clone(), Refusal::from_code(code)),
            _ => return Err(unexpected()),
        };
        // Nobody has to hear it.
        let _ = told.send(remote);
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// Takes a connection that came to a listener of ours.
///
/// # Errors
/// When it is gone.
pub async fn take(path: &Path, number: u64) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(path).await?;
    say(&mut stream, &Ask::Take(number)).await?;
    match hear(&mut stream).await? {
        Some(Answer::Opened) => Ok(stream),
        _ => Err(unexpected()),
    }
}
