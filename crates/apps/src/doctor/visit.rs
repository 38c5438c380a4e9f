//! The mirror at the far end of an association, for as long as it is needed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use polypath_net::Association;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::elsewhere::{Elsewhere, Sighting};
use crate::forward::frame::Frame;
use crate::forward::hello::{self, HelloError};
use crate::forward::mux::{Limits, Mux, Outlets};
use crate::forward::refusal::Refusal;
use crate::forward::streams::Side;
use crate::mirror::words::{Cookie, MirrorSocket, NAMED, SOCKETS, Token, Words};

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
    /// It says no hello.
    #[error(
        "the server said no hello within {} s: is `polypath serve` running there?",
        PATIENCE.as_secs()
    )]
    Mute,
    /// It says nothing more.
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
    pub(super) sockets: [Option<SocketAddr>; SOCKETS],
    /// Which of our probes came from another address than [`Self::seen`].
    pub(super) elsewhere: Elsewhere,
    _running: Arc<Running>,
}

/// What works on the association until it is dropped.
#[derive(Debug)]
struct Running(Vec<AbortHandle>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
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
        let mut running = Running(vec![running.abort_handle()]);
        let greeted = timeout(PATIENCE, hello::exchange(&mux, &mut letters, instance)).await;
        greeted.map_err(|_| NoMirror::Mute)??;
        let addresses = named.iter().take(NAMED).copied().collect();
        let question = Frame::Mirror(Words::Ask { seconds, addresses });
        let mut asked = 0;
        let (token, seen, sockets) = loop {
            asked += 1;
            match ask(&mux, &mut letters, &question).await {
                Err(NoMirror::Refused(Refusal::TooMany)) if asked < BUSY.1 => {
                    tokio::time::sleep(BUSY.0).await;
                }
                other => break other?,
            }
        };
        let at = |socket: &MirrorSocket| match socket.address {
            None => Some(SocketAddr::new(remote, socket.port)),
            Some(ip) if named.contains(&ip) => Some(SocketAddr::new(ip, socket.port)),
            Some(_) => None,
        };
        let mut sockets = sockets.iter().map(at);
        let sockets = core::array::from_fn(|_| sockets.next().flatten());
        let elsewhere = Elsewhere::default();
        let hearing = tokio::spawn(hear_on(letters, elsewhere.clone()));
        running.0.push(hearing.abort_handle());
        Ok(Self { mux, token, seen, sockets, elsewhere, _running: Arc::new(running) })
    }

    /// Has the mirror send a packet to the address with this cookie. Where the association is over,
    /// none comes.
    pub(super) async fn send(&self, socket: u8, cookie: Cookie) {
        let frame = Frame::Mirror(Words::Send { socket, cookie });
        let _ = timeout(PATIENCE, self.mux.send(0, &frame)).await;
    }

    /// It is needed no more.
    pub(super) async fn end(self) {
        let _ = timeout(PATIENCE, self.mux.send(0, &Frame::Mirror(Words::Done))).await;
    }
}

/// Takes what the server says beside answers, until the association ends.
async fn hear_on(mut letters: mpsc::Receiver<Frame>, elsewhere: Elsewhere) {
    while let Some(letter) = letters.recv().await {
        if let Frame::Mirror(Words::Elsewhere { socket, nonce, source }) = letter {
            elsewhere.note(Sighting { socket, nonce, source });
        }
    }
}

type Here = (Token, SocketAddr, Vec<MirrorSocket>);

async fn ask(
    mux: &Mux,
    letters: &mut mpsc::Receiver<Frame>,
    question: &Frame,
) -> Result<Here, NoMirror> {
    let sent = timeout(PATIENCE, mux.send(0, question)).await;
    sent.map_err(|_| NoMirror::Silent)?.map_err(|_| NoMirror::Gone)?;
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let letter = timeout_at(deadline, letters.recv()).await;
        match letter.map_err(|_| NoMirror::Silent)?.ok_or(NoMirror::Gone)? {
            Frame::Mirror(Words::Here { token, seen, sockets }) => {
                return Ok((token, seen, sockets));
            }
            Frame::Mirror(Words::Not(why)) => return Err(NoMirror::Refused(why)),
            // A server of a later version may say more.
            _ => {}
        }
    }
    Err(NoMirror::Silent)
}
