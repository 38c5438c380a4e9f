//! A box that changes its mind during a transfer: nothing is lost, and the pause is short.

use polypath_link::NatConfig;
use polypath_proto::State;
use polypath_proto::config::AssocConfig;
use polypath_proto::time::Duration;
use polypath_proto::view::PathState;

use super::world::*;

/// What happens to a mapping.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Another port.
    Port,
    /// Another address.
    Address,
    /// The box was switched off and on.
    Forgotten,
}

fn change(net: &mut Net, what: Change, round: u8) {
    match what {
        Change::Port => net.boxes[0].rebind_ports(),
        Change::Address => net.boxes[0].change_address(outside(100 * (1 + round % 2))),
        Change::Forgotten => net.boxes[0].forget_mappings(),
    }
}

/// A transfer in one direction over `uplinks` uplinks with round trips of up to 100 ms, half of it
/// in queues.
fn transfer(kind: &NatConfig, assoc: &AssocConfig, uplinks: u8, upload: bool) -> Net {
    let boxes: Vec<NatConfig> = (0..uplinks).map(|_| kind.clone()).collect();
    let mut net = Net::new(1, &boxes, assoc);
    net.delay = 25 * MS;
    let ends: Vec<_> = (0..uplinks).map(|n| inside(n, 1)).collect();
    net.add_client(&ends, assoc);
    let paths: Vec<_> = ends.iter().map(|end| (*end, server(1))).collect();
    let h = net.connect(0, &paths, assoc);
    net.run(SECOND);
    if upload {
        net.clients[0].send_without_end(h);
    } else {
        let h = net.server.only();
        net.server.send_without_end(h);
    }
    net.run(3 * SECOND);
    net
}

fn pause(net: &Net, upload: bool, since: polypath_proto::time::Time) -> Duration {
    let receiver = if upload { &net.server } else { &net.clients[0] };
    receiver.longest_gap(since, net.now)
}

fn well(net: &Net, case: &str) {
    for host in [&net.clients[0], &net.server] {
        assert_eq!(host.assoc(host.only()).state(), State::Established, "{case}");
    }
}

#[test]
fn another_place_outside_costs_no_data_and_less_than_a_second() {
    let mut worst = [Duration::ZERO; 2];
    for (n, kind) in kinds().into_iter().enumerate() {
        for (answers, uplinks) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
            for what in [Change::Port, Change::Address, Change::Forgotten] {
                let kind = NatConfig { answers, preserve_ports: false, ..kind.clone() };
                let upload = (n + usize::from(answers)) % 2 == 0;
                for upload in [upload, !upload] {
                    let case = format!(
                        "{:?} {:?} answers {answers}, {uplinks} uplinks, {what:?}, upload {upload}",
                        kind.mapping, kind.filtering
                    );
                    let mut net = transfer(&kind, &fast(), uplinks, upload);
                    let since = net.now;
                    change(&mut net, what, 0);
                    net.run(3 * SECOND);
                    well(&net, &case);
                    let pause = pause(&net, upload, since);
                    assert!(pause < SECOND, "{case}: {pause:?}");
                    let worst = &mut worst[usize::from(upload)];
                    *worst = pause.max(*worst);
                }
            }
        }
    }
    println!("longest pauses: {worst:?} (download, upload)");
}

#[test]
fn changes_without_end_leave_no_heap_of_paths() {
    for what in [Change::Port, Change::Address] {
        let kind = NatConfig { preserve_ports: false, ..NatConfig::new(outside(0)) };
        let mut net = transfer(&kind, &fast(), 2, true);
        for round in 0..40 {
            let since = net.now;
            change(&mut net, what, round);
            net.run(4 * SECOND);
            let pause = pause(&net, true, since);
            assert!(pause < SECOND, "{what:?} {round}: {pause:?}");
            let paths = net.server.paths(net.server.only());
            assert!(paths.len() <= 6, "{what:?} {round}: {paths:?}");
            let active = paths.iter().filter(|(_, state)| *state == PathState::Active).count();
            assert_eq!(active, 2, "{what:?} {round}: {paths:?}");
        }
    }
}

#[test]
fn without_authentication_another_port_of_the_address_is_found_by_its_nonce() {
    for upload in [true, false] {
        let plain =
            AssocConfig { extensions: polypath_proto::config::ExtensionConfig::NONE, ..fast() };
        for kind in kinds() {
            let kind = NatConfig { preserve_ports: false, ..kind };
            let mut net = transfer(&kind, &plain, 1, upload);
            let since = net.now;
            change(&mut net, Change::Port, 0);
            net.run(5 * SECOND);
            let pause = pause(&net, upload, since);
            let case = format!("{:?} {:?} upload {upload}", kind.mapping, kind.filtering);
            well(&net, &case);
            assert!(pause < 2 * SECOND, "{case}: {pause:?}");
        }
    }
}
