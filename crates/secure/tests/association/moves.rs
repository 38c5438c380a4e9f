//! Peers that are elsewhere all of a sudden.

use core::net::IpAddr;

use polypath_proto::time::Duration;
use polypath_proto::view::PathState;
use polypath_testkit::pair::Way;
use polypath_wire::chunk::kind;

use crate::common::*;

#[test]
fn a_new_address_carries_after_one_heartbeat_and_its_answer() {
    let mut pair = connected(&protected());
    // A NAT gives the client another address on either path, which nobody was told of.
    pair.translate = |address| {
        let IpAddr::V4(v4) = address else { return address };
        let [a, b, c, d] = v4.octets();
        match d {
            1 => IpAddr::from([a, b, c, 77]),
            77 => IpAddr::from([a, b, c, 1]),
            _ => address,
        }
    };
    let (since, now) = (pair.log.len(), pair.now);
    pair.client.send(now, b"from elsewhere");
    pair.run_for(Duration::from_millis(10));
    assert_eq!(pair.server.texts(), [b"from elsewhere"], "taken at once: it is authentic");
    pair.run_for(Duration::from_millis(40));
    let moved = |ip: IpAddr| matches!(ip, IpAddr::V4(v4) if v4.octets()[3] == 77);
    let sent = pair.sent_since(since);
    assert!(sent.iter().any(|p| p.way == Way::ToClient && moved(p.tuple.local.ip())));
    assert!(sent.iter().all(|p| p.first_kind() == kind::DTLS), "no new handshake");
    let view = pair.server.association().view(pair.now);
    let server = pair.server.association();
    let proven = view.paths.iter().any(|path| {
        let remote = server.path_tuple(path.id).unwrap().remote.ip();
        moved(remote) && path.state == PathState::Active
    });
    assert!(proven, "a heartbeat and its answer are enough");
    let now = pair.now;
    pair.server.send(now, b"there it goes");
    pair.run_for(SECOND.saturating_mul(5));
    assert_eq!(pair.client.texts(), [b"there it goes"]);
    no_plain_data(&pair);
}
