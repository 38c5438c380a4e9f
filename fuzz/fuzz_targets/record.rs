//! Records of any bytes, and what was sealed, changed, cut, doubled and out of order: what opens is what was sealed, each once,
//! and what does not open leaves no trace. Keys that never change, and keys that each few packets replace.

#![no_main]

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polypath_proto::PathId;
use polypath_proto::protection::{Agreed, FIRST_EPOCH, HEADROOM, KeyManagement, Protection, Role};
use polypath_proto::time::{Duration, Time};
use polypath_secure::{FixedKeys, PreShared, RecordKeys, RekeyPolicy, Suite};

#[derive(Arbitrary, Debug)]
struct Input {
    suite: u8,
    /// Packets of an epoch; `None`: keys never change.
    rekey_each: Option<u8>,
    steps: Vec<Step>,
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// Bytes from nowhere.
    Raw {
        path: u8,
        chunk: Vec<u8>,
    },
    /// One more is sealed.
    Seal {
        len: u16,
    },
    /// So many are sealed that never arrive.
    Lose {
        count: u8,
    },
    /// One of those that were sealed arrives.
    Deliver {
        path: u8,
        which: u8,
    },
    /// The same, with something else in it.
    Change {
        path: u8,
        which: u8,
        at: u16,
        xor: u8,
        cut: u8,
        more: u8,
    },
    Wait {
        ms: u16,
    },
    ForgetPath {
        path: u8,
    },
}

fuzz_target!(|input: Input| {
    let mut world = World::new(&input);
    for step in input.steps.iter().take(300) {
        world.step(step);
    }
});

struct World {
    now: Time,
    sender: Box<dyn Protection>,
    receiver: Box<dyn Protection>,
    sealed: Vec<Vec<u8>>,
    opened: BTreeSet<u32>,
    /// Packets that never arrive.
    lost: u32,
    /// Whether each packet that comes for the first time must open: one epoch, and small gaps.
    simple: bool,
}

impl World {
    fn new(input: &Input) -> Self {
        let suite = [Suite::Aes128Gcm, Suite::ChaCha20Poly1305, Suite::Aes256Gcm]
            [usize::from(input.suite) % 3];
        let [sender, receiver] = match input.rekey_each {
            None => [(), ()].map(|()| fixed(suite)),
            Some(each) => [Role::Client, Role::Server].map(|role| pre_shared(suite, each, role)),
        };
        let (now, simple) = (Time::ZERO, input.rekey_each.is_none());
        Self { now, sender, receiver, sealed: Vec::new(), opened: BTreeSet::new(), lost: 0, simple }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Raw { path, chunk } => {
                assert_eq!(self.open(*path, chunk), None, "nobody sealed that");
            }
            Step::Seal { len } => {
                let chunk = self.seal(usize::from(*len) % 1500);
                self.sealed.push(chunk);
            }
            Step::Lose { count } => {
                (0..*count).for_each(|_| drop(self.seal(0)));
                self.lost += u32::from(*count);
                // What came before so many may be too old to tell; the smallest window has 4096.
                self.simple &= self.lost < 3000;
            }
            Step::Deliver { path, which } => {
                let Some((number, chunk)) = self.pick(*which) else { return };
                let fresh = !self.opened.contains(&number);
                let opened = self.open(*path, &chunk);
                assert!(opened.is_none_or(|opened| opened == number));
                assert!(!self.simple || opened.is_some() == fresh, "{number}: {opened:?}");
            }
            Step::Change { path, which, at, xor, cut, more } => {
                let Some((number, mut chunk)) = self.pick(*which) else { return };
                chunk.truncate(chunk.len().saturating_sub((*cut).into()));
                chunk.resize(chunk.len() + usize::from(*more % 8), 0);
                let at = usize::from(*at) % chunk.len().max(1);
                if let Some(byte) = chunk.get_mut(at) {
                    *byte ^= xor;
                }
                // The chunk's other flags, and the byte before the record, are not authenticated and say nothing.
                let opened = self.open(*path, &chunk);
                assert!(opened.is_none_or(|opened| opened == number && matches!(at, 1 | 4)
                    || self.sealed.contains(&chunk)));
            }
            Step::Wait { ms } => {
                self.now += Duration::from_millis((*ms).into());
                for end in [&mut self.sender, &mut self.receiver] {
                    if end.next_timeout() <= self.now {
                        end.handle_timeout(self.now, Duration::from_secs(1));
                    }
                    while end.poll_event().is_some() {}
                }
            }
            Step::ForgetPath { path } => self.receiver.forget_path(PathId(*path)),
        }
    }

    fn pick(&self, which: u8) -> Option<(u32, Vec<u8>)> {
        let number = usize::from(which) % self.sealed.len().max(1);
        self.sealed.get(number).map(|chunk| (number as u32, chunk.clone()))
    }

    /// The chunk of a packet with its number among [`Self::sealed`] in it.
    fn seal(&mut self, filling: usize) -> Vec<u8> {
        let mut packet = vec![0xee; HEADROOM];
        packet.extend_from_slice(&(self.sealed.len() as u32).to_be_bytes());
        packet.resize(packet.len() + filling, 0x5a);
        assert!(self.sender.seal(self.now, &mut packet, 0));
        packet.truncate(usize::from(u16::from_be_bytes([packet[2], packet[3]])));
        packet
    }

    /// The number of the packet that opened.
    fn open(&mut self, path: u8, chunk: &[u8]) -> Option<u32> {
        let mut chunk = chunk.to_vec();
        let before = self.receiver.stats();
        let path = (path < 8).then_some(PathId(path));
        let result = self.receiver.open(self.now, path, &mut chunk);
        let after = self.receiver.stats();
        let counted = |s: polypath_proto::protection::ProtectionStats| {
            s.opened + s.forged + s.replayed + s.unopenable
        };
        assert_eq!(counted(after), counted(before) + 1);
        let content = &chunk[result.ok()?];
        let number = u32::from_be_bytes(content[..4].try_into().expect("it has a number"));
        assert!(content[4..].iter().all(|byte| *byte == 0x5a), "what was sealed");
        assert!(self.opened.insert(number), "{number} opened twice");
        Some(number)
    }
}

fn fixed(suite: Suite) -> Box<dyn Protection> {
    let key = vec![7; if suite == Suite::Aes128Gcm { 16 } else { 32 }];
    let keys = || RecordKeys { key: &key, number_key: &key, iv: [9; 12] };
    Box::new(FixedKeys::new(Time::ZERO, suite, FIRST_EPOCH, keys(), keys()).expect("of the length"))
}

fn pre_shared(suite: Suite, each: u8, role: Role) -> Box<dyn Protection> {
    let policy = RekeyPolicy { packets: u64::from(each) + 1, ..RekeyPolicy::default() };
    let agreed = Agreed {
        method: 0,
        role,
        parameters: [
            vec![0x80, 6, 0, 10, 1, 2, 3, 4, 0, 0],
            vec![0x80, 6, 0, 10, 4, 3, 2, 1, 0, 0],
        ],
        session: [7; 16],
        seed: [7; 32],
    };
    PreShared::new([3; 32]).with_cipher(suite).with_policy(policy).protect(Time::ZERO, &agreed)
}
