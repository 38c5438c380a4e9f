//! Probes to a mirror, and its answers.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::visit::Visit;
use crate::mirror::probe::{Answer, Ecn, Probe};
use crate::mirror::socket::{Packet, ProbeSocket, Room};
use crate::mirror::words::SOCKETS;

/// How long one waits before probes without an answer are sent again, and at the end.
const WAITS: [Duration; 3] =
    [Duration::from_millis(400), Duration::from_millis(700), Duration::from_millis(1200)];

/// One probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    /// To which of the mirror's sockets.
    pub(super) socket: u8,
    /// The ECN field that it has.
    pub(super) ecn: Ecn,
    /// The ECN field that the answer is to have.
    pub(super) want: Ecn,
}

/// What came back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    pub(super) answer: Answer,
    /// The ECN field of the answer as it arrived.
    pub(super) ecn: Ecn,
}

/// What came of several probes.
#[derive(Debug)]
pub(super) struct Echoes<const N: usize> {
    /// Of each.
    pub(super) answers: [Option<Echo>; N],
    /// From where the mirror's sockets saw probes come, where that is not the address of the
    /// association: those are not answered.
    pub(super) elsewhere: [Option<SocketAddr>; SOCKETS],
}

impl Question {
    /// Without ECN.
    pub(super) const fn plain(socket: u8) -> Self {
        Self { socket, ecn: Ecn::None, want: Ecn::None }
    }
}

/// Asks all questions from one socket, some times where no answer comes. `None`: this host has no
/// randomness.
pub(super) async fn ask_all<const N: usize>(
    visit: &Visit,
    socket: &ProbeSocket,
    questions: &[Question; N],
) -> Option<Echoes<N>> {
    let mut salt = [0; 8];
    getrandom::fill(&mut salt).ok()?;
    let mut echoes = Echoes { answers: [None; N], elsewhere: [None; SOCKETS] };
    for wait in WAITS {
        let deadline = Instant::now() + wait;
        let open = questions_left(visit, &echoes, questions);
        if open.is_empty() {
            break;
        }
        for (number, question, to) in open {
            let probe =
                Probe { token: visit.token, nonce: nonce_of(salt, number), want: question.want };
            // What the system refuses is not answered.
            let _ = socket.send(to, question.ecn, &probe.to_bytes()).await;
        }
        listen(socket, deadline, |packet| {
            if let Some(answer) = Answer::from_bytes(packet.bytes) {
                let numbered = (0..).zip(&mut echoes.answers);
                let mut asked = numbered.filter(|(n, _)| nonce_of(salt, *n) == answer.nonce);
                if let Some((_, echo)) = asked.next() {
                    echo.get_or_insert(Echo { answer, ecn: packet.ecn });
                }
            }
            questions_left(visit, &echoes, questions).is_empty()
        })
        .await;
        let is_ours = |nonce| (0..).take(N).any(|number| nonce_of(salt, number) == nonce);
        for (number, seen) in (0..).zip(&mut echoes.elsewhere) {
            *seen = visit.elsewhere.source(number, is_ours);
        }
    }
    Some(echoes)
}

/// Those to which an answer may still come: their number, and where they go.
fn questions_left<'q, const N: usize>(
    visit: &Visit,
    echoes: &Echoes<N>,
    questions: &'q [Question; N],
) -> Vec<(u8, &'q Question, SocketAddr)> {
    let numbered = (0..).zip(questions).zip(&echoes.answers);
    let open = numbered.filter_map(|((number, question), answer)| {
        let socket = usize::from(question.socket);
        let seen = echoes.elsewhere.get(socket).copied().flatten();
        let to = visit.sockets.get(socket).copied().flatten()?;
        (answer.is_none() && seen.is_none()).then_some((number, question, to))
    });
    open.collect()
}

fn nonce_of(salt: [u8; 8], number: u8) -> [u8; 8] {
    let [first, rest @ ..] = salt;
    let mut nonce = [first ^ number; 8];
    nonce[1..].copy_from_slice(&rest);
    nonce
}

/// Hands on what comes until `deadline`, or until `is_enough` says so. However much comes, it ends.
pub(super) async fn listen(
    socket: &ProbeSocket,
    deadline: Instant,
    mut is_enough: impl FnMut(Packet<'_>) -> bool,
) {
    let mut room = Room::default();
    while Instant::now() < deadline {
        let Ok(packets) = timeout_at(deadline, socket.recv(&mut room)).await else { return };
        for packet in packets.into_iter().flatten() {
            if is_enough(packet) {
                return;
            }
        }
        tokio::task::yield_now().await;
    }
}
