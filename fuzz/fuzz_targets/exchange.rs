//! Key exchanges whose messages are changed, cut, doubled, late and in any order, and bytes from nowhere: no panic, no end to
//! what is said, and two ends that have keys have the same, with the peer that they think. By TLS without an association; and by
//! TLS and the stand-in with everything around it that an association has.

#![no_main]

use std::sync::OnceLock;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use polypath_proto::PathId;
use polypath_proto::protection::{
    Agreed, HEADROOM, KeyManagement, Protection, ProtectionEvent, Role,
};
use polypath_proto::time::{Duration, Time};
use polypath_secure::{BareExchange, BareKeys, Identity, RekeyPolicy, StandIn, Tls, Trust};

#[derive(Arbitrary, Debug)]
enum Input {
    Bare { steps: Vec<Step> },
    Session { stand_in: bool, rekey_each: u8, steps: Vec<Step> },
}

#[derive(Arbitrary, Debug)]
enum Step {
    /// What the ends have to say arrives as it is, for one round.
    Talk,
    /// The next message of an end is taken off the wire and kept.
    Keep {
        from: bool,
    },
    /// A message that was kept arrives, perhaps changed; also at the end that said it.
    Deliver {
        to: bool,
        which: u8,
        change: Option<Change>,
        protected: bool,
    },
    /// Bytes from nowhere: as they are, or as the content of a record.
    Raw {
        to: bool,
        bytes: Vec<u8>,
        framed: Option<u8>,
        protected: bool,
    },
    /// Packets of an end arrive at the other.
    Carry {
        from: bool,
        count: u8,
    },
    Wait {
        ms: u16,
    },
}

#[derive(Arbitrary, Debug)]
struct Change {
    at: u16,
    xor: u8,
    cut: u16,
    doubled: bool,
}

/// Most messages of an end that are waiting to be sent after a step.
const MOST_MESSAGES: usize = 8;

fuzz_target!(|input: Input| match &input {
    Input::Bare { steps } => bare(steps),
    Input::Session { stand_in, rekey_each, steps } => session(*stand_in, *rekey_each, steps),
});

/// Of a client and a server, made once.
fn ends() -> &'static [(Identity, Tls); 2] {
    static ENDS: OnceLock<[(Identity, Tls); 2]> = OnceLock::new();
    ENDS.get_or_init(|| {
        [(), ()].map(|()| {
            let identity = Identity::generate().expect("random numbers");
            let tls = Tls::new(&identity, Trust::anyone());
            (identity, tls)
        })
    })
}

fn changed(message: &[u8], change: Option<&Change>) -> Vec<u8> {
    let mut message = message.to_vec();
    let Some(change) = change else { return message };
    let at = usize::from(change.at) % message.len().max(1);
    if let Some(byte) = message.get_mut(at) {
        *byte ^= change.xor;
    }
    message.truncate(message.len().saturating_sub(usize::from(change.cut) % 600));
    if change.doubled {
        message.extend_from_within(..);
    }
    message
}

fn raw(bytes: &[u8], framed: Option<u8>, in_front: &[u8]) -> Vec<u8> {
    let Some(kind) = framed else { return bytes.to_vec() };
    let [high, low] = (bytes.len() as u16).to_be_bytes();
    [in_front, &[20 + kind % 4, 3, 3, high, low], bytes].concat()
}

fn bare(steps: &[Step]) {
    const PARAMETERS: &[u8] =
        &[0x80, 6, 0, 10, 1, 2, 3, 4, 0, 192, 0x80, 6, 0, 10, 9, 8, 7, 6, 0, 192];
    let tls = ends();
    let mut pair = [
        tls[0].1.bare_exchange(Role::Client, PARAMETERS, None),
        tls[1].1.bare_exchange(Role::Server, PARAMETERS, None),
    ];
    // One of other ends, too: what was kept may come from another exchange.
    let mut kept: Vec<Vec<u8>> =
        tls[0].1.bare_exchange(Role::Client, PARAMETERS, None).poll().into_iter().collect();
    let mut keys = [None, None];
    for step in steps.iter().take(40) {
        match step {
            Step::Talk => {
                for from in [0, 1] {
                    while let Some(flight) = pair[from].poll() {
                        take(&mut pair[1 - from], &flight);
                        kept.push(flight);
                    }
                }
            }
            Step::Keep { from } => kept.extend(pair[usize::from(*from)].poll()),
            Step::Deliver { to, which, change, .. } => {
                let which = usize::from(*which) % kept.len().max(1);
                let Some(flight) = kept.get(which) else { continue };
                take(&mut pair[usize::from(*to)], &changed(flight, change.as_ref()));
            }
            Step::Raw { to, bytes, framed, .. } => {
                take(&mut pair[usize::from(*to)], &raw(bytes, *framed, &[]));
            }
            Step::Carry { .. } | Step::Wait { .. } => {}
        }
        for (end, keys) in pair.iter_mut().zip(&mut keys) {
            let given = end.keys();
            assert!(keys.is_none() || given.is_none(), "given once");
            *keys = keys.take().or(given);
        }
    }
    // What both said last may still be on its way, so one end may have keys and the other none.
    if let [Some(client), Some(server)] = &keys {
        let [client, server]: [&BareKeys; 2] = [client, server];
        assert_eq!(client, server);
        assert_eq!(pair[0].peer(), Some(tls[1].0.public().spki()));
        assert_eq!(pair[1].peer(), Some(tls[0].0.public().spki()));
    }
}

/// An end that has failed once fails for ever.
fn take(end: &mut BareExchange, records: &[u8]) {
    if let Err(failure) = end.handle(records) {
        assert_eq!(end.handle(records), Err(failure));
        assert_eq!(end.keys(), None);
    }
}

fn session(stand_in: bool, rekey_each: u8, steps: &[Step]) {
    let policy = RekeyPolicy { packets: u64::from(rekey_each) + 1, ..RekeyPolicy::default() };
    let ends = [Role::Client, Role::Server].map(|role| {
        let tls = ends()[usize::from(role == Role::Server)].1.clone().rekey(policy);
        let keys = if stand_in {
            StandIn::new(policy).protect(Time::ZERO, &agreed(role))
        } else {
            tls.protect(Time::ZERO, &agreed(role))
        };
        End { keys, established: 0, failed: 0, was_enforced: false, sealed: false }
    });
    let mut world = World { now: Time::ZERO, ends, kept: Vec::new(), honest: true, tls: !stand_in };
    for step in steps.iter().take(80) {
        world.step(step);
        world.check();
    }
    if world.honest {
        world.must_carry();
    }
}

fn agreed(role: Role) -> Agreed {
    Agreed {
        method: 192,
        role,
        parameters: [
            vec![0x80, 6, 0, 10, 1, 2, 3, 4, 0, 192],
            vec![0x80, 6, 0, 10, 4, 3, 2, 1, 0, 192],
        ],
        session: [7; 16],
        seed: [if role == Role::Client { 3 } else { 5 }; 32],
    }
}

struct End {
    keys: Box<dyn Protection>,
    established: u32,
    failed: u32,
    was_enforced: bool,
    sealed: bool,
}

struct World {
    now: Time,
    ends: [End; 2],
    kept: Vec<Vec<u8>>,
    /// Nothing was changed, lost or moved.
    honest: bool,
    tls: bool,
}

const RTO: Duration = Duration::from_secs(1);

impl World {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Talk => self.talk(),
            Step::Keep { from } => {
                if let Some(message) = self.ends[usize::from(*from)].keys.poll_message() {
                    self.kept.push(message.to_vec());
                    self.honest = false;
                }
            }
            Step::Deliver { to, which, change, protected } => {
                let which = usize::from(*which) % self.kept.len().max(1);
                let Some(message) = self.kept.get(which) else { return };
                let message = changed(message, change.as_ref());
                self.slip_in(*to, &message, *protected);
            }
            Step::Raw { to, bytes, framed, protected } => {
                self.slip_in(*to, &raw(bytes, *framed, &[3]), *protected);
            }
            Step::Carry { from, count } => {
                (0..*count % 32).for_each(|_| drop(self.carry(usize::from(*from))));
            }
            Step::Wait { ms } => {
                self.now += Duration::from_millis((*ms).into());
                for end in &mut self.ends {
                    if end.keys.next_timeout() <= self.now {
                        end.keys.handle_timeout(self.now, RTO);
                    }
                }
                // A first exchange may take so long, and no longer.
                self.honest &= self.now < Time::from_secs(15);
            }
        }
    }

    /// One round of messages.
    fn talk(&mut self) {
        for from in [0, 1] {
            let mut count = 0;
            while let Some(message) = self.ends[from].keys.poll_message() {
                count += 1;
                assert!(count <= 16 * MOST_MESSAGES, "it never stops talking");
                let protected = self.ends[from].keys.seals();
                self.ends[1 - from].keys.handle_message(self.now, RTO, &message, protected);
                self.kept.push(message.to_vec());
            }
        }
    }

    /// A message that nobody sent now. Once protection is enforced those in plain change nothing.
    fn slip_in(&mut self, to: bool, message: &[u8], protected: bool) {
        let end = &mut self.ends[usize::from(to)].keys;
        if !protected && end.is_enforced() {
            let before = format!("{end:?}");
            end.handle_message(self.now, RTO, message, false);
            assert_eq!(before, format!("{end:?}"));
        } else {
            self.honest = false;
            end.handle_message(self.now, RTO, message, protected);
        }
    }

    /// One packet; whether it opened, if it could be sealed.
    fn carry(&mut self, from: usize) -> Option<bool> {
        let mut packet = vec![0xee; HEADROOM];
        packet.extend_from_slice(b"some chunks");
        if !self.ends[from].keys.seal(self.now, &mut packet, 0) {
            return None;
        }
        self.ends[from].sealed = true;
        packet.truncate(usize::from(u16::from_be_bytes([packet[2], packet[3]])));
        let result = self.ends[1 - from].keys.open(self.now, Some(PathId(0)), &mut packet);
        if let Ok(content) = result.clone() {
            assert_eq!(&packet[content], b"some chunks");
        }
        Some(result.is_ok())
    }

    fn check(&mut self) {
        for (n, end) in self.ends.iter_mut().enumerate() {
            while let Some(event) = end.keys.poll_event() {
                match event {
                    ProtectionEvent::Established => end.established += 1,
                    ProtectionEvent::Rekeyed { epoch } => assert_eq!(epoch, end.keys.stats().epoch),
                    ProtectionEvent::Failed(_) => end.failed += 1,
                }
            }
            assert!(end.established <= 1 && end.failed <= 1, "told once");
            assert!(
                end.keys.is_enforced() || !end.was_enforced,
                "enforced once, enforced for ever"
            );
            assert!(end.keys.is_enforced() || !end.sealed, "who seals lets nothing else in");
            end.was_enforced = end.keys.is_enforced();
            if self.tls && end.established > 0 {
                assert_eq!(end.keys.peer(), Some(ends()[1 - n].0.public().spki()));
            }
        }
        // Two ends that have keys of one epoch have the same, whatever came in between.
        let [client, server] =
            self.ends.each_ref().map(|end| (end.established, end.failed, end.keys.stats()));
        if (client.0, client.1, server.0, server.1) == (1, 0, 1, 0)
            && client.2.epoch == server.2.epoch
            && self.tls
        {
            for from in [0, 1] {
                assert_eq!(self.carry(from), Some(true));
            }
        }
    }

    /// Among ends that mean well it ends well.
    fn must_carry(&mut self) {
        for _ in 0..10 {
            self.talk();
            self.check();
        }
        assert!(self.ends.iter().all(|end| (end.established, end.failed) == (1, 0)));
        assert_eq!([0, 1].map(|from| self.carry(from)), [Some(true); 2]);
    }
}
