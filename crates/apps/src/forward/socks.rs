//! What clients of `forward -D` say: SOCKS 5 (RFC 1928, without authentication), 4 and 4a, of which
//! only CONNECT is done. Names are handed on as names; nothing is looked up here.
//!
//! Of a request not a byte more is read than it has, for what is behind it belongs to the
//! connection: clients send without waiting for answers. What a client can make us hold is one name
//! (255 bytes), and how long it takes is up to the caller.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::refusal::Refusal;
use super::target::{Target, TargetError};

/// Bytes of a name or of a user's name: one byte counts them in RFC 1928, and SOCKS 4 is held to
/// the same.
const LONGEST: usize = 255;

/// Of what is HTTP so many bytes are read, before it is told that this is none.
const HTTP_HEAD: usize = 16 << 10;

/// No such method: the proxy does not do what HTTP asks of it (RFC 9110 section 15.6.2). The end of
/// the connection is that of the content (RFC 9112 section 6.3).
const HTTP_ANSWER: &[u8] = b"HTTP/1.1 501 Not Implemented\r\nContent-Type: text/plain\r\n\
    Connection: close\r\n\r\nThis port speaks SOCKS, not HTTP: \
    name it as SOCKS proxy, such as socks5h://HOST:PORT.\n";

/// The language of a client, in which it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// SOCKS 4 and 4a.
    Socks4,
    /// SOCKS 5.
    Socks5,
}

/// What a client asks for: a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's language.
    pub version: Version,
    /// Where to.
    pub target: Target,
}

/// Why there is no request. Who still listens has been told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocksError {
    /// The connection broke.
    #[error("the SOCKS client: {0}")]
    Io(#[source] io::Error),
    /// It closed the connection.
    #[error("the SOCKS client left before it had said what it wants")]
    Left,
    /// Another protocol.
    #[error("HTTP, or something like it, at a SOCKS port (allowed: SOCKS 4, 4a and 5)")]
    Http,
    /// Yet another protocol, or the second part of SOCKS 5 does not go on as the first.
    #[error("SOCKS version {0} (allowed: 4 and 5)")]
    Version(u8),
    /// It insists on authentication.
    #[error("the SOCKS client wants to authenticate itself (allowed: method 0, without)")]
    Method,
    /// BIND, UDP ASSOCIATE, or what extensions have.
    #[error("SOCKS command {0} (allowed: 1, CONNECT)")]
    Command(u8),
    /// Neither address nor name.
    #[error("SOCKS address type {0} (allowed: 1, 3 and 4)")]
    AddressType(u8),
    /// SOCKS 4 has no lengths.
    #[error("SOCKS {field} of more bytes than are allowed ({LONGEST})")]
    TooLong {
        /// "user" or "name".
        field: &'static str,
    },
    /// A name that is no text.
    #[error("a SOCKS name that is not UTF-8")]
    NotText,
    /// Nothing is there.
    #[error("SOCKS port 0 (allowed: 1 to 65535)")]
    NoPort,
    /// A name that cannot be.
    #[error(transparent)]
    Target(#[from] TargetError),
}

impl From<io::Error> for SocksError {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::UnexpectedEof { Self::Left } else { Self::Io(error) }
    }
}

/// Reads a request, and answers what of it needs an answer before the far end is asked. A client
/// that wants something else is told; the connection is then to be closed. Waits as long as the
/// client likes, so the caller has to end that.
///
/// # Errors
/// When the client leaves, or wants what is not done.
pub async fn read_request<S>(stream: &mut S) -> Result<Request, SocksError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let request = match stream.read_u8().await? {
        4 => read_socks4(stream).await.map_err(|error| (Version::Socks4, error)),
        5 => {
            agree_on_method(stream).await?;
            read_socks5(stream).await.map_err(|error| (Version::Socks5, error))
        }
        b'A'..=b'Z' => return Err(refuse_http(stream).await),
        other => return Err(SocksError::Version(other)),
    };
    match request {
        Ok(request) => Ok(request),
        Err((_, error @ (SocksError::Io(_) | SocksError::Left))) => Err(error),
        Err((version, error)) => {
            // What it did wrong says more than that it does not want to hear it.
            let _ = send(stream, &reply(version, code_of_error(&error))).await;
            Err(error)
        }
    }
}

/// Tells the client whether it has its connection. After a refusal it is to be closed within 10 s
/// (RFC 1928 section 6).
///
/// # Errors
/// When the client is gone.
pub async fn answer<S>(
    stream: &mut S,
    version: Version,
    outcome: Result<(), Refusal>,
) -> io::Result<()>
where
    S: AsyncWrite + Unpin,
{
    send(stream, &reply(version, outcome.map_or_else(code_of_refusal, |()| GRANTED))).await
}

/// The code that says yes in RFC 1928 section 6, where the others are, too.
const GRANTED: u8 = 0;

const fn code_of_refusal(refusal: Refusal) -> u8 {
    match refusal {
        Refusal::NotPermitted => 2,
        Refusal::Unreachable => 3,
        Refusal::NoSuchName => 4,
        Refusal::Refused => 5,
        // "TTL expired": of all of them the one that clients show as a time-out.
        Refusal::TimedOut => 6,
        Refusal::TooMany | Refusal::Failed => 1,
    }
}

const fn code_of_error(error: &SocksError) -> u8 {
    match error {
        SocksError::NotText | SocksError::Target(_) => code_of_refusal(Refusal::NoSuchName),
        SocksError::Command(_) => 7,
        SocksError::AddressType(_) => 8,
        _ => code_of_refusal(Refusal::Failed),
    }
}

/// A reply. The address where the far end's connection begins is nobody's business, so it is all
/// zeros, as ssh has it; SOCKS 4 ignores it, and knows granted (90) and rejected (91) only.
fn reply(version: Version, code: u8) -> Vec<u8> {
    match version {
        Version::Socks4 => vec![0, if code == GRANTED { 90 } else { 91 }, 0, 0, 0, 0, 0, 0],
        Version::Socks5 => vec![5, code, 0, 1, 0, 0, 0, 0, 0, 0],
    }
}

async fn send<S: AsyncWrite + Unpin>(stream: &mut S, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await
}

/// RFC 1928 section 3, behind the version.
async fn agree_on_method<S>(stream: &mut S) -> Result<(), SocksError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut all = [0; LONGEST];
    let offered = read_counted(stream, &mut all).await?;
    if offered.contains(&0) {
        return Ok(send(stream, &[5, 0]).await?);
    }
    let _ = send(stream, &[5, 0xff]).await;
    Err(SocksError::Method)
}

/// RFC 1928 section 4. What is not done is refused once all of it is read: data that nobody reads
/// makes TCP take the answer back.
async fn read_socks5<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Request, SocksError> {
    let [version, command, _reserved, kind] = read_array(stream).await?;
    if version != 5 {
        return Err(SocksError::Version(version));
    }
    let mut name = [0; LONGEST];
    let host = match kind {
        1 => Host::Address(Ipv4Addr::from(read_array::<4, _>(stream).await?).into()),
        3 => Host::Name(read_counted(stream, &mut name).await?),
        4 => Host::Address(Ipv6Addr::from(read_array::<16, _>(stream).await?).into()),
        other => return Err(SocksError::AddressType(other)),
    };
    let port = stream.read_u16().await?;
    Ok(Request { version: Version::Socks5, target: target(command, host, port)? })
}

/// SOCKS 4 ("SOCKS: A protocol for TCP proxy across firewalls") and its extension 4a ("SOCKS 4A: A
/// Simple Extension to SOCKS 4 Protocol"), behind the version. Whom the client says it works for is
/// read and forgotten: nothing proves it.
async fn read_socks4<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Request, SocksError> {
    let command = stream.read_u8().await?;
    let port = stream.read_u16().await?;
    let address = read_array::<4, _>(stream).await?;
    let mut text = [0; LONGEST];
    read_ended(stream, &mut text, "user").await?;
    let host = match address {
        // No address: a name follows.
        [0, 0, 0, 1..=255] => Host::Name(read_ended(stream, &mut text, "name").await?),
        address => Host::Address(Ipv4Addr::from(address).into()),
    };
    Ok(Request { version: Version::Socks4, target: target(command, host, port)? })
}

/// Where to, as it came.
enum Host<'b> {
    Address(IpAddr),
    Name(&'b [u8]),
}

/// Both versions have the same commands.
fn target(command: u8, host: Host<'_>, port: u16) -> Result<Target, SocksError> {
    if command != 1 {
        return Err(SocksError::Command(command));
    }
    if port == 0 {
        return Err(SocksError::NoPort);
    }
    match host {
        Host::Address(address) => Ok(Target::Address((address, port).into())),
        Host::Name(name) => {
            let name = core::str::from_utf8(name).map_err(|_| SocksError::NotText)?;
            Ok(Target::from_host(name, port)?)
        }
    }
}

async fn read_array<const N: usize, S>(stream: &mut S) -> io::Result<[u8; N]>
where
    S: AsyncRead + Unpin,
{
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}

/// Bytes behind their count.
async fn read_counted<'b, S>(stream: &mut S, room: &'b mut [u8; LONGEST]) -> io::Result<&'b [u8]>
where
    S: AsyncRead + Unpin,
{
    let count = usize::from(stream.read_u8().await?);
    let bytes = room.get_mut(..count).unwrap_or_default();
    stream.read_exact(bytes).await?;
    Ok(bytes)
}

/// Bytes up to a zero. One at a time: nobody knows what is behind it.
async fn read_ended<'b, S>(
    stream: &mut S,
    room: &'b mut [u8; LONGEST],
    field: &'static str,
) -> Result<&'b [u8], SocksError>
where
    S: AsyncRead + Unpin,
{
    let mut count = 0;
    loop {
        match (stream.read_u8().await?, room.get_mut(count)) {
            (0, _) => return Ok(room.get(..count).unwrap_or_default()),
            (_, None) => return Err(SocksError::TooLong { field }),
            (byte, Some(place)) => *place = byte,
        }
        count += 1;
    }
}

/// Says that this is no HTTP proxy, once the request's head is read (see [`read_socks5`]).
async fn refuse_http<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) -> SocksError {
    let (mut piece, mut left, mut line) = ([0; 512], HTTP_HEAD, 1);
    while left > 0 {
        let Ok(count @ 1..) = stream.read(&mut piece).await else { break };
        left = left.saturating_sub(count);
        for byte in piece.iter().take(count).filter(|byte| **byte != b'\r') {
            // An empty line ends the head.
            match (byte, line) {
                (b'\n', 0) => left = 0,
                (b'\n', _) => line = 0,
                _ => line += 1,
            }
        }
    }
    let _ = send(stream, HTTP_ANSWER).await;
    SocksError::Http
}

#[cfg(test)]
mod tests;
