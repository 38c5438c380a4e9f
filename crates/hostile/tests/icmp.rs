//! Forged ICMP: it leaves entries in the error queue of a socket, which count against the socket's
//! receive buffer until they are read.

use std::time::Duration;

use polypath_hostile::{Field, Kind, Victim, packets};

/// Bytes of a receive buffer, about as distributions have it: full after some hundred entries. Each
/// entry takes 832 bytes of twice this (Linux 6), and what is left over then is too little for a
/// datagram.
const SMALL_BUFFER: &str = "104050";

/// Entries that nobody reads would fill the largest buffer in use.
const FORGED: u32 = 10_000;

fn flood_of_icmp(kind: Kind) {
    let Some(field) = Field::build() else { return };
    let victim = Victim::start_with(&field.victim, kind, &[SMALL_BUFFER]);
    assert_eq!(victim.honest_set_ups(&field, 2), 2, "{kind} before");
    let flood = field
        .source(kind)
        .flood_on(FORGED, Duration::from_secs(1), move |n| packets::port_unreachable(kind, n));
    let during = victim.honest_set_ups(&field, 3);
    flood.wait();
    assert_eq!(victim.honest_set_ups(&field, 3), 3, "{kind} afterwards");
    // Some may be lost while the flood fills the buffer faster than anybody reads.
    assert!(during > 0, "{kind} meanwhile");
}

#[test]
fn udp_over_ipv4() {
    flood_of_icmp(Kind { udp: true, ipv4: true });
}

#[test]
fn udp_over_ipv6() {
    flood_of_icmp(Kind { udp: true, ipv4: false });
}

#[test]
fn raw_over_ipv4() {
    flood_of_icmp(Kind { udp: false, ipv4: true });
}

#[test]
fn raw_over_ipv6() {
    flood_of_icmp(Kind { udp: false, ipv4: false });
}
