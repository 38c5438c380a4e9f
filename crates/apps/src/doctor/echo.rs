//! Probes to a mirror, and its answers.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::mirror::ear::{Ear, Heard};
use crate::mirror::probe::{Answer, Ecn, Probe};
use crate::mirror::words::Token;

/// How long one waits before probes without an answer are sent again, and at the end.
const WAITS: [Duration; 3] =
    [Duration::from_millis(400), Duration::from_millis(700), Duration::from_millis(1200)];

/// One probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) to: SocketAddr,
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

impl Question {
    /// Without ECN.
    pub(super) const fn plain(to: SocketAddr) -> Self {
        Self { to, ecn: Ecn::None, want: Ecn::None }
    }
}

/// Asks all questions from one socket, some times where no answer comes.
pub(super) async fn ask_all(ear: &Ear, token: Token, questions: &[Question]) -> Vec<Option<Echo>> {
    let mut echoes = vec![None; questions.len()];
    let mut salt = [0; 8];
    if getrandom::fill(&mut salt).is_err() {
        return echoes;
    }
    for wait in WAITS {
        let deadline = Instant::now() + wait;
        for (number, question) in (0..).zip(questions) {
            if echoes.get(usize::from(number)).is_some_and(Option::is_none) {
                let nonce = nonce_of(salt, number);
                let probe = Probe { token, nonce, want: question.want };
                // What the system refuses is not answered.
                let _ = ear.send(question.to, question.ecn, &probe.to_bytes()).await;
            }
        }
        listen(ear, deadline, |heard| {
            if let Some(answer) = Answer::from_bytes(&heard.bytes) {
                let number =
                    (0..).zip(&mut echoes).find(|(n, _)| nonce_of(salt, *n) == answer.nonce);
                if let Some((_, echo)) = number {
                    echo.get_or_insert(Echo { answer, ecn: heard.ecn });
                }
            }
            echoes.iter().all(Option::is_some)
        })
        .await;
        if echoes.iter().all(Option::is_some) {
            break;
        }
    }
    echoes
}

fn nonce_of(salt: [u8; 8], number: u8) -> [u8; 8] {
    let [first, rest @ ..] = salt;
    let mut nonce = [first ^ number; 8];
    nonce[1..].copy_from_slice(&rest);
    nonce
}

/// Hands on what comes until `deadline`, or until `is_enough` says so. However much comes, it ends.
pub(super) async fn listen(
    ear: &Ear,
    deadline: Instant,
    mut is_enough: impl FnMut(&Heard) -> bool,
) {
    while Instant::now() < deadline {
        let Ok(heard) = timeout_at(deadline, ear.hear()).await else { return };
        for one in heard.unwrap_or_default() {
            if is_enough(&one) {
                return;
            }
        }
        tokio::task::yield_now().await;
    }
}
