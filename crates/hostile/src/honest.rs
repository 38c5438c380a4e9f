//! What honest people do meanwhile: connect, and transfer.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use polypath_emu::Namespace;
use polypath_net::{Association, Closed, Config, Endpoint, Message, Trust};
use tokio::time::{Instant, sleep_until, timeout};

use crate::kind::Kind;
use crate::runtime::block_on;
use crate::serve::{PORT, answer_to, keys};

/// A set-up that is answered within it needed no second INIT or COOKIE ECHO, which come after a
/// second (RFC 9260 section 16).
const AT_ONCE: Duration = Duration::from_millis(900);

/// Time between set-ups.
const APART: Duration = Duration::from_millis(50);

/// Bytes of a message of transfers.
const MESSAGE: usize = 10_000;

/// Messages that are sent before the first is answered.
const WINDOW: usize = 64;

/// How long the answers to what was sent last may take, the others being over.
const PATIENCE: Duration = Duration::from_secs(30);

/// How fast to send.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// As fast as it goes.
    Greedy,
    /// So many bits of messages per second.
    Bits(u32),
}

/// An endpoint of the client.
pub(crate) fn client(host: &Namespace, kind: Kind) -> Endpoint {
    let config = kind.configure_endpoint(Config::insecure_client([kind.client().ip()]));
    host.run(|| Endpoint::bind(config)).expect("the namespace").expect("the client binds")
}

/// The same with protected associations, whoever the server is; it begins on the first wire and
/// knows the second.
pub(crate) fn protected_client(host: &Namespace, addresses: &[std::net::IpAddr]) -> Endpoint {
    let keys = keys(Trust::anyone());
    let config = Config::client(addresses.iter().copied(), keys);
    let config = Kind::COMMON.configure_endpoint(config);
    host.run(|| Endpoint::bind(config)).expect("the namespace").expect("the client binds")
}

/// One set-up every [`APART`], whatever becomes of the others; how many are answered at once.
pub(crate) fn set_ups(host: &Namespace, kind: Kind, count: usize) -> usize {
    block_on(async {
        let mut all = tokio::task::JoinSet::new();
        for _ in 0..count {
            let client = client(host, kind);
            all.spawn(async move {
                let there = [kind.victim()];
                timeout(AT_ONCE, client.connect(&there, PORT))
                    .await
                    .is_ok_and(|set_up| set_up.is_ok())
            });
            tokio::time::sleep(APART).await;
        }
        all.join_all().await.into_iter().filter(|answered| *answered).count()
    })
}

/// Sends messages for `time`, and demands the right answer to each. Gives the bytes of messages
/// that were answered in time; unless it is greedy, the answers to the others are waited for.
///
/// # Panics
/// When an answer is wrong or takes very long, or the association ends.
pub async fn transfer_for(association: &Association, pace: Pace, time: Duration) -> u64 {
    let end = Instant::now() + time;
    let mut expected = std::collections::VecDeque::new();
    let (mut sent, mut answered) = (0_u32, 0_u64);
    let start = Instant::now();
    loop {
        let message: Bytes = sent.to_be_bytes().repeat(MESSAGE / 4).into();
        let due = match pace {
            Pace::Greedy => start,
            Pace::Bits(rate) => {
                let bits = u64::from(sent) * (MESSAGE as u64) * 8;
                start + Duration::from_secs_f64(bits as f64 / f64::from(rate))
            }
        };
        tokio::select! {
            () = sleep_until(end) => break,
            got = association.recv() => {
                check_answer(got, expected.pop_front());
                answered += MESSAGE as u64;
            }
            () = sleep_until(due), if expected.len() < WINDOW => {
                expected.push_back(answer_to(&message));
                association.send(0, message).await.expect("the association lives");
                sent += 1;
            }
        }
    }
    // A greedy one has left more behind than a slow wire carries in time.
    let awaited = if matches!(pace, Pace::Greedy) { 0 } else { expected.len() };
    for answer in expected.into_iter().take(awaited) {
        let got = timeout(PATIENCE, association.recv()).await;
        check_answer(got.expect("the answer is not lost"), Some(answer));
    }
    answered
}

fn check_answer(got: Result<Option<Message>, Closed>, expected: Option<[u8; 8]>) {
    let got = got.expect("the association lives").expect("it is not over");
    assert_eq!(Some(&got.data[..]), expected.as_ref().map(|answer| &answer[..]));
}

/// A client at `host` that connects to the victim, sends `count` messages, and demands the right
/// answer to each.
///
/// # Errors
/// In words, when it is not connected within 10 s, or not all is answered within another 10.
pub async fn receive_all(
    endpoint: &Endpoint,
    there: SocketAddr,
    count: u32,
) -> Result<Association, String> {
    let association = match timeout(Duration::from_secs(10), endpoint.connect(&[there], PORT)).await
    {
        Ok(Ok(association)) => association,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err("not connected within 10 s".to_owned()),
    };
    match timeout(Duration::from_secs(10), exchange_messages(&association, count)).await {
        Ok(done) => done.map(|()| association),
        Err(_) => Err("not answered within 10 s".to_owned()),
    }
}

/// Sends `count` messages, one after the other, and demands the right answer to each.
///
/// # Errors
/// In words, at the first that gets none.
pub async fn exchange_messages(association: &Association, count: u32) -> Result<(), String> {
    for n in 0..count {
        let message: Bytes = n.to_be_bytes().repeat(MESSAGE / 4).into();
        let expected = answer_to(&message);
        association.send(0, message).await.map_err(|error| error.to_string())?;
        match association.recv().await {
            Ok(Some(got)) if got.data[..] == expected => {}
            other => return Err(format!("message {n}: {other:?}")),
        }
    }
    Ok(())
}
