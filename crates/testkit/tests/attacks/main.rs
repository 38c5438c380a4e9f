//! Attacks: what the victim answers, and what each costs it in packets, bytes, memory and work. The
//! numbers are those of docs/compliance/security.md, whose table is this binary's output: `cargo
//! test -p polypath-testkit --test attacks -- --nocapture --test-threads 1`.

#[path = "../counting/mod.rs"]
mod counting;
mod meter;

mod addresses;
mod authentic;
mod chunks;
mod data;
mod floods;
mod icmp;
mod paths;
mod setup;
mod streams;

use polypath_proto::State;
use polypath_proto::config::AssocConfig;
use polypath_proto::time::Duration;
use polypath_testkit::scripted_peer::{ScriptedPeer, count_chunks, show_packets};
use polypath_wire::chunk::kind;

const SECOND: Duration = Duration::from_secs(1);

/// No heartbeats, so that whatever is sent is an answer.
fn quiet() -> AssocConfig {
    AssocConfig { heartbeat_interval: None, ..AssocConfig::default() }
}

/// The association still takes data and acknowledges it.
fn assert_well(p: &mut ScriptedPeer) {
    let data = p.data(9, 0, b"still there?");
    let answers = p.send_chunk(&data);
    let late = p.advance_time(SECOND);
    assert_eq!(p.assoc().state(), State::Established);
    let acked = count_chunks(&answers, kind::SACK) + count_chunks(&late, kind::SACK);
    assert!(acked >= 1, "{}{}", show_packets(&answers), show_packets(&late));
}
