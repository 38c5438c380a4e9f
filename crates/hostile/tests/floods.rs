//! Floods of strangers' packets: honest set-ups are answered, and what the flood used is given
//! back.

use std::time::Duration;

use polypath_hostile::{Field, Kind, Usage, Victim, packets};

const TIME: Duration = Duration::from_millis(700);

/// Packets per second. Low enough for a busy machine in debug mode, and far above what honest
/// people send.
const RATE: u32 = 4_000;

/// What may be in use afterwards beyond what was before, bytes: buffers that have their size by
/// then.
const MEMORY: u64 = 16 << 20;

fn survives(field: &Field, kind: Kind, what: &str, packet: packets::Packet) {
    let victim = Victim::start(field, kind);
    assert_eq!(victim.honest_set_ups(field, 1), 1, "{what}, {kind}: before");
    let before = victim.usage();
    let flood = field.source(kind).flood_on(RATE, TIME, move |n| packet(kind, n));
    let during = victim.honest_set_ups(field, 6);
    let sent = flood.wait();
    assert!(during >= 4, "{what}, {kind}: {during} of 6 set-ups answered beside {sent} packets");
    assert_eq!(victim.honest_set_ups(field, 1), 1, "{what}, {kind}: afterwards");
    let after = victim.usage();
    let shape = |usage: Usage| (usage.descriptors, usage.threads);
    assert_eq!(shape(after), shape(before), "{what}, {kind}");
    let more = after.resident.saturating_sub(before.resident);
    assert!(more <= MEMORY, "{what}, {kind}: {more} bytes more");
    let cpu = after.cpu.saturating_sub(before.cpu);
    eprintln!("{what}, {kind}: {:?} per packet, {more} bytes", cpu / sent.max(1));
}

fn every_flood(kind: Kind) {
    let Some(field) = Field::build() else { return };
    for (what, packet) in packets::FLOODS {
        survives(&field, kind, what, packet);
    }
}

#[test]
fn udp_over_ipv4() {
    every_flood(Kind { udp: true, ipv4: true });
}

#[test]
fn udp_over_ipv6() {
    every_flood(Kind { udp: true, ipv4: false });
}

#[test]
fn raw_over_ipv4() {
    every_flood(Kind { udp: false, ipv4: true });
}

#[test]
fn raw_over_ipv6() {
    every_flood(Kind { udp: false, ipv4: false });
}
