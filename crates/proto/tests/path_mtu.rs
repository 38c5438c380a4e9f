//! Path MTU discovery (RFC 8899) and ICMP (RFC 9260 section 10) between whole endpoints, on links
//! that drop what is too large.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, Encapsulation, PathMtuDiscovery};
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::ids::StreamId;
use polypath_proto::stats::MtuState;
use polypath_proto::time::Duration;
use polypath_proto::{CloseReason, Event, PathId, SendOptions, State};
use polypath_testkit::pair::{
    self, CLIENT_PORT, Packet, Pair, SERVER_PORT, Verdict, Way, client_addresses, client_paths,
    endpoint, reverse_tuple, server_addresses,
};
use polypath_wire::chunk::kind;

const P0: PathId = PathId(0);
const P1: PathId = PathId(1);

fn searching() -> AssocConfig {
    AssocConfig {
        path_mtu_discovery: Some(PathMtuDiscovery { max: 9216, ..PathMtuDiscovery::default() }),
        ..AssocConfig::default()
    }
}

/// What each of the two links carries, changeable while the test runs.
#[derive(Clone)]
struct Links([Rc<Cell<usize>>; 2]);

impl Links {
    fn new(first: usize, second: usize) -> Self {
        Self([Rc::new(Cell::new(first)), Rc::new(Cell::new(second))])
    }

    fn set(&self, link: usize, mtu: usize) {
        self.0[link].set(mtu);
    }

    fn of(&self, packet: &Packet) -> usize {
        let second = packet.tuple.local == client_paths()[1].remote
            || packet.tuple.local == client_paths()[1].local;
        self.0[usize::from(second)].get()
    }

    /// The bytes of the packet's IP packet fit.
    fn carry(&self, packet: &Packet) -> bool {
        packet.data.len() + 20 <= self.of(packet)
    }

    /// Packets that may be fragmented pass in any case.
    fn fate_with_fragments(self) -> impl FnMut(&Packet) -> Verdict + 'static {
        let mut strict = self.fate();
        move |packet| if packet.may_fragment { Verdict::Deliver } else { strict(packet) }
    }

    fn fate(self) -> impl FnMut(&Packet) -> Verdict + 'static {
        move |packet| if self.carry(packet) { Verdict::Deliver } else { Verdict::Lose }
    }
}

fn connected(config: AssocConfig, links: &Links) -> Pair {
    let mut pair = Pair::new();
    pair.lose_packets(links.clone().fate());
    pair.connect_with(config);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.client.state(), State::Established);
    pair
}

fn mtu(pair: &Pair, p: PathId) -> u32 {
    let h = pair.client.handle();
    let assoc = pair.client.endpoint.association(h).expect("association");
    assoc.path_mtu(p).expect("path").mtu
}

fn found(pair: &Pair, p: PathId) -> polypath_proto::stats::PathMtuStats {
    let h = pair.client.handle();
    pair.client.endpoint.association(h).expect("association").path_mtu(p).expect("path")
}

fn send(pair: &mut Pair, bytes: usize) {
    let (h, now) = (pair.client.handle(), pair.now);
    let assoc = pair.client.endpoint.association_mut(h).expect("association");
    let data = Bytes::from(vec![7; bytes]);
    assoc.send(now, StreamId(0), data, SendOptions::default()).expect("accepted");
}

fn received(pair: &Pair) -> usize {
    pair.server.received.iter().map(|m| m.data.len()).sum()
}

#[test]
fn every_path_finds_its_own_size_and_chunks_fit_the_smallest() {
    let links = Links::new(1400, 9000);
    let mut pair = connected(searching(), &links);
    pair.run_for(Duration::from_secs(60));
    assert_eq!((mtu(&pair, P0), mtu(&pair, P1)), (1400, 9000));
    assert_eq!(found(&pair, P0).state, MtuState::Complete);
    let since = pair.log.len();
    let (h, now) = (pair.client.handle(), pair.now);
    let assoc = pair.client.endpoint.association_mut(h).expect("association");
    assert!(assoc.set_primary(now, P1), "the default scheduler sends on the primary path");
    send(&mut pair, 500_000);
    pair.run_for(Duration::from_secs(20));
    assert_eq!(received(&pair), 500_000);
    let data = pair.sent_since(since).iter().filter(|p| p.way == Way::ToServer);
    let largest = data.clone().map(|p| p.data.len() + 20).max().unwrap_or(0);
    assert!(largest > 8000, "the wide path's packets carry several chunks: {largest}");
    assert!(data.clone().all(|p| links.carry(p)), "no packet is too large for its link");
}

#[test]
fn probes_are_heartbeats_with_padding_of_exactly_the_probed_size() {
    let mut pair = connected(searching(), &Links::new(9000, 9000));
    pair.run_for(Duration::from_secs(5));
    let probes: Vec<&Packet> =
        pair.log.iter().filter(|p| p.kinds() == [kind::HEARTBEAT, kind::PAD]).collect();
    let sizes: Vec<usize> = probes
        .iter()
        .filter(|p| p.tuple == reverse_tuple(client_paths()[0]))
        .map(|p| p.data.len() + 20)
        .collect();
    assert_eq!(sizes[..4], [1200, 1500, 9216, 9216], "base, the user's guess, the maximum");
    let answers = pair.log.iter().filter(|p| p.way == Way::ToClient && p.data.len() > 500).count();
    assert_eq!(answers, 0, "the padding is not sent back");
}

#[test]
fn lost_probes_count_for_nothing() {
    let mut pair = connected(searching(), &Links::new(1500, 1500));
    pair.run_for(Duration::from_secs(60));
    let assoc = pair.client.endpoint.association(pair.client.handle()).expect("association");
    let lost = found(&pair, P0);
    assert!(lost.probes_sent > lost.probes_acked + 3, "{lost:?}");
    for path in assoc.view(pair.now).paths {
        assert_eq!((path.errors, path.lost_chunks), (0, 0));
    }
    assert_eq!(assoc.stats().timeouts, 0);
    assert!(!pair.client.events.iter().any(|(_, e)| matches!(e, Event::PathState { .. })));
}

#[test]
fn a_larger_size_widens_no_window() {
    let mut pair = connected(searching(), &Links::new(9000, 9000));
    let windows = |pair: &Pair| {
        let assoc = pair.client.endpoint.association(pair.client.handle()).expect("association");
        assoc.view(pair.now).paths.iter().map(|path| path.cwnd).collect::<Vec<_>>()
    };
    let before = windows(&pair);
    pair.run_for(Duration::from_secs(60));
    assert_eq!((mtu(&pair, P0), windows(&pair)), (9000, before));
}

#[test]
fn off_means_no_probe_and_the_configured_size() {
    let mut pair = connected(AssocConfig::default(), &Links::new(9000, 9000));
    pair.run_for(Duration::from_secs(100));
    assert_eq!(pair.sent(Way::ToServer, kind::PAD), 0);
    assert_eq!((mtu(&pair, P0), found(&pair, P0).state), (1500, MtuState::Disabled));
}

#[test]
fn unconfirmed_paths_are_not_probed() {
    let links = Links::new(1500, 50);
    let mut pair = Pair::new();
    pair.lose_packets(links.clone().fate());
    let h = {
        let config = std::sync::Arc::new(searching());
        let first = &client_paths()[..1];
        pair.client.endpoint.connect(pair.now, first, pair::SERVER_PORT, config).expect("connects")
    };
    pair.run_for(Duration::from_secs(30));
    let server = pair.server.endpoint.association(pair.server.handle()).expect("association");
    assert!(server.view(pair.now).paths.len() > 1, "the server tries the second pair");
    assert!(pair.client.endpoint.association(h).is_some());
    let wrong =
        |p: &&Packet| p.kinds().contains(&kind::PAD) && p.tuple.local == client_paths()[1].remote;
    assert_eq!(pair.log.iter().filter(wrong).count(), 0);
}

#[test]
fn a_link_that_shrinks_in_silence_is_noticed_by_lost_data_and_nothing_is_lost() {
    let links = Links::new(1500, 1500);
    let mut pair = connected(searching(), &links);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(mtu(&pair, P0), 1500);
    links.set(0, 1300);
    links.set(1, 1300);
    send(&mut pair, 200_000);
    pair.run_for(Duration::from_secs(60));
    let now = found(&pair, P0);
    assert!((1280..=1300).contains(&now.mtu), "{now:?}");
    assert!(now.black_holes >= 1);
    assert!(
        pair.client.has_seen(&Event::PathMtu { path: P0, mtu: 1200 }),
        "back to the base first"
    );
    let assoc = pair.client.endpoint.association(pair.client.handle()).expect("association");
    let lost = assoc.sender_queue_info().used;
    // The chunks that were cut for 1500 bytes can only go fragmented, which this world does not
    // carry.
    assert!(lost > 0 || received(&pair) == 200_000);
    links.set(0, 1500);
    pair.run_for(Duration::from_secs(120));
    assert_eq!(received(&pair), 200_000);
}

#[test]
fn chunks_too_large_for_a_path_take_one_that_carries_them() {
    let links = Links::new(1500, 1500);
    let mut pair = connected(searching(), &links);
    pair.run_for(Duration::from_secs(60));
    // The first packets of the first path are lost; meanwhile its router tells that it shrank.
    let losing = links.clone();
    let cut = Rc::new(Cell::new(true));
    let off = cut.clone();
    pair.lose_packets(move |packet| {
        let first = packet.tuple == reverse_tuple(client_paths()[0]);
        let lost = first && cut.get() || packet.data.len() + 20 > losing.of(packet);
        if lost { Verdict::Lose } else { Verdict::Deliver }
    });
    send(&mut pair, 100_000);
    pair.run_for(Duration::from_millis(5));
    links.set(0, 1300);
    let quoted = last_data(&pair).data[..20].to_vec();
    let (now, tuple) = (pair.now, client_paths()[0]);
    let told = IcmpReport::PacketTooBig { mtu: 1300 };
    assert!(pair.client.endpoint.handle_icmp(now, tuple, &quoted, told));
    off.set(false);
    pair.exchange_packets();
    pair.run_for(Duration::from_secs(30));
    assert_eq!(received(&pair), 100_000);
    assert_eq!((mtu(&pair, P0), mtu(&pair, P1)), (1300, 1500));
}

#[test]
fn a_chunk_that_fits_nowhere_asks_for_fragmentation_and_goes_alone() {
    let links = Links::new(1500, 1500);
    let mut pair = connected(searching(), &links);
    pair.run_for(Duration::from_secs(60));
    pair.lose_packets(
        |packet| if packet.data.len() > 1000 { Verdict::Lose } else { Verdict::Deliver },
    );
    send(&mut pair, 20_000);
    pair.run_for(Duration::from_millis(5));
    let quoted = last_data(&pair).data[..20].to_vec();
    for tuple in client_paths() {
        let told = IcmpReport::PacketTooBig { mtu: 1300 };
        assert!(pair.client.endpoint.handle_icmp(pair.now, tuple, &quoted, told));
    }
    pair.lose_packets(|_| Verdict::Deliver);
    let (mut fragmented, mut whole) = (0, 0);
    let mut buf = Vec::new();
    for _ in 0..200 {
        pair.run_for(Duration::from_millis(50));
        // What the harness would not tell: the flags of what is sent next.
        let next = pair.client.endpoint.poll_timeout().unwrap_or(pair.now);
        pair.now = pair.now.max(next);
        pair.client.endpoint.handle_timeout(pair.now);
        buf.clear();
        while let Some(sent) = pair.client.endpoint.poll_transmit(pair.now, &mut buf) {
            let large = sent.len + 20 > 1300 && !sent.probe;
            assert_eq!(sent.may_fragment, large, "{sent:?}");
            fragmented += u32::from(large);
            whole += u32::from(!large);
            let (now, tuple) = (pair.now, reverse_tuple(sent.tuple));
            pair.server.endpoint.handle_datagram(now, tuple, &buf);
            buf.clear();
        }
        pair.exchange_packets();
    }
    assert!(fragmented > 0 && whole > 0, "{fragmented} fragmented, {whole} whole");
    assert_eq!(received(&pair), 20_000);
}

fn last_data(pair: &Pair) -> Packet {
    let data = |p: &&Packet| p.way == Way::ToServer && p.kinds().contains(&kind::DATA);
    pair.log.iter().rfind(data).expect("data was sent").clone()
}

#[test]
fn nothing_is_believed_that_does_not_quote_the_verification_tag() {
    let mut pair = connected(searching(), &Links::new(1500, 1500));
    pair.run_for(Duration::from_secs(60));
    send(&mut pair, 100);
    pair.run_for(Duration::from_secs(1));
    let good = last_data(&pair).data;
    let (tuple, now) = (client_paths()[0], pair.now);
    let mut wrong_tag = good.clone();
    wrong_tag[7] ^= 1;
    let mut zero_tag = good.clone();
    zero_tag[4..8].fill(0);
    let mut wrong_port = good.clone();
    wrong_port[1] ^= 1;
    let mut wrong_peer_port = good.clone();
    wrong_peer_port[3] ^= 1;
    let forged = [&wrong_tag[..], &zero_tag, &wrong_port, &wrong_peer_port, &good[..7], &[]];
    let reports = [
        IcmpReport::PacketTooBig { mtu: 1300 },
        IcmpReport::ProtocolUnreachable,
        IcmpReport::PortUnreachable,
        IcmpReport::Unreachable,
    ];
    for quoted in forged {
        for report in reports {
            assert!(!pair.client.endpoint.handle_icmp(now, tuple, quoted, report), "{report:?}");
        }
    }
    // With the right tag, but below any minimum, or above what is in use.
    for mtu in [0, 67, 1500, 65_535] {
        let report = IcmpReport::PacketTooBig { mtu };
        assert!(!pair.client.endpoint.handle_icmp(now, tuple, &good, report), "{mtu}");
    }
    // Without encapsulation a closed port means nothing.
    assert!(!pair.client.endpoint.handle_icmp(now, tuple, &good, IcmpReport::PortUnreachable));
    pair.run_for(Duration::from_secs(10));
    assert_eq!((pair.client.state(), mtu(&pair, P0)), (State::Established, 1500));
}

#[test]
fn protocol_unreachable_ends_the_association_like_an_abort() {
    let mut pair = Pair::connected();
    pair.client.send(pair.now, b"x");
    pair.run_for(Duration::from_secs(1));
    let quoted = last_data(&pair).data;
    let report = IcmpReport::ProtocolUnreachable;
    assert!(pair.client.endpoint.handle_icmp(pair.now, client_paths()[0], &quoted[..8], report));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
}

#[test]
fn a_quoted_init_counts_only_in_cookie_wait_and_only_ours() {
    let mut pair = Pair::new();
    pair.lose_packets(|_| Verdict::Lose);
    pair.connect();
    pair.run_for(Duration::from_millis(1));
    let init = pair.last_with(kind::INIT).data;
    let (tuple, report) = (client_paths()[0], IcmpReport::ProtocolUnreachable);
    let mut other = init.clone();
    other[19] ^= 1;
    for quoted in [&other[..], &init[..8], &init[..19]] {
        assert!(!pair.client.endpoint.handle_icmp(pair.now, tuple, quoted, report));
    }
    assert_eq!(pair.client.state(), State::CookieWait);
    assert!(pair.client.endpoint.handle_icmp(pair.now, tuple, &init[..20], report));
    assert_eq!(pair.client.state(), State::Closed);

    // Once the association stands, an old INIT proves nothing.
    let mut pair = Pair::connected();
    let init = pair.last_with(kind::INIT).data;
    assert!(!pair.client.endpoint.handle_icmp(pair.now, tuple, &init, report));
    assert_eq!(pair.client.state(), State::Established);
}

fn in_udp() -> Pair {
    let mut client = pair::endpoint(pair::CLIENT_PORT, &pair::client_addresses());
    let mut server = pair::endpoint(pair::SERVER_PORT, &pair::server_addresses());
    (client.encapsulation, server.encapsulation) = (Encapsulation::Udp, Encapsulation::Udp);
    Pair::with(client, server)
}

#[test]
fn a_closed_udp_port_is_a_failed_path_while_another_lives_and_an_abort_after_that() {
    let mut pair = in_udp();
    pair.connect();
    pair.run_for(Duration::from_millis(200));
    pair.client.send(pair.now, b"x");
    pair.run_for(Duration::from_secs(1));
    let quoted = last_data(&pair).data;
    let [first, second] = client_paths();
    let report = IcmpReport::PortUnreachable;
    assert!(pair.client.endpoint.handle_icmp(pair.now, first, &quoted, report));
    assert_eq!(pair.client.state(), State::Established);
    assert!(pair.client.endpoint.handle_icmp(pair.now, second, &quoted, report));
    pair.exchange_packets();
    // It may be a NAT that has just given the peer another place: there is time to hear of it.
    assert_eq!(pair.client.closed(), None);
    pair.run_for(Duration::from_secs(2));
    assert!(pair.client.endpoint.handle_icmp(pair.now, second, &quoted, report));
    pair.exchange_packets();
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
}

#[test]
fn in_udp_the_probe_counts_the_udp_header() {
    let mut pair = in_udp();
    pair.connect_with(searching());
    pair.run_for(Duration::from_secs(2));
    let probe = pair.log.iter().find(|p| p.kinds() == [kind::HEARTBEAT, kind::PAD]);
    assert_eq!(probe.expect("a probe").data.len(), 1200 - 20 - 8);
}

#[test]
fn without_discovery_a_routers_word_lowers_the_size_for_good() {
    let mut pair = connected(AssocConfig::default(), &Links::new(1500, 1500));
    send(&mut pair, 100);
    pair.run_for(Duration::from_secs(1));
    let quoted = last_data(&pair).data;
    let told = |mtu| IcmpReport::PacketTooBig { mtu };
    let (now, tuple) = (pair.now, client_paths()[0]);
    assert!(pair.client.endpoint.handle_icmp(now, tuple, &quoted, told(1400)));
    assert!(!pair.client.endpoint.handle_icmp(now, tuple, &quoted, told(1500)));
    assert_eq!((mtu(&pair, P0), mtu(&pair, P1)), (1400, 1500));
    assert!(pair.client.endpoint.handle_icmp(now, tuple, &quoted, told(100)));
    assert_eq!(mtu(&pair, P0), 576, "no packets of a few bytes each");
}

/// Lets both sides talk for `ms` milliseconds without delay; the client's interfaces refuse IP
/// packets above `limit` unless they may be taken apart. Gives the sizes of those that were
/// refused.
fn talk(pair: &mut Pair, ms: u64, limit: u32, told: bool) -> Vec<usize> {
    let (mut buf, mut refused) = (Vec::new(), Vec::new());
    for _ in 0..ms {
        pair.now += Duration::from_millis(1);
        let now = pair.now;
        pair.client.endpoint.handle_timeout(now);
        while let Some(sent) = pair.client.endpoint.poll_transmit(now, &mut buf) {
            if sent.len + 20 > limit as usize && !sent.may_fragment {
                refused.push(sent.len + 20);
                let carried = told.then_some(limit);
                pair.client.endpoint.packet_refused(now, sent.tuple, &buf, carried);
            } else {
                pair.server.endpoint.handle_datagram(now, reverse_tuple(sent.tuple), &buf);
            }
            buf.clear();
        }
        pair.server.endpoint.handle_timeout(now);
        while let Some(sent) = pair.server.endpoint.poll_transmit(now, &mut buf) {
            pair.client.endpoint.handle_datagram(now, reverse_tuple(sent.tuple), &buf);
            buf.clear();
        }
    }
    refused
}

#[test]
fn what_the_interface_refuses_ends_that_size_at_once() {
    let config = AssocConfig {
        path_mtu_discovery: Some(PathMtuDiscovery::default()),
        ..AssocConfig::default()
    };
    for told in [false, true] {
        let mut pair = Pair::new();
        pair.connect_with(config.clone());
        let refused = talk(&mut pair, 1000, 1500, told);
        assert!(!refused.is_empty());
        assert_eq!((mtu(&pair, P0), found(&pair, P0).state), (1500, MtuState::Complete));
    }
}

#[test]
fn without_discovery_the_interface_says_what_it_carries() {
    let mut pair = Pair::new();
    pair.connect_with(AssocConfig::default());
    talk(&mut pair, 500, 1300, true);
    assert_eq!(mtu(&pair, P0), 1500, "nothing was too large yet");
    send(&mut pair, 100_000);
    // No timer is waited for: what was refused never left.
    let refused = talk(&mut pair, 300, 1300, true);
    assert!((1..10).contains(&refused.len()), "{refused:?}");
    pair.run_for(Duration::from_millis(1));
    assert_eq!(received(&pair), 100_000);
    assert_eq!(mtu(&pair, P0), 1300);
}

#[test]
fn a_path_that_fails_because_the_base_size_does_not_pass_still_finds_that_out() {
    // Lost data makes the path inactive long before three probes of the base are lost, and it is
    // the only one.
    for path_max_retrans in [0, 1] {
        let links = Links::new(1000, 1000);
        let client = endpoint(CLIENT_PORT, &client_addresses()[..1]);
        let mut pair = Pair::with(client, endpoint(SERVER_PORT, &server_addresses()[..1]));
        pair.lose_packets(links.clone().fate_with_fragments());
        let mut config = AssocConfig { path_max_retrans, ..searching() };
        config.rto.max = Duration::from_secs(2);
        let (now, path) = (pair.now, &client_paths()[..1]);
        let endpoint = &mut pair.client.endpoint;
        endpoint.connect(now, path, SERVER_PORT, config.into()).expect("connects");
        send(&mut pair, 5000);
        pair.run_for(Duration::from_secs(30));
        assert_eq!(pair.client.closed(), None, "Path.Max.Retrans {path_max_retrans}");
        assert_eq!(received(&pair), 5000, "Path.Max.Retrans {path_max_retrans}");
        assert_eq!(found(&pair, P0).state, MtuState::Error);
        assert_eq!(mtu(&pair, P0), 576);
        // The link is mended: sizes grow again.
        links.set(0, 1500);
        pair.run_for(Duration::from_secs(130));
        assert_eq!((mtu(&pair, P0), found(&pair, P0).state), (1500, MtuState::Complete));
    }
}
