//! A protected association beside somebody who sees all of its packets, knows its tags and TSNs,
//! and injects and replays: every message arrives, once, whole and in order. Exchanges that are
//! begun and never ended keep nobody else out.

use std::time::Duration;

use polypath_hostile::{
    CLOSED, Copies, Field, INJECTIONS, Insight, Kind, Observer, PORT, PROTECTED, Pace, Victim,
    replay, transfer_for,
};
use polypath_net::Association;
use polypath_wire::chunk::kind as chunk_kind;

const TIME: Duration = Duration::from_millis(700);

/// Packets per second.
const RATE: u32 = 5_000;

/// Bits per second of the transfer.
const PACE: Pace = Pace::Bits(10_000_000);

async fn goes_on(association: &Association, what: &str, flood: polypath_hostile::Flood) {
    let paths = association.paths().len();
    let answered = transfer_for(association, PACE, TIME).await;
    let sent = flood.wait();
    assert!(answered > 50_000, "{what}: {answered} bytes beside {sent} packets");
    assert!(!association.is_closed(), "{what}");
    assert_eq!(association.paths().len(), paths, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_injected_or_replayed_is_believed() {
    let Some(field) = Field::build() else { return };
    let victim = Victim::start_protected(&field, PROTECTED);
    let (mut at_victim, mut at_client) =
        (Observer::start(&field.victim), Observer::start(&field.client));
    let client = field.protected_client();
    let association = client.connect(&[Kind::COMMON.victim()], PORT).await.expect("it answers");
    assert!(association.is_protected());
    // All paths are there before they are counted.
    transfer_for(&association, PACE, TIME).await;
    let known = Insight::gain(&mut at_victim, &mut at_client);
    for (what, injection) in INJECTIONS {
        let known = known.clone();
        let source = field.source(Kind::COMMON);
        let flood = source.flood_on(RATE, TIME, move |n| known.inject(injection, n));
        goes_on(&association, what, flood).await;
    }
    let seen = at_victim.look();
    let seen: Vec<_> =
        seen.into_iter().filter(|s| s.first_kind() == Some(chunk_kind::DTLS)).collect();
    assert!(seen.len() > 100, "{} packets to replay", seen.len());
    let elsewhere = std::net::SocketAddr::new(Field::two_paths().1[1], known.client.port());
    for (what, from) in [
        ("replay", None),
        ("replay across paths", Some(elsewhere)),
        ("replay from elsewhere", Some(Kind::COMMON.stranger(1))),
    ] {
        let seen = seen.clone();
        let flood = field.source(Kind::COMMON).flood_on(RATE, TIME, move |n| {
            let one = &seen[n as usize % seen.len()];
            replay(one, from.unwrap_or(one.from))
        });
        goes_on(&association, what, flood).await;
    }
    drop(victim);
}

/// Who has returned a cookie costs processor time, and no more than he could anyway; who is refused
/// does so once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exchanges_that_never_end_keep_nobody_out() {
    const MANY: u16 = 200;
    let Some(field) = Field::build() else { return };
    let victim = Victim::start_protected(&field, PROTECTED);
    let mut at_victim = Observer::start(&field.victim);
    let client = field.protected_client();
    let there = [Kind::COMMON.victim()];
    let honest = client.connect(&there, PORT).await.expect("the victim answers");
    let (init, echo) =
        (at_victim.await_kind(chunk_kind::INIT), at_victim.await_kind(chunk_kind::COOKIE_ECHO));
    let copies = Copies::of(&field, &init, &echo);
    let begun = tokio::task::block_in_place(|| copies.begin(MANY));
    assert_eq!(begun, u32::from(MANY), "each is answered");
    let other = field.protected_client().connect(&there, PORT).await;
    assert!(other.is_ok(), "{other:?}");
    assert!(transfer_for(&honest, PACE, TIME).await > 50_000);
    drop(victim);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_not_let_in_gets_nothing() {
    let Some(field) = Field::build() else { return };
    let victim = Victim::start_protected(&field, CLOSED);
    let before = victim.usage();
    for _ in 0..20 {
        let refused = field.protected_client().connect(&[Kind::COMMON.victim()], PORT).await;
        assert!(refused.is_err());
    }
    let after = victim.usage();
    assert_eq!((before.threads, before.descriptors), (after.threads, after.descriptors));
}
