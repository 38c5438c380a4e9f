//! The mirror at the far end of an association, for as long as it is needed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use polypath_net::Association;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use crate::forward::frame::Frame;
use crate::forward::hello::{self, HelloError};
use crate::forward::mux::{Limits, Mux, Outlets};
use crate::forward::refusal::Refusal;
use crate::forward::streams::Side;
use crate::mirror::words::Cookie;
use crate::mirror::words::{DOORS, Door, Token, Words};

/// How long the server may take for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// A server all of whose mirrors are taken is asked again after a while, so often.
const BUSY: (Duration, u32) = (Duration::from_millis(700), 4);
/// The server opens no connections to us.
const LIMITS: Limits = Limits { connections: 0, waiting: 64 << 10 };

/// Why there is no mirror.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoMirror {
    /// The far end does not speak the protocol of `forward`.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// This host has no randomness.
    #[error("this host has no randomness")]
    Instance,
    /// The server says so.
    #[error("the server offers no mirror: {0}")]
    Refused(Refusal),
    /// It says nothing.
    #[error("the server said nothing of a mirror within {} s", PATIENCE.as_secs())]
    Silent,
    /// The association ended.
    #[error("the association ended while the server was asked for a mirror")]
    Gone,
}

/// A mirror. Clones are the same one.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    mux: Arc<Mux>,
    /// For probes.
    pub(super) token: Token,
    /// Where the server sees the association come from.
    pub(super) seen: SocketAddr,
    /// Its sockets; `None`: there is none, or the user did not name its address.
    pub(super) doors: [Option<SocketAddr>; DOORS],
    _running: Arc<Running>,
}

/// What works on the association until it is dropped.
#[derive(Debug)]
struct Running(AbortHandle);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Visit {
    /// Asks for a mirror for so many seconds. Packets go to `remote`, the server as this
    /// association reaches it, and to addresses of `named`: a server must not make this host send
    /// to others.
    pub(super) async fn begin(
        association: &Arc<Association>,
        remote: IpAddr,
        named: &[IpAddr],
        seconds: u16,
    ) -> Result<Self, NoMirror> {
        let instance = hello::draw_instance().map_err(|_| NoMirror::Instance)?;
        let (mux, outlets) = Mux::new(association.clone(), Side::Client, LIMITS);
        let Outlets { mut letters, incoming: _, inlets } = outlets;
        let runs = mux.clone();
        let running = tokio::spawn(async move { runs.run(inlets).await });
        let running = Arc::new(Running(running.abort_handle()));
        let greeted = timeout(PATIENCE, hello::exchange(&mux, &mut letters, instance)).await;
        greeted.map_err(|_| HelloError::Silent)??;
        let mut asked = 0;
        let (token, seen, doors) = loop {
            asked += 1;
            match ask(&mux, &mut letters, seconds).await {
                Err(NoMirror::Refused(Refusal::TooMany)) if asked < BUSY.1 => {
                    tokio::time::sleep(BUSY.0).await;
                }
                other => break other?,
            }
        };
        let at = |door: &Door| match door.address {
            None => Some(SocketAddr::new(remote, door.port)),
            Some(ip) if named.contains(&ip) => Some(SocketAddr::new(ip, door.port)),
            Some(_) => None,
        };
        let mut doors = doors.iter().map(at);
        let doors = core::array::from_fn(|_| doors.next().flatten());
        Ok(Self { mux, token, seen, doors, _running: running })
    }

    /// Has the mirror send a packet to the address with this cookie. Where the association is over,
    /// none comes.
    pub(super) async fn send(&self, door: u8, cookie: Cookie) {
        let frame = Frame::Mirror(Words::Send { door, cookie });
        let _ = timeout(PATIENCE, self.mux.send(0, &frame)).await;
    }

    /// It is needed no more.
    pub(super) async fn end(self) {
        let _ = timeout(PATIENCE, self.mux.send(0, &Frame::Mirror(Words::Done))).await;
    }
}

type Here = (Token, SocketAddr, Vec<Door>);

async fn ask(
    mux: &Mux,
    letters: &mut mpsc::Receiver<Frame>,
    seconds: u16,
) -> Result<Here, NoMirror> {
    let ask = Frame::Mirror(Words::Ask { seconds });
    let sent = timeout(PATIENCE, mux.send(0, &ask)).await;
    sent.map_err(|_| NoMirror::Silent)?.map_err(|_| NoMirror::Gone)?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let letter = timeout_at(deadline, letters.recv()).await;
        match letter.map_err(|_| NoMirror::Silent)?.ok_or(NoMirror::Gone)? {
            Frame::Mirror(Words::Here { token, seen, doors }) => return Ok((token, seen, doors)),
            Frame::Mirror(Words::Not(why)) => return Err(NoMirror::Refused(why)),
            // A server of a later version may say more.
            _ => {}
        }
    }
    Err(NoMirror::Silent)
}
