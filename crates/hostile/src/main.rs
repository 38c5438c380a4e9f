//! `polypath-hostile` prints what attacks on real sockets cost, as a table for the documentation;
//! takes root and less than three minutes. `polypath-hostile victim ...` is the server that it and
//! the tests attack.

mod protected;
mod table;

use std::time::Duration;

use polypath_hostile::{Field, Kind, Pace, Peers, Victim, packets, serve, transfer_for};
use polypath_net::{Config, Endpoint};

use table::{FLOOD, GENTLE, GOODPUT, print_row, to_micros};

/// Set-ups of the honest client, one every 50 ms.
const HONEST: usize = 40;

/// Associations of the same sort.
const MANY: u16 = 1000;

/// Associations that waste memory.
const SOME: u16 = 20;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((first, rest)) if first == "victim" => serve(rest),
        _ => print_table(),
    }
}

fn print_table() {
    let Some(field) = Field::build() else { return };
    println!("| what | of | figure |\n|---|---|---|");
    measure_memory(&field);
    protected::measure(&field);
    for kind in Kind::ALL {
        for (what, packet) in packets::FLOODS {
            per_packet(&field, kind, what, packet);
        }
        set_ups(&field, kind);
        for (what, packet) in packets::FLOODS {
            measure_goodput(&field, kind, what, packet);
        }
    }
}

fn measure_memory(field: &Field) {
    let kind = Kind::COMMON;
    let victim = Victim::start(field, kind);
    // What has its size once and for all is there by then.
    victim.honest_set_ups(field, 2);
    let before = victim.usage().resident;
    let sent =
        field.source(kind).flood_victim(GENTLE, Duration::from_secs(2), |n| packets::init(kind, n));
    let half_open = victim.usage().resident;
    let each = |more: u64, less: u64, count: u32| {
        format!("{} bytes", more.saturating_sub(less) / u64::from(count))
    };
    print_row("memory", "half-open set-up (INIT, no COOKIE ECHO)", &each(half_open, before, sent));
    let _idle = Peers::connect(field, MANY);
    let idle = victim.usage().resident;
    print_row("memory", "idle association", &each(idle, half_open, MANY.into()));
    drop(victim);
    let victim = Victim::start(field, kind);
    let hostile = Peers::connect(field, SOME);
    let before = victim.usage().resident;
    hostile.send_fragments(20_000);
    let kept = each(victim.usage().resident, before, SOME.into());
    print_row("memory", "association with 20,000 one-byte fragments sent", &kept);
}

fn per_packet(field: &Field, kind: Kind, what: &str, packet: packets::Packet) {
    let victim = Victim::start(field, kind);
    let (before, traffic) = (victim.usage().cpu, field.hostile_bytes());
    let time = Duration::from_secs(1);
    let sent = field.source(kind).flood_victim(GENTLE, time, |n| packet(kind, n)).max(1);
    let cost = (victim.usage().cpu - before) / sent;
    let after = field.hostile_bytes();
    let times = (after.1 - traffic.1) as f64 / (after.0 - traffic.0).max(1) as f64;
    print_row(
        "processor per packet",
        &format!("{what}, {kind}"),
        &format!("{:.1} us", to_micros(cost)),
    );
    print_row("bytes in reply per byte", &format!("{what}, {kind}"), &format!("{times:.2}"));
}

#[expect(clippy::disallowed_methods, reason = "it measures in real time")]
fn set_ups(field: &Field, kind: Kind) {
    let victim = Victim::start(field, kind);
    let time = Duration::from_secs(4);
    let flood = field.source(kind).flood_on(FLOOD, time, move |n| packets::init(kind, n));
    // By then no reserve of before is left.
    std::thread::sleep(time / 4);
    let answered = victim.honest_set_ups(field, HONEST);
    let rate = f64::from(flood.wait()) / time.as_secs_f64();
    let what = "honest set-ups answered at once";
    print_row(
        what,
        &format!("beside {rate:.0} INITs/s, {kind}"),
        &format!("{answered} of {HONEST}"),
    );
}

fn measure_goodput(field: &Field, kind: Kind, what: &str, packet: packets::Packet) {
    let _victim = Victim::start(field, kind);
    let config = kind.configure_endpoint(Config::insecure_client([kind.client().ip()]));
    let client = field.client.run(|| Endpoint::bind(config)).expect("the namespace");
    let client = client.expect("the client binds");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let time = Duration::from_secs(2);
    let (answered, sent) = runtime.expect("a runtime").block_on(async {
        let there = [kind.victim()];
        let association = client.connect(&there, polypath_hostile::PORT).await;
        let association = association.expect("the victim answers");
        let flood = field.source(kind).flood_on(FLOOD, time, move |n| packet(kind, n));
        let answered = transfer_for(&association, Pace::Bits(GOODPUT), time).await;
        association.abort("done");
        (answered, flood.wait())
    });
    let seconds = time.as_secs_f64();
    let of = format!("beside {:.0} a second of {what}, {kind}", f64::from(sent) / seconds);
    let figure = format!("{:.1} Mbit/s", answered as f64 * 8.0 / seconds / 1e6);
    print_row("goodput of 50 Mbit/s", &of, &figure);
}
