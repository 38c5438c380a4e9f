//! Who is on the way, knows ports and tags, and says what he likes.

use std::time::Duration;

use polypath_net::{Association, Config, Encapsulation, Endpoint};
use polypath_wire::{AbortChunk, CausesBuf, Chunk, DataChunk, DataFlags, Ssn, StreamId, Tsn};

use super::relay::{Relay, Side};
use super::{PORT, client_config, echo, identity, ip, pinned, server_config, soon};

struct Tapped {
    a: Association,
    b: Association,
    relay: Relay,
    _ends: [Endpoint; 2],
}

/// Two ends with somebody between them.
async fn tapped(client: Config, server: Config) -> Tapped {
    let (server, client) = (Endpoint::bind(server).unwrap(), Endpoint::bind(client).unwrap());
    let relay = Relay::new(server.local_addresses()[0]).await;
    let at = [relay.address()];
    let both = async { tokio::join!(client.connect(&at, PORT), server.accept()) };
    let (a, b) = soon(both).await;
    Tapped { a: a.unwrap(), b: b.unwrap(), relay, _ends: [client, server] }
}

async fn protected() -> Tapped {
    let (ours, theirs) = (identity(), identity());
    let server = server_config(&[2], pinned(&theirs, &ours));
    tapped(client_config(&[1], pinned(&ours, &theirs)), server).await
}

/// ABORT, which would end any association.
async fn abort(side: &Side, tag: u32, reflected: bool) {
    let causes = CausesBuf::new();
    side.say(tag, &AbortChunk { reflected, causes: causes.as_causes() }).await;
}

#[tokio::test]
async fn the_same_lie_ends_an_association_without_protection() {
    let server = Config::insecure_server([ip(2)], PORT).encapsulation(Encapsulation::Udp(0));
    let t = tapped(Config::insecure_client([ip(1)]), server).await;
    echo(&t.a, &t.b, 3).await;
    assert!(t.relay.sides().iter().all(|side| side.reads(b"who can read this ")));
    let [client, server] = t.relay.sides();
    abort(client, client.tag(), false).await;
    abort(server, server.tag(), false).await;
    soon(async { tokio::join!(t.a.closed(), t.b.closed()) }).await;
}

#[tokio::test]
async fn what_is_said_in_plain_ends_nothing_and_is_not_heard() {
    let t = protected().await;
    echo(&t.a, &t.b, 3).await;
    let sides = t.relay.sides();
    for (side, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
        abort(side, side.tag(), false).await;
        abort(side, other.tag(), true).await;
        side.say(side.tag(), &Chunk::ShutdownComplete { reflected: false }).await;
        side.say(other.tag(), &Chunk::ShutdownComplete { reflected: true }).await;
        side.say(side.tag(), &Chunk::ShutdownAck).await;
        for tsn in 0..100 {
            let flags = DataFlags { beginning: true, ending: true, ..DataFlags::default() };
            let (tsn, stream, ssn) = (Tsn(tsn << 25), StreamId(0), Ssn(3));
            let lie = DataChunk { tsn, stream, ssn, ppid: 0, flags, payload: b"a lie" };
            side.say(side.tag(), &lie).await;
        }
    }
    echo(&t.a, &t.b, 3).await;
    // Long enough for the answer to what an ABORT makes an end ask (2 RTO at most) to be missed.
    tokio::time::sleep(Duration::from_secs(3)).await;
    echo(&t.a, &t.b, 3).await;
    for end in [&t.a, &t.b] {
        assert!(!end.is_closed());
        let (_, dropped) = end.protection_stats().unwrap();
        assert!(dropped >= 100, "{dropped}");
    }
    assert!(!t.relay.sides().iter().any(|side| side.reads(b"who can read this ")));
}

#[tokio::test]
async fn what_was_said_before_is_not_heard_again() {
    let t = protected().await;
    echo(&t.a, &t.b, 10).await;
    for side in t.relay.sides() {
        let sealed = side.sealed();
        assert!(sealed.len() > 50, "{}", sealed.len());
        for mut packet in sealed {
            side.say_bytes(&packet).await;
            // Changed in its last byte, with a checksum that is right.
            if let Some(last) = packet.last_mut() {
                *last ^= 1;
            }
            let sum = polypath_wire::checksum::packet_checksum(&packet);
            packet[8..12].copy_from_slice(&sum.to_le_bytes());
            side.say_bytes(&packet).await;
        }
    }
    echo(&t.a, &t.b, 10).await;
    for end in [&t.a, &t.b] {
        let (stats, _) = end.protection_stats().unwrap();
        assert!(stats.replayed > 50, "{stats:?}");
        assert!(end.try_recv().is_none());
    }
}
