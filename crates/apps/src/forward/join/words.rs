//! What a guest and the lobby say to each other.

use std::io;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// A longer line is none, bytes.
pub const LONGEST: usize = 1024;

/// What a guest asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ask {
    /// A connection to this place, as [`Target`](crate::forward::target::Target) is written.
    Open(String),
    /// A listener at the far end, as -R has it, with any target behind it. It is there as long as
    /// the guest stays.
    Listen(String),
    /// A connection of such a listener.
    Take(u64),
}

/// What the lobby says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Answer {
    /// The connection is through; its bytes follow.
    Opened,
    /// It is not, by a [`Refusal`](crate::forward::refusal::Refusal)'s code.
    Refused(u8),
    /// There is no association.
    Lost,
    /// The far end listens, at this port (0 of a Unix socket).
    Listening(u16),
    /// A connection came there: to be taken by its number.
    Incoming(u64),
}

/// Says a line.
///
/// # Errors
/// When the other end is gone.
pub(super) async fn say(stream: &mut UnixStream, word: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_string(word).map_err(io::Error::other)?;
    line.push('\n');
    stream.write_all(line.as_bytes()).await
}

/// The next line; `None` at the end. Nothing behind it is read: a connection's bytes may follow.
///
/// # Errors
/// When it is none.
pub(super) async fn hear<T: for<'a> Deserialize<'a>>(
    stream: &mut UnixStream,
) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    loop {
        let mut byte = [0];
        if stream.read(&mut byte).await? == 0 {
            return match line.is_empty() {
                true => Ok(None),
                false => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
        match byte {
            [b'\n'] => return serde_json::from_slice(&line).map(Some).map_err(io::Error::other),
            _ if line.len() == LONGEST => return Err(io::Error::other("a line without end")),
            [byte] => line.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_read_to_their_end_and_no_further() {
        let (mut a, mut b) = UnixStream::pair().unwrap();
        say(&mut a, &Ask::Open("db:5432".to_owned())).await.unwrap();
        a.write_all(b"bytes").await.unwrap();
        let heard: Option<Ask> = hear(&mut b).await.unwrap();
        assert_eq!(heard, Some(Ask::Open("db:5432".to_owned())));
        let mut rest = [0; 5];
        b.read_exact(&mut rest).await.unwrap();
        assert_eq!(&rest, b"bytes");
        for odd in [&b"{}\n"[..], b"\"open\"\n", b"\xff\n", &[b' '; 2000], b"{\"take\":-1}\n"] {
            let (mut a, mut b) = UnixStream::pair().unwrap();
            a.write_all(odd).await.unwrap();
            drop(a);
            assert!(hear::<Ask>(&mut b).await.is_err(), "{odd:?}");
        }
    }
}
