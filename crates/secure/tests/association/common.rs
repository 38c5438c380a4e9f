//! What the tests share.

use std::sync::Arc;

use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::protection::KEY_MANAGEMENT_PPID;
use polypath_proto::time::Duration;
use polypath_proto::{Event, State};
use polypath_secure::{RekeyPolicy, StandIn};
use polypath_testkit::pair::{Packet, Pair, Verdict, Way};
use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, Chunk, PacketView};

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// Settings with the stand-in's keys.
pub(crate) fn protected() -> AssocConfig {
    protected_by(RekeyPolicy::default())
}

/// The same, with keys replaced as `policy` says.
pub(crate) fn protected_by(policy: RekeyPolicy) -> AssocConfig {
    AssocConfig { protection: Some(Arc::new(StandIn::new(policy))), ..AssocConfig::default() }
}

/// Keys are replaced each `packets` packets.
pub(crate) fn rekeying(packets: u64) -> AssocConfig {
    protected_by(RekeyPolicy { packets, ..RekeyPolicy::default() })
}

/// Both ends are configured like this, and the client opens.
pub(crate) fn connecting(config: &AssocConfig) -> Pair {
    Pair::connecting(config.clone(), config.clone())
}

/// A pair with a protected association.
pub(crate) fn connected(config: &AssocConfig) -> Pair {
    let mut pair = connecting(config);
    pair.run_for(SECOND);
    assert_protected(&pair);
    pair
}

/// The same where nothing goes out by itself.
pub(crate) fn quiet() -> Pair {
    connected(&AssocConfig { heartbeat_interval: None, ..protected() })
}

/// Both applications were told of one protected association, once.
pub(crate) fn assert_protected(pair: &Pair) {
    for end in [&pair.client, &pair.server] {
        assert!(end.association().is_protected(), "{:?}", end.events);
        assert_eq!(end.established(), 1);
        assert_eq!(end.state(), State::Established);
    }
    no_plain_data(pair);
}

/// Each packet ever sent is one DTLS chunk, sets the association up, or has key management's data.
pub(crate) fn no_plain_data(pair: &Pair) {
    for packet in &pair.log {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        let kinds = packet.kinds();
        if kinds[0] == kind::DTLS {
            assert_eq!(kinds.len(), 1);
            continue;
        }
        for raw in view.chunks().map(Result::unwrap) {
            match raw.decode().unwrap() {
                Chunk::Data(data) => {
                    assert_eq!((data.ppid, data.stream.0), (KEY_MANAGEMENT_PPID, 0));
                }
                Chunk::IData(data) => {
                    assert_eq!((data.ppid(), data.stream.0), (Some(KEY_MANAGEMENT_PPID), 0));
                }
                Chunk::Init(_)
                | Chunk::InitAck(_)
                | Chunk::CookieEcho(_)
                | Chunk::CookieAck
                | Chunk::Sack(_)
                | Chunk::NrSack(_)
                | Chunk::Heartbeat(_)
                | Chunk::HeartbeatAck(_)
                | Chunk::Abort(_)
                | Chunk::Error(_) => {}
                other => panic!("{other:?} went in plain"),
            }
        }
    }
}

/// Data goes both ways and arrives.
pub(crate) fn assert_carries(pair: &mut Pair) {
    let (before, now) = ([pair.client.received.len(), pair.server.received.len()], pair.now);
    pair.client.send(now, b"there");
    pair.server.send(now, b"and back");
    pair.run_for(SECOND.saturating_mul(10));
    assert_eq!(pair.server.texts()[before[1]..], [b"there"]);
    assert_eq!(pair.client.texts()[before[0]..], [&b"and back"[..]]);
    no_plain_data(pair);
}

/// The association is as good as it was.
pub(crate) fn assert_well(pair: &mut Pair) {
    assert_carries(pair);
    for end in [&pair.client, &pair.server] {
        assert_eq!(end.closed(), None);
        assert!(!end.has_seen(&Event::Restarted));
    }
}

/// The number of the packet that is sent next, counted from 0.
pub(crate) fn numbered(
    mut judge: impl FnMut(usize, &Packet) -> Verdict + 'static,
) -> impl FnMut(&Packet) -> Verdict {
    let mut next = 0;
    move |packet| {
        next += 1;
        judge(next - 1, packet)
    }
}

/// Where packets of the client come to the server on the first path.
pub(crate) fn first_tuple(pair: &Pair, way: Way) -> polypath_proto::FourTuple {
    pair.log.iter().find(|packet| packet.way == way).unwrap().tuple
}

/// A server's settings with an endpoint's.
pub(crate) fn as_server(config: &AssocConfig) -> EndpointConfig {
    use polypath_testkit::pair::{SERVER_PORT, endpoint, server_addresses};
    EndpointConfig { assoc: config.clone().into(), ..endpoint(SERVER_PORT, &server_addresses()) }
}
