//! A connection of this host joined to one over the association: bytes both ways, ends as they are.

use std::io::{self, IoSlice};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Interest};
use tokio::net::{TcpStream, UnixStream, tcp, unix};
use tokio::time::Instant;

use super::channel::{Broken, Channel};
use super::inbox::Pieces;
use super::service::Judge;

/// Bytes that are read from this host at once, at least and at most: who sends little shall not
/// hold much memory.
const READ: (usize, usize) = (2 << 10, 64 << 10);

/// Pieces that are written to this host in one call, at most.
const SLICES: usize = 64;

/// A connection of this host.
#[derive(Debug)]
pub enum Local {
    /// Of TCP.
    Tcp(TcpStream),
    /// Of a Unix socket.
    Unix(UnixStream),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Both directions, in order.
    InOrder,
    /// Broken off at this host.
    Here,
    /// Broken off at the other end, or with the association.
    There,
}

impl From<TcpStream> for Local {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(stream)
    }
}

impl From<UnixStream> for Local {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(stream)
    }
}

impl Local {
    /// Carries bytes both ways until both directions are through, or one end breaks off.
    pub async fn relay(self, channel: Channel) -> Ended {
        match self {
            Self::Tcp(mut stream) => {
                // Whoever is at either end decides what goes out together, not this host.
                let _slower = stream.set_nodelay(true);
                let (mut reader, mut writer) = stream.split();
                let ended = relay(channel, &mut reader, &mut writer).await;
                if ended == Ended::There {
                    break_off(stream);
                }
                ended
            }
            Self::Unix(mut stream) => {
                let (mut reader, mut writer) = stream.split();
                relay(channel, &mut reader, &mut writer).await
            }
        }
    }

    /// The connection came to nothing: who waits for it is told by a reset where that is possible.
    pub fn break_off(self) {
        if let Self::Tcp(stream) = self {
            break_off(stream);
        }
    }
}

/// Ends a connection by RST (RFC 9293 section 3.5.3): its other end shall not take what came for
/// all there is.
fn break_off(stream: TcpStream) {
    let _plain_end = socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    drop(stream);
}

/// What a connection is read from.
pub trait Source: AsyncRead + Unpin {
    /// Until the connection is broken off: to be told while nothing may be read, too.
    fn gone(&self) -> impl Future<Output = ()> + Send;
}

impl Source for tcp::ReadHalf<'_> {
    async fn gone(&self) {
        while self.ready(Interest::ERROR).await.is_ok_and(|ready| !ready.is_error()) {}
    }
}

impl Source for unix::ReadHalf<'_> {
    async fn gone(&self) {
        while self.ready(Interest::ERROR).await.is_ok_and(|ready| !ready.is_error()) {}
    }
}

impl Source for tokio::io::Stdin {
    async fn gone(&self) {
        core::future::pending().await
    }
}

enum Trouble {
    Here,
    There,
}

impl From<Broken> for Trouble {
    fn from(_: Broken) -> Self {
        Self::There
    }
}

impl From<io::Error> for Trouble {
    fn from(_: io::Error) -> Self {
        Self::Here
    }
}

/// As [`Local::relay`], of any reader and writer.
pub async fn relay<R, W>(channel: Channel, reader: &mut R, writer: &mut W) -> Ended
where
    R: Source,
    W: AsyncWrite + Unpin,
{
    match tokio::try_join!(upload(&channel, reader), download(&channel, writer)) {
        Ok(_) => {
            channel.close().await;
            Ended::InOrder
        }
        Err(Trouble::Here) => Ended::Here,
        Err(Trouble::There) => Ended::There,
    }
}

async fn upload<R: Source>(channel: &Channel, reader: &mut R) -> Result<(), Trouble> {
    let mut judge = Judge::new(Instant::now());
    channel.set_needs(judge.needs());
    let (least, most) = READ;
    let mut size = least;
    let mut buffer = BytesMut::new();
    loop {
        let allowed = tokio::select! {
            allowed = channel.allowance(size) => allowed?,
            () = reader.gone() => return Err(Trouble::Here),
        };
        buffer.reserve(allowed);
        let mut limited = (&mut *reader).take(allowed as u64);
        let read = tokio::select! {
            read = limited.read_buf(&mut buffer) => read?,
            () = channel.broken() => return Err(Trouble::There),
        };
        channel.give_back(allowed.saturating_sub(read));
        if read == 0 {
            channel.finish().await?;
            return Ok(());
        }
        if judge.note(Instant::now(), read as u64) {
            channel.set_needs(judge.needs());
        }
        // What fills its buffer has more to say.
        size = if read == size { (2 * size).min(most) } else { size };
        if read < least {
            size = least;
        }
        channel.write(buffer.split().freeze()).await?;
    }
}

async fn download<W: AsyncWrite + Unpin>(channel: &Channel, writer: &mut W) -> Result<(), Trouble> {
    let mut pieces = Pieces::new();
    while channel.read(&mut pieces).await? {
        while !pieces.is_empty() {
            let written = tokio::select! {
                written = write_some(writer, &mut pieces) => written?,
                // Who does not read would keep it for ever.
                () = channel.broken() => return Err(Trouble::There),
            };
            channel.consumed(written as u64).await?;
        }
        writer.flush().await?;
    }
    writer.shutdown().await?;
    Ok(())
}

/// Writes some of the pieces; how many bytes.
async fn write_some<W: AsyncWrite + Unpin>(
    writer: &mut W,
    pieces: &mut Pieces,
) -> io::Result<usize> {
    let slices: Vec<IoSlice<'_>> = pieces.iter().take(SLICES).map(|p| IoSlice::new(p)).collect();
    let written = writer.write_vectored(&slices).await?;
    if written == 0 {
        return Err(io::ErrorKind::WriteZero.into());
    }
    let mut left = written;
    while let Some(first) = pieces.front_mut() {
        if first.len() > left {
            Bytes::advance(first, left);
            break;
        }
        left -= first.len();
        pieces.pop_front();
    }
    Ok(written)
}
