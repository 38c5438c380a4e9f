//! A protected association between two honest ends, and somebody who knows tags and TSNs, sees every packet, and writes what it
//! likes: chunks in plain, packets again, changed, and from elsewhere, ICMP. Nothing but what was sent is ever read, and that once
//! and in order; nothing leaves in plain; and where it was protected before anybody meddled, it goes on as if nobody had.

#![no_main]

use std::net::SocketAddr;
use std::sync::Arc;

use arbitrary::Arbitrary;
use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use polypath_proto::config::AssocConfig;
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::ids::StreamId;
use polypath_proto::protection::KEY_MANAGEMENT_PPID;
use polypath_proto::time::Duration;
use polypath_proto::{FourTuple, SendOptions};
use polypath_secure::{RekeyPolicy, StandIn};
use polypath_testkit::invariants;
use polypath_testkit::packet::{PacketBuilder, reseal_checksum};
use polypath_testkit::pair::{CLIENT_PORT, End, Pair, SERVER_PORT, Way, at_server, client_paths};
use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, Chunk, PacketView};

#[derive(Arbitrary, Debug)]
struct Input {
    /// Keys are replaced each so many packets.
    rekey_each: Option<u8>,
    /// Nobody meddles before both ends are protected.
    late: bool,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// A chunk in plain behind the right tag.
    Plain {
        to_client: bool,
        elsewhere: bool,
        kind: u8,
        flags: u8,
        value: Vec<u8>,
    },
    /// A packet that was sent comes once more, or before its time.
    Again {
        which: u8,
        elsewhere: bool,
    },
    /// The same, changed.
    Changed {
        which: u8,
        at: u16,
        xor: u8,
        cut: u8,
        elsewhere: bool,
    },
    /// A packet under way is lost.
    Lose {
        which: u8,
    },
    Icmp {
        to_client: bool,
        which: u8,
        report: u8,
    },
    Send {
        from_client: bool,
        len: u16,
    },
    Wait {
        ms: u16,
    },
}

fuzz_target!(|input: Input| {
    let mut world = World::new(&input);
    for step in input.steps.iter().take(100) {
        world.step(step);
        world.check();
    }
    if input.late {
        world.must_be_well();
    }
});

struct World {
    config: AssocConfig,
    pair: Pair,
    /// Messages that client and server have sent.
    sent: [u32; 2],
    /// Packets of the log that were looked at.
    seen: usize,
}

impl World {
    fn new(input: &Input) -> Self {
        let each = input.rekey_each.map_or(1 << 24, |each| u64::from(each) + 10);
        let policy = RekeyPolicy { packets: each, ..RekeyPolicy::default() };
        let protection = Some(Arc::new(StandIn::new(policy)) as Arc<_>);
        let config = AssocConfig { protection, ..AssocConfig::default() };
        let mut pair = Pair::connecting(config.clone(), config.clone());
        if input.late {
            pair.run_for(Duration::from_secs(1));
        }
        Self { config, pair, sent: [0; 2], seen: 0 }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Plain { to_client, elsewhere, kind, flags, value } => {
                let way = if *to_client { Way::ToClient } else { Way::ToServer };
                let Some(tag) = self.pair.log.iter().rev().find(|p| p.way == way).map(|p| p.tag())
                else {
                    return;
                };
                let (from, to) = match way {
                    Way::ToServer => (CLIENT_PORT, SERVER_PORT),
                    Way::ToClient => (SERVER_PORT, CLIENT_PORT),
                };
                let packet =
                    PacketBuilder::new(from, to, tag).push_raw(*kind, *flags, value).build();
                self.inject(way, first_path(way), *elsewhere, &packet);
            }
            Step::Again { which, elsewhere } => {
                if let Some((way, tuple, packet)) = self.pick(*which) {
                    self.inject(way, tuple, *elsewhere, &packet);
                }
            }
            Step::Changed { which, at, xor, cut, elsewhere } => {
                let Some((way, tuple, mut packet)) = self.pick(*which) else { return };
                packet.truncate(packet.len().saturating_sub((*cut).into()).max(12));
                let at = usize::from(*at) % packet.len();
                packet[at] ^= xor;
                reseal_checksum(&mut packet);
                self.inject(way, tuple, *elsewhere, &packet);
            }
            Step::Lose { which } => {
                let count = self.pair.flying.len();
                if count > 0 {
                    self.pair.flying.swap_remove(usize::from(*which) % count);
                }
            }
            Step::Icmp { to_client, which, report } => {
                let Some((way, tuple, packet)) = self.pick(*which) else { return };
                let report = [
                    IcmpReport::ProtocolUnreachable,
                    IcmpReport::PortUnreachable,
                    IcmpReport::Unreachable,
                ][usize::from(*report) % 3];
                let (end, own) = match to_client {
                    true => (&mut self.pair.client, way == Way::ToServer),
                    false => (&mut self.pair.server, way == Way::ToClient),
                };
                let back = FourTuple { local: tuple.remote, remote: tuple.local };
                let tuple = if own { back } else { tuple };
                end.endpoint.handle_icmp(self.pair.now, tuple, &packet, report);
                self.pair.exchange_packets();
            }
            Step::Send { from_client, len } => self.send(*from_client, usize::from(*len) % 4000),
            Step::Wait { ms } => self.pair.run_for(Duration::from_millis(u64::from(*ms % 2000))),
        }
    }

    /// The latest packets are picked by the lowest numbers.
    fn pick(&self, which: u8) -> Option<(Way, FourTuple, Vec<u8>)> {
        let packet = self.pair.log.iter().rev().nth(which.into())?;
        Some((packet.way, packet.tuple, packet.data.clone()))
    }

    fn inject(&mut self, way: Way, mut tuple: FourTuple, elsewhere: bool, packet: &[u8]) {
        if elsewhere {
            tuple.remote = SocketAddr::new([192, 0, 2, 9].into(), tuple.remote.port());
        }
        self.pair.inject_packet(way, tuple, packet);
    }

    fn send(&mut self, from_client: bool, len: usize) {
        let now = self.pair.now;
        let (end, sent) = match from_client {
            true => (&mut self.pair.client, &mut self.sent[0]),
            false => (&mut self.pair.server, &mut self.sent[1]),
        };
        let Some(h) = end.endpoint.associations().next() else { return };
        let Some(assoc) = end.endpoint.association_mut(h) else { return };
        let mut data = sent.to_be_bytes().to_vec();
        data.resize(4 + len, 0x5a);
        if assoc.send(now, StreamId(0), Bytes::from(data), SendOptions::default()).is_ok() {
            *sent += 1;
        }
        self.pair.exchange_packets();
    }

    fn check(&mut self) {
        for (end, sent) in [(&self.pair.client, self.sent[1]), (&self.pair.server, self.sent[0])] {
            for h in end.endpoint.associations() {
                let assoc = end.endpoint.association(h).expect("it is listed");
                if let Err(wrong) = invariants::check_books(assoc, &self.config, self.pair.now) {
                    panic!("{wrong}");
                }
            }
            assert!(end.received.len() <= sent as usize);
            for (n, message) in end.received.iter().enumerate() {
                let number =
                    u32::from_be_bytes(message.data[..4].try_into().expect("it has a number"));
                assert_eq!(number as usize, n, "each once, in order");
                assert!(message.data[4..].iter().all(|byte| *byte == 0x5a));
            }
        }
        for packet in &self.pair.log[self.seen..] {
            let view = PacketView::parse(&packet.data, ChecksumCheck::Skip).expect("our own");
            for raw in view.chunks() {
                let ppid = match raw.expect("our own").decode().expect("our own") {
                    Chunk::Data(data) => Some(data.ppid),
                    Chunk::IData(data) => data.ppid(),
                    _ => continue,
                };
                assert_eq!(ppid, Some(KEY_MANAGEMENT_PPID), "data in plain");
            }
        }
        self.seen = self.pair.log.len();
    }

    fn must_be_well(&mut self) {
        let ends: fn(&Pair) -> [&End; 2] = |pair| [&pair.client, &pair.server];
        self.send(true, 10);
        self.send(false, 10);
        self.pair.run_for(Duration::from_secs(120));
        self.check();
        for (end, sent) in ends(&self.pair).into_iter().zip([self.sent[1], self.sent[0]]) {
            assert_eq!(end.closed(), None);
            assert_eq!((end.count(), end.established()), (1, 1));
            assert_eq!(end.received.len(), sent as usize);
        }
        let sealed = self.pair.log.iter().rev().take(4).all(|p| p.first_kind() == kind::DTLS);
        assert!(sealed, "nothing leaves in plain");
    }
}

fn first_path(way: Way) -> FourTuple {
    match way {
        Way::ToServer => at_server(),
        Way::ToClient => client_paths()[0],
    }
}
