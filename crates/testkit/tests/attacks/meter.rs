//! What an attack costs its victim: memory, work, and packets sent in reply.

use polypath_proto::endpoint::IcmpReport;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{Endpoint, FourTuple};
use polypath_testkit::packet::render_packet;
use polypath_testkit::scripted_peer::victim_tuple;

use crate::counting::{calls, forget_peak, held, peak};

/// A packet that the victim sent, and where to.
pub(crate) type Sent = (FourTuple, Vec<u8>);

/// What was spent so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// Packets of the attacker.
    pub(crate) packets_in: u64,
    /// Their bytes, IP headers included.
    pub(crate) bytes_in: u64,
    /// Packets of the victim.
    pub(crate) packets_out: u64,
    /// Their bytes, IP headers included.
    pub(crate) bytes_out: u64,
    /// The most memory that the victim held beyond what it held before, bytes.
    pub(crate) memory: i64,
    /// Times that the victim asked for memory or was woken by a timer: what stands for its work.
    pub(crate) work: u64,
}

/// What an attack may cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Packets of the victim.
    pub(crate) packets_out: u64,
    /// Bytes of the victim.
    pub(crate) bytes_out: u64,
    /// Memory, bytes.
    pub(crate) memory: i64,
    /// Allocations and timeouts per packet of the attacker.
    pub(crate) work_per_packet: u64,
}

/// Nothing is sent and nothing remembered.
pub(crate) const SILENCE: Bound =
    Bound { packets_out: 0, bytes_out: 0, memory: 1 << 10, work_per_packet: 2 };

/// Stands between attacker and victim, and counts.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) cost: Cost,
    /// What the victim holds beyond what it held at the beginning.
    own: i64,
    buf: Vec<u8>,
}

/// An IP header of the family of the packet's addresses, bytes.
fn ip_header(tuple: FourTuple) -> u64 {
    if tuple.remote.is_ipv4() { 20 } else { 40 }
}

impl Meter {
    pub(crate) fn new() -> Self {
        Self { cost: Cost::default(), own: 0, buf: Vec::with_capacity(1 << 16) }
    }

    /// A packet for the victim from the peer's first address; what it answers.
    pub(crate) fn hit(&mut self, victim: &mut Endpoint, now: Time, packet: &[u8]) -> Vec<Sent> {
        self.hit_from(victim, now, victim_tuple(), packet)
    }

    /// The same from anywhere.
    pub(crate) fn hit_from(
        &mut self,
        victim: &mut Endpoint,
        now: Time,
        tuple: FourTuple,
        packet: &[u8],
    ) -> Vec<Sent> {
        self.cost.packets_in += 1;
        self.cost.bytes_in += packet.len() as u64 + ip_header(tuple);
        self.watch(|_| {
            victim.handle_datagram(now, tuple, packet);
            while victim.poll_event().is_some() {}
        });
        self.drain(victim, now)
    }

    /// The answer of another victim reaches this one, and is none of the attacker's packets; what
    /// it answers.
    pub(crate) fn pass_on(
        &mut self,
        victim: &mut Endpoint,
        now: Time,
        tuple: FourTuple,
        packet: &[u8],
    ) -> Vec<Sent> {
        let attacker = (self.cost.packets_in, self.cost.bytes_in);
        let sent = self.hit_from(victim, now, tuple, packet);
        (self.cost.packets_in, self.cost.bytes_in) = attacker;
        sent
    }

    /// What a router says of a packet that went along `tuple`; whether the victim takes it as said.
    pub(crate) fn tell(
        &mut self,
        victim: &mut Endpoint,
        now: Time,
        tuple: FourTuple,
        quoted: &[u8],
        report: IcmpReport,
    ) -> bool {
        self.cost.packets_in += 1;
        // An ICMP header beside what is quoted, with its IP header.
        self.cost.bytes_in += quoted.len() as u64 + 2 * ip_header(tuple) + 8;
        let taken = self.watch(|_| {
            let taken = victim.handle_icmp(now, tuple, quoted, report);
            while victim.poll_event().is_some() {}
            taken
        });
        self.drain(victim, now);
        taken
    }

    /// Lets time pass; what the victim sends of its own accord.
    pub(crate) fn advance(
        &mut self,
        victim: &mut Endpoint,
        now: &mut Time,
        time: Duration,
    ) -> Vec<Sent> {
        let limit = *now + time;
        let mut sent = Vec::new();
        while let Some(at) = victim.poll_timeout().filter(|at| *at <= limit) {
            *now = at.max(*now);
            self.cost.work += 1;
            assert!(self.cost.work < 10_000_000, "a timer at {at} does not go away");
            self.watch(|_| {
                victim.handle_timeout(*now);
                while victim.poll_event().is_some() {}
            });
            sent.extend(self.drain(victim, *now));
        }
        *now = limit;
        sent
    }

    /// Everything that the victim has to send now.
    pub(crate) fn drain(&mut self, victim: &mut Endpoint, now: Time) -> Vec<Sent> {
        let mut sent = Vec::new();
        loop {
            let transmit = self.watch(|buf| {
                buf.clear();
                victim.poll_transmit(now, buf)
            });
            let Some(transmit) = transmit else { return sent };
            self.cost.packets_out += 1;
            self.cost.bytes_out += self.buf.len() as u64 + ip_header(transmit.tuple);
            sent.push((transmit.tuple, self.buf.clone()));
        }
    }

    /// Counts what is the victim's own.
    fn watch<T>(&mut self, act: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let (before, calls_before) = (held(), calls());
        forget_peak();
        let result = act(&mut self.buf);
        self.cost.memory = self.cost.memory.max(self.own + peak() - before);
        self.own += held() - before;
        self.cost.work += calls() - calls_before;
        result
    }

    /// Forgets what was spent so far: what follows is measured from here.
    pub(crate) fn begin(&mut self) {
        (self.cost, self.own) = (Cost::default(), 0);
    }

    /// Checks the bound and prints the row for docs/compliance/security.md.
    pub(crate) fn settle(&self, number: u32, name: &str, bound: Bound) {
        let Cost { packets_in, bytes_in, packets_out, bytes_out, memory, work } = self.cost;
        let allowed_work = bound.work_per_packet * packets_in.max(1);
        println!(
            "| {number} | {name} | {packets_in} / {bytes_in} | {packets_out} / {bytes_out} | {} / {} | {memory} | {} | {work} | {allowed_work} |",
            bound.packets_out, bound.bytes_out, bound.memory
        );
        assert!(packets_out <= bound.packets_out, "{number} {name}: {packets_out} packets sent");
        assert!(bytes_out <= bound.bytes_out, "{number} {name}: {bytes_out} bytes sent");
        assert!(memory <= bound.memory, "{number} {name}: {memory} bytes held");
        assert!(work <= allowed_work, "{number} {name}: {work} allocations and timeouts");
    }
}

/// The packets in lines, for people.
pub(crate) fn tell(sent: &[Sent]) -> String {
    sent.iter().map(|(tuple, packet)| format!("{tuple}: {}\n", render_packet(packet))).collect()
}

/// The packets without their addresses.
pub(crate) fn packets(sent: &[Sent]) -> Vec<Vec<u8>> {
    sent.iter().map(|(_, packet)| packet.clone()).collect()
}
