//! Two uplinks, each behind a box of its own: both carry.

use polypath_link::NatConfig;
use polypath_proto::view::PathState;

use super::world::*;

/// A client with two uplinks, a server with as many addresses as told.
fn bonded(kind: &NatConfig, servers: u8) -> Net {
    let assoc = fast();
    let mut net = Net::new(servers, &[kind.clone(), kind.clone()], &assoc);
    let ends = [inside(0, 1), inside(1, 1)];
    net.add_client(&ends, &assoc);
    let h = net.connect(0, &[(ends[0], server(1)), (ends[1], server(servers))], &assoc);
    net.clients[0].send_without_end(h);
    net
}

/// The smaller share of the two uplinks, in per cent.
fn smaller_share(host: &Host) -> u64 {
    let carried = host.carried(host.only());
    assert_eq!(carried.len(), 2, "{carried:?}");
    100 * carried[0].min(carried[1]) / (carried[0] + carried[1])
}

#[test]
fn both_carry_from_the_first_second_behind_every_kind_of_box() {
    for kind in kinds() {
        for servers in [1, 2] {
            let case = format!("{:?} {:?} {servers}", kind.mapping, kind.filtering);
            let mut net = bonded(&kind, servers);
            net.run(SECOND);
            assert!(smaller_share(&net.clients[0]) >= 40, "{case}");
            let paths = net.server.paths(net.server.only());
            assert_eq!(paths.len(), 2, "{case}: {paths:?}");
            assert!(paths.iter().all(|(_, state)| *state == PathState::Active), "{case}");
            net.run(3 * SECOND);
            assert!(smaller_share(&net.clients[0]) >= 45, "{case}");
            // 8 Mbit/s each, of which four seconds are 8 MB in all.
            assert!(net.server.deliveries.len() > 6500, "{case}: {}", net.server.deliveries.len());
        }
    }
}

#[test]
fn both_carry_what_the_server_sends() {
    for kind in kinds() {
        let mut net = bonded(&kind, 1);
        net.clients[0].stop();
        net.run(SECOND / 2);
        let h = net.server.only();
        net.server.send_without_end(h);
        net.run(3 * SECOND);
        assert!(smaller_share(&net.server) >= 45, "{:?} {:?}", kind.mapping, kind.filtering);
    }
}

#[test]
fn two_uplinks_behind_one_box_are_two_paths() {
    for kind in kinds() {
        let assoc = fast();
        let mut net = Net::new(1, &[kind], &assoc);
        let ends = [inside(0, 1), inside(0, 101)];
        net.add_client(&ends, &assoc);
        let h = net.connect(0, &[(ends[0], server(1)), (ends[1], server(1))], &assoc);
        net.clients[0].send_without_end(h);
        net.run(5 * SECOND);
        let paths = net.server.paths(net.server.only());
        assert_eq!(paths.len(), 2, "{paths:?}");
        assert!(paths.iter().all(|(_, state)| *state == PathState::Active), "{paths:?}");
        assert_eq!(net.clients[0].carried(h).len(), 2);
    }
}
