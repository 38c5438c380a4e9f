//! An association that transfers while somebody who does not see its packets forges them: every
//! message arrives, once, whole and in order.

use std::time::Duration;

use polypath_hostile::{Field, Kind, PORT, Pace, Victim, packets, transfer_for};
use polypath_net::{Config, Endpoint};

const TIME: Duration = Duration::from_secs(1);

/// Packets per second.
const RATE: u32 = 5_000;

/// What the attacker forges about packet `n` of the honest client at `address` and SCTP port
/// `port`.
type Forgery = fn(Kind, std::net::SocketAddr, u16, u32) -> Vec<u8>;

const FORGERIES: [(&str, Forgery); 4] = [
    ("DATA", packets::forged_data),
    ("ABORT", packets::forged_abort),
    ("ICMP", packets::forged_icmp),
    ("INIT", packets::forged_init),
];

async fn goes_on(field: &Field, kind: Kind, what: &str, forgery: Forgery) {
    let victim = Victim::start(field, kind);
    let config = kind.configure_endpoint(Config::insecure_client([kind.client().ip()]));
    let client = field.client.run(|| Endpoint::bind(config)).unwrap().unwrap();
    let association = client.connect(&[kind.victim()], PORT).await.expect("the victim answers");
    let (address, port) = (client.local_addresses()[0], client.port());
    let flood = field.source(kind).flood_on(RATE, TIME, move |n| forgery(kind, address, port, n));
    let answered = transfer_for(&association, Pace::Bits(10_000_000), TIME).await;
    let sent = flood.wait();
    assert!(answered > 100_000, "{what}, {kind}: {answered} bytes beside {sent} packets");
    assert!(!association.is_closed(), "{what}, {kind}");
    drop(victim);
}

async fn every_forgery(kind: Kind) {
    let Some(field) = Field::build() else { return };
    for (what, forgery) in FORGERIES {
        goes_on(&field, kind, what, forgery).await;
    }
}

#[tokio::test]
async fn over_udp() {
    every_forgery(Kind { udp: true, ipv4: true }).await;
}

#[tokio::test]
async fn over_ipv6() {
    every_forgery(Kind { udp: false, ipv4: false }).await;
}
