//! The table's rows on protected associations.

use std::time::Duration;

use polypath_hostile::{
    CLOSED, Copies, Field, INJECTIONS, Insight, Kind, Observer, PORT, PROTECTED, Pace, Victim,
    packets, replay, transfer_for,
};
use polypath_net::{Association, Endpoint};
use polypath_wire::chunk::kind as chunk_kind;

use crate::table::{FLOOD, GENTLE, GOODPUT, print_row, to_micros};

/// Exchanges that are refused, or not ended.
const EXCHANGES: u16 = 300;

const TIME: Duration = Duration::from_secs(2);

/// What makes packet `n` of an observer.
type Made = Box<dyn Fn(u32) -> Vec<u8> + Send + Sync>;

pub(crate) fn measure(field: &Field) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        exchanges(field).await;
        beside_observers(field).await;
    });
}

async fn connect(client: &Endpoint) -> Association {
    client.connect(&[Kind::COMMON.victim()], PORT).await.expect("the victim answers")
}

fn print_cost(of: &str, cpu: Duration) {
    print_row("processor per exchange", of, &format!("{:.0} us", to_micros(cpu)));
}

/// What an exchange costs the victim that ends, that is refused, and that stops in the middle; and
/// what an INIT does, whose sender gets no further.
async fn exchanges(field: &Field) {
    let victim = Victim::start_protected(field, CLOSED);
    let clients: Vec<Endpoint> = (0..EXCHANGES).map(|_| field.protected_client()).collect();
    let before = victim.usage().cpu;
    for client in &clients {
        let refused = client.connect(&[Kind::COMMON.victim()], PORT).await;
        assert!(refused.is_err(), "nobody is let in");
    }
    print_cost("refused", (victim.usage().cpu - before) / EXCHANGES.into());
    drop(victim);
    let victim = Victim::start_protected(field, PROTECTED);
    let mut observer = Observer::start(&field.victim);
    let before = victim.usage().cpu;
    let mut open = Vec::new();
    for client in &clients {
        open.push(connect(client).await);
    }
    print_cost("completed", (victim.usage().cpu - before) / EXCHANGES.into());
    let init = observer.await_kind(chunk_kind::INIT);
    let echo = observer.await_kind(chunk_kind::COOKIE_ECHO);
    unfinished(&victim, &Copies::of(field, &init, &echo));
    drop(open);
    let before = victim.usage().cpu;
    let mut source = field.source(Kind::COMMON);
    let time = Duration::from_secs(1);
    let sent = source.flood_victim(GENTLE, time, |n| packets::init(Kind::COMMON, n)).max(1);
    print_cost("INIT without a cookie returned", (victim.usage().cpu - before) / sent);
}

fn unfinished(victim: &Victim, copies: &Copies) {
    let before = victim.usage();
    let begun = tokio::task::block_in_place(|| copies.begin(EXCHANGES)).max(1);
    let after = victim.usage();
    print_cost(
        &format!("begun with a copied ClientHello, never ended ({begun} of {EXCHANGES} answered)"),
        (after.cpu - before.cpu) / begun,
    );
    let each = after.resident.saturating_sub(before.resident) / u64::from(begun);
    print_row("memory", "exchange that was begun and not ended", &format!("{each} bytes"));
}

/// What injected and replayed packets cost, and what a transfer beside them reaches.
async fn beside_observers(field: &Field) {
    let victim = Victim::start_protected(field, PROTECTED);
    let (mut at_victim, mut at_client) =
        (Observer::start(&field.victim), Observer::start(&field.client));
    let client = field.protected_client();
    let association = connect(&client).await;
    transfer_for(&association, Pace::Bits(GOODPUT), TIME).await;
    let known = Insight::gain(&mut at_victim, &mut at_client);
    let seen = at_victim.look().into_iter();
    let seen: Vec<_> = seen.filter(|s| s.first_kind() == Some(chunk_kind::DTLS)).collect();
    let elsewhere = std::net::SocketAddr::new(Field::two_paths().1[1], known.client.port());
    let mut all: Vec<(String, Made)> = Vec::new();
    for (what, injection) in INJECTIONS {
        let known = known.clone();
        all.push((format!("{what} injected"), Box::new(move |n| known.inject(injection, n))));
    }
    for (what, from) in [("replayed", None), ("replayed across paths", Some(elsewhere))] {
        let seen = seen.clone();
        let made = move |n: u32| {
            let one = &seen[n as usize % seen.len()];
            replay(one, from.unwrap_or(one.from))
        };
        all.push((what.to_owned(), Box::new(made)));
    }
    for (what, made) in all {
        let made = std::sync::Arc::new(made);
        let before = victim.usage().cpu;
        let (gentle, time) = (made.clone(), Duration::from_secs(1));
        let sent = field.source(Kind::COMMON).flood_on(GENTLE, time, move |n| gentle(n)).wait();
        let cost = (victim.usage().cpu - before) / sent.max(1);
        let of = format!("{what}, protected, UDP, IPv4");
        print_row("processor per packet", &of, &format!("{:.1} us", to_micros(cost)));
        let flood = field.source(Kind::COMMON).flood_on(FLOOD, TIME, move |n| made(n));
        let answered = transfer_for(&association, Pace::Bits(GOODPUT), TIME).await;
        let seconds = TIME.as_secs_f64();
        let of = format!("beside {:.0} a second of {of}", f64::from(flood.wait()) / seconds);
        let figure = format!("{:.1} Mbit/s", answered as f64 * 8.0 / seconds / 1e6);
        print_row("goodput of 50 Mbit/s", &of, &figure);
    }
}
