//! Memory, counted by the allocator, of an end that sends small messages: in queues, in flight,
//! behind gaps, and to a peer that says nothing.

mod counting;

use bytes::Bytes;
use counting::{KIB, held};
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_proto::ids::{StreamId, Tsn};
use polypath_proto::time::Duration;
use polypath_proto::{Reliability, SendError, SendOptions, State};
use polypath_testkit::scripted_peer::{ScriptedPeer, data_tsns, drain_packets};
use polypath_wire::{GapBlock, Parameter, SackRepr};

const BUFFER: u64 = 256 << 10;

/// Twice the send buffer and 64 KiB are granted; streams, paths and the latest packets take a
/// constant beside them.
const BOUND: i64 = 2 * BUFFER as i64 + 96 * KIB;

/// What the peer says to what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Peer {
    /// Its window is shut.
    Shut,
    /// Nothing at all.
    Silent,
    /// All arrived.
    Acknowledges,
    /// All but the first arrived.
    MissesTheFirst,
    /// Every other TSN arrived.
    MissesEveryOther,
}

const PEERS: [Peer; 5] =
    [Peer::Shut, Peer::Silent, Peer::Acknowledges, Peer::MissesTheFirst, Peer::MissesEveryOther];

/// Small messages, as many as the send buffer takes.
struct Load {
    scripted_peer: ScriptedPeer,
    peer: Peer,
    options: SendOptions,
    /// The highest TSN that the peer saw.
    highest: Tsn,
    /// What was held before.
    start: i64,
    worst: i64,
}

impl Load {
    fn new(peer: Peer, reliability: Reliability) -> Self {
        let config = AssocConfig {
            send_buffer: BUFFER,
            heartbeat_interval: None,
            extensions: ExtensionConfig { partial_reliability: true, ..ExtensionConfig::NONE },
            assoc_max_retrans: 1000,
            path_max_retrans: 1000,
            ..AssocConfig::default()
        };
        let params = [Parameter::ForwardTsnSupported].into_iter().collect();
        let mut scripted_peer = ScriptedPeer::connect_with(config, 1, params);
        if peer == Peer::Shut {
            scripted_peer.send_chunk(&SackRepr {
                flags: 0,
                cumulative_tsn: scripted_peer.victim_tsn.prev(),
                a_rwnd: 0,
                gap_blocks: &[],
                duplicates: &[],
            });
        }
        let highest = scripted_peer.victim_tsn.prev();
        let options = SendOptions { reliability, ..SendOptions::default() };
        Self { scripted_peer, peer, options, highest, start: held(), worst: 0 }
    }

    fn look(&mut self) {
        self.scripted_peer.events = Vec::new();
        self.worst = self.worst.max(held() - self.start);
    }

    /// Hands in messages until there is no room; gives how many.
    fn fill(&mut self, bytes: usize) -> u64 {
        for sent in 0_u64.. {
            let (p, options) = (&mut self.scripted_peer, self.options);
            let (now, data) = (p.now, Bytes::from(vec![7; bytes]));
            match p.assoc().send(now, StreamId((sent % 4) as u16), data, options) {
                Ok(_) => {}
                Err(SendError::WouldBlock) => return sent,
                Err(error) => panic!("{error}"),
            }
        }
        0
    }

    /// Lets `time` pass, and the peer hear what is sent.
    fn pass(&mut self, time: Duration) {
        let p = &mut self.scripted_peer;
        let at_once = drain_packets(&mut p.victim, p.now);
        let later = p.advance_time(time);
        self.hear(&at_once);
        self.hear(&later);
        drop((at_once, later));
        self.look();
        if !matches!(self.peer, Peer::Silent | Peer::Shut) {
            self.acknowledge();
            self.look();
        }
    }

    fn hear(&mut self, packets: &[Vec<u8>]) {
        let ahead = |tsn: &Tsn| tsn.0.wrapping_sub(self.highest.0) as i32;
        let newest = data_tsns(packets).into_iter().max_by_key(ahead).filter(|tsn| ahead(tsn) > 0);
        self.highest = newest.unwrap_or(self.highest);
    }

    fn acknowledge(&mut self) {
        let first = self.scripted_peer.victim_tsn.prev();
        let cumulative_tsn = if self.peer == Peer::Acknowledges { self.highest } else { first };
        let span = self.highest.0.wrapping_sub(cumulative_tsn.0) as u16;
        let block = |start, end| GapBlock { start, end };
        let gap_blocks: Vec<_> = match self.peer {
            Peer::MissesTheFirst if span > 1 => vec![block(2, span)],
            Peer::MissesEveryOther => (2..=span).step_by(2).map(|at| block(at, at)).collect(),
            _ => Vec::new(),
        };
        let sack = SackRepr {
            flags: 0,
            cumulative_tsn,
            a_rwnd: 1 << 20,
            gap_blocks: &gap_blocks,
            duplicates: &[],
        };
        let answers = self.scripted_peer.send_chunk(&sack);
        self.hear(&answers);
    }
}

fn worst_case(peer: Peer, bytes: usize, reliability: Reliability) -> (i64, u64) {
    let mut load = Load::new(peer, reliability);
    let mut taken = 0;
    for _ in 0..100 {
        taken += load.fill(bytes);
        load.look();
        load.pass(Duration::from_millis(100));
        assert_ne!(load.scripted_peer.assoc().state(), State::Closed);
    }
    (load.worst, taken)
}

#[test]
fn small_messages_stay_within_the_memory_bound() {
    let lifetime = Duration::from_millis(250);
    let kinds = [Reliability::Full, Reliability::Timed(lifetime), Reliability::Priority(7)];
    for peer in PEERS {
        for bytes in [1, 10, 100] {
            for reliability in kinds {
                let (worst, taken) = worst_case(peer, bytes, reliability);
                let name = format!("{peer:?}, {bytes} bytes, {reliability:?}");
                println!("{name}: {taken} messages, {worst} bytes at most, {BOUND} allowed");
                assert!(worst < BOUND, "{name}: {worst} bytes held, {BOUND} allowed");
            }
        }
    }
}
