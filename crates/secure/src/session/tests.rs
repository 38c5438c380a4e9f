//! Two sessions that talk, and a network between them.

mod failures;
mod talk;

use std::collections::BTreeSet;

use polypath_proto::protection::{HEADROOM, OpenError, Protection};

use super::*;
use crate::aead::Suite;
use crate::exchange::stand_in::StandInExchanges;

const RTO: Duration = Duration::from_millis(100);

fn agreed(role: Role, seed: u8) -> Agreed {
    let parameters = [vec![1, 2, 3, 4], vec![5, 6, 7, 8]];
    let seed = [seed ^ u8::from(role == Role::Server); 32];
    Agreed { method: 254, role, parameters, session: [9; 16], seed }
}

fn session(role: Role, seed: u8, policy: RekeyPolicy) -> Session {
    let agreed = agreed(role, seed);
    let exchanges = Arc::new(StandInExchanges::new(Suite::StandIn, &agreed.seed));
    let mut session = Session::new(Time::ZERO, &agreed, exchanges, policy);
    assert_eq!(session.next_timeout(), Time::MAX, "T1 runs");
    session.association_is_up(Time::ZERO);
    session
}

fn seal(session: &mut Session, now: Time, content: &[u8]) -> Option<Vec<u8>> {
    let mut packet = vec![0; HEADROOM];
    packet.extend_from_slice(content);
    session.seal(now, &mut packet, 0).then(|| {
        let len = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
        packet.truncate(len);
        packet
    })
}

fn open(session: &mut Session, now: Time, chunk: &[u8]) -> Result<Vec<u8>, OpenError> {
    let mut chunk = chunk.to_vec();
    let content = session.open(now, None, &mut chunk)?;
    Ok(chunk[content].to_vec())
}

fn events(session: &mut Session) -> Vec<ProtectionEvent> {
    core::iter::from_fn(|| session.poll_event()).collect()
}

/// Hands each message over at once until neither end has more; `change` sees each, and its number.
fn talk(now: Time, ends: &mut [Session; 2], mut change: impl FnMut(usize, &mut Vec<u8>)) {
    let mut count = 0;
    loop {
        let before = count;
        for from in [0, 1] {
            while let Some(message) = ends[from].poll_message() {
                let protected = ends[from].seals();
                let mut message = message.to_vec();
                change(count, &mut message);
                count += 1;
                ends[1 - from].handle_message(now, RTO, &message, protected);
            }
        }
        if count == before {
            return;
        }
    }
}

/// Two ends with the same policy that have keys.
fn established(policy: RekeyPolicy) -> [Session; 2] {
    let mut ends = [Role::Client, Role::Server].map(|role| session(role, 0, policy));
    talk(Time::ZERO, &mut ends, |_, _| {});
    for end in &mut ends {
        assert_eq!(events(end), [ProtectionEvent::Established]);
    }
    ends
}

/// What the network does to packets.
#[derive(Clone, Copy)]
struct Network {
    /// Lost and doubled ones, per mille.
    lost: u64,
    doubled: u64,
    /// Up to so many milliseconds, by which packets are late.
    jitter: u64,
}

/// A packet under way.
struct Packet {
    arrival: Time,
    to: usize,
    protected: bool,
    bytes: Vec<u8>,
}

/// Key messages of one end: delivered in order, sent again until they are.
#[derive(Default)]
struct Stream {
    sent: Vec<Bytes>,
    /// So many were delivered.
    delivered: usize,
    sent_at: Option<Time>,
}

/// Two ends, each of which sends data all the time once it may.
struct World {
    now: Time,
    random: u64,
    network: Network,
    ends: [Session; 2],
    streams: [Stream; 2],
    under_way: Vec<Packet>,
    events: [Vec<ProtectionEvent>; 2],
    sent: u64,
    data: [BTreeSet<u64>; 2],
    refused: u64,
    /// All that was opened.
    opened: [Vec<Vec<u8>>; 2],
}

impl World {
    fn new(seed: u64, network: Network, policies: [RekeyPolicy; 2]) -> Self {
        let [client, server] = policies;
        Self {
            now: Time::ZERO,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            network,
            ends: [
                session(Role::Client, seed as u8, client),
                session(Role::Server, seed as u8, server),
            ],
            streams: Default::default(),
            under_way: Vec::new(),
            events: Default::default(),
            sent: 0,
            data: Default::default(),
            refused: 0,
            opened: Default::default(),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// The end has something to say in one packet.
    fn send(&mut self, from: usize, content: &[u8]) {
        let protected = self.ends[from].seals();
        let bytes = if protected {
            seal(&mut self.ends[from], self.now, content).expect("a key")
        } else {
            content.to_vec()
        };
        let copies = 1 + u64::from(self.draw(1000) < self.network.doubled);
        for _ in 0..copies {
            if self.draw(1000) >= self.network.lost {
                let late = self.draw(self.network.jitter + 1);
                let arrival = self.now + Duration::from_millis(10 + late);
                let packet = Packet { arrival, to: 1 - from, protected, bytes: bytes.clone() };
                self.under_way.push(packet);
            }
        }
    }

    fn receive(&mut self, Packet { to, protected, bytes, .. }: Packet) {
        let content = if protected {
            match open(&mut self.ends[to], self.now, &bytes) {
                Ok(content) => {
                    self.opened[to].push(bytes);
                    content
                }
                Err(_) => {
                    self.refused += 1;
                    return;
                }
            }
        } else if self.ends[to].is_enforced() {
            return;
        } else {
            bytes
        };
        let (kind, rest) = content.split_first().unwrap();
        let (number, message) = rest.split_first_chunk().unwrap();
        let number = u64::from_le_bytes(*number);
        if *kind == 0 {
            assert!(protected, "data in plain");
            assert!(self.data[to].insert(number), "{number} came twice");
        } else if number as usize == self.streams[1 - to].delivered {
            self.streams[1 - to].delivered += 1;
            self.streams[1 - to].sent_at = None;
            self.ends[to].handle_message(self.now, RTO, message, protected);
        }
    }

    fn messages(&mut self, end: usize) {
        while let Some(message) = self.ends[end].poll_message() {
            self.streams[end].sent.push(message);
        }
        let stream = &mut self.streams[end];
        let number = stream.delivered;
        if stream.sent_at.is_none_or(|at| self.now >= at + RTO)
            && let Some(message) = stream.sent.get(number).cloned()
        {
            stream.sent_at = Some(self.now);
            self.send(end, &[&[1], &number.to_le_bytes()[..], &message].concat());
        }
    }

    /// One millisecond.
    fn step(&mut self) {
        self.now += Duration::from_millis(1);
        let now = self.now;
        let (due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.under_way).into_iter().partition(|p| p.arrival <= now);
        self.under_way = later;
        due.into_iter().for_each(|packet| self.receive(packet));
        for end in [0, 1] {
            if self.ends[end].next_timeout() <= now {
                self.ends[end].handle_timeout(now, RTO);
            }
            self.messages(end);
            self.events[end].extend(events(&mut self.ends[end]));
            if self.events[end].contains(&ProtectionEvent::Established) {
                self.sent += 1;
                let number = self.sent;
                self.send(end, &[&[0], &number.to_le_bytes()[..]].concat());
            }
        }
    }

    fn run(&mut self, millis: u64) {
        (0..millis).for_each(|_| self.step());
    }

    fn failures(&self) -> Vec<&ProtectionEvent> {
        let failed = |event: &&ProtectionEvent| matches!(event, ProtectionEvent::Failed(_));
        self.events.iter().flatten().filter(failed).collect()
    }
}
