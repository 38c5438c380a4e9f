//! What routers say, or those who pose as routers (number 31).

use polypath_proto::State;
use polypath_proto::config::{AssocConfig, PathMtuDiscovery};
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::ids::PathId;
use polypath_testkit::scripted_peer::{ScriptedPeer, victim_tuple};

use super::meter::{Bound, Meter, SILENCE};
use super::{assert_well, quiet};

const REPORTS: [IcmpReport; 4] = [
    IcmpReport::PacketTooBig { mtu: 600 },
    IcmpReport::ProtocolUnreachable,
    IcmpReport::PortUnreachable,
    IcmpReport::Unreachable,
];

fn mtu(p: &mut ScriptedPeer) -> u32 {
    p.assoc().path_mtu(PathId(0)).expect("a path").mtu
}

#[test]
fn a31_icmp_of_those_who_saw_nothing() {
    let discovery = Some(PathMtuDiscovery::default());
    for config in [quiet(), AssocConfig { path_mtu_discovery: discovery, ..quiet() }] {
        let mut p = ScriptedPeer::connect(config, 1);
        let seen = p.make_it_send(1000).concat();
        let before = mtu(&mut p);
        let mut forged = vec![Vec::new(), seen[..7].to_vec()];
        for at in [0, 2, 4, 5, 6, 7] {
            for bit in 0..8 {
                let mut quote = seen.clone();
                quote[at] ^= 1 << bit;
                forged.push(quote);
            }
        }
        let mut without_tag = seen.clone();
        without_tag[4..8].fill(0);
        forged.push(without_tag);
        let mut m = Meter::new();
        for quoted in &forged {
            for report in REPORTS {
                let taken = m.tell(&mut p.victim, p.now, victim_tuple(), quoted, report);
                assert!(!taken, "{report:?} of {quoted:?}");
            }
        }
        // The right tag does not help to sizes that cannot be, nor to what raw SCTP does not heed.
        for mtu in [0, 1, 67, 1500, 65_535, u32::MAX] {
            let report = IcmpReport::PacketTooBig { mtu };
            assert!(!m.tell(&mut p.victim, p.now, victim_tuple(), &seen, report), "{mtu}");
        }
        let report = IcmpReport::PortUnreachable;
        assert!(!m.tell(&mut p.victim, p.now, victim_tuple(), &seen, report));
        assert_eq!((mtu(&mut p), p.assoc().state()), (before, State::Established));
        m.settle(31, "forged ICMP: tag, ports, sizes", SILENCE);
        assert_well(&mut p);
    }
}

#[test]
fn a31_a_router_that_says_the_smallest_size_over_and_over() {
    let discovery = Some(PathMtuDiscovery::default());
    for config in [quiet(), AssocConfig { path_mtu_discovery: discovery, ..quiet() }] {
        let mut p = ScriptedPeer::connect(config, 1);
        let seen = p.make_it_send(1000).concat();
        let mut m = Meter::new();
        for mtu in (68..1500).rev().chain(68..1500) {
            let report = IcmpReport::PacketTooBig { mtu };
            m.tell(&mut p.victim, p.now, victim_tuple(), &seen, report);
        }
        assert!(mtu(&mut p) >= 576, "no size that hardly holds data");
        // At most the data once more, and a probe per report.
        let packets_out = m.cost.packets_in;
        let bound =
            Bound { packets_out, bytes_out: 1500 * packets_out, memory: 4096, work_per_packet: 4 };
        m.settle(31, "sizes from one who saw a packet", bound);
        assert_eq!(p.assoc().state(), State::Established);
    }
}
