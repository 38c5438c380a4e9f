//! What arrived, beside what was sent.

use crate::message::Plan;

/// Keeps book of messages 0 to `count` - 1 of a plan.
#[derive(Debug)]
pub struct Ledger {
    plan: Plan,
    count: u64,
    unordered: bool,
    /// Messages may be left out, but not overtake each other.
    skips: bool,
    received: u64,
    bytes: u64,
    faults: u64,
    first_fault: String,
    /// By stream: the number due.
    next: Vec<u32>,
    /// By message.
    seen: Vec<bool>,
}

impl Ledger {
    /// An empty one.
    pub fn new(plan: Plan, count: u64, unordered: bool, skips: bool) -> Self {
        let next = vec![0; usize::from(plan.streams)];
        let seen = vec![false; count as usize];
        Self {
            plan,
            count,
            unordered,
            skips,
            received: 0,
            bytes: 0,
            faults: 0,
            first_fault: String::new(),
            next,
            seen,
        }
    }

    /// Begins anew, as the peer did; faults stay.
    pub fn reset(&mut self) {
        self.received = 0;
        self.next.fill(0);
        self.seen.fill(false);
    }

    /// Enters a message: number `number` of `stream`.
    pub fn enter_message(&mut self, stream: u16, number: u32, data: &[u8]) {
        self.bytes += data.len() as u64;
        let k = u64::from(number) * u64::from(self.plan.streams) + u64::from(stream);
        let at = format!("stream {stream} number {number}");
        if stream >= self.plan.streams || k >= self.count {
            return self.note_fault(format!("{at}: never sent"));
        }
        if std::mem::replace(&mut self.seen[k as usize], true) {
            return self.note_fault(format!("{at}: delivered twice"));
        }
        self.received += 1;
        let due = std::mem::replace(&mut self.next[usize::from(stream)], number + 1);
        let wrong = if self.skips { number < due } else { number != due };
        if !self.unordered && wrong {
            self.note_fault(format!("{at}: number {due} was due"));
        }
        if data.len() != self.plan.length(k) as usize {
            return self.note_fault(format!(
                "{at}: {} bytes, sent were {}",
                data.len(),
                self.plan.length(k)
            ));
        }
        if self.plan.content(k) != data {
            self.note_fault(format!("{at}: other content than was sent"));
        }
    }

    /// Notes that something is wrong.
    pub fn note_fault(&mut self, what: String) {
        self.faults += 1;
        if self.faults == 1 {
            self.first_fault = what;
        }
    }

    /// Whether messages are to be checked at all.
    pub const fn checks_messages(&self) -> bool {
        self.count > 0
    }

    /// Whether all arrived.
    pub const fn is_complete(&self) -> bool {
        self.received == self.count
    }

    /// Messages that arrived since the last reset.
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// Payload bytes that arrived.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many faults there were, and the first.
    pub fn faults(&self) -> (u64, &str) {
        (self.faults, &self.first_fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan { seed: 7, streams: 2, sizes: "1-3000".parse().unwrap() }
    }

    fn enter(ledger: &mut Ledger, k: u64) {
        let (stream, number) = plan().place(k);
        ledger.enter_message(stream, number, &plan().content(k));
    }

    fn first_fault(count: u64, unordered: bool, act: impl FnOnce(&mut Ledger)) -> String {
        let mut ledger = Ledger::new(plan(), count, unordered, false);
        act(&mut ledger);
        ledger.faults().1.to_owned()
    }

    #[test]
    fn all_in_order_is_complete_and_streams_are_independent() {
        let mut ledger = Ledger::new(plan(), 4, false, false);
        for k in [1, 0, 2, 3] {
            assert!(!ledger.is_complete());
            enter(&mut ledger, k);
        }
        assert!(ledger.is_complete());
        assert_eq!(ledger.faults(), (0, ""));
    }

    #[test]
    fn messages_may_be_left_out_where_that_is_allowed_but_not_overtake() {
        let mut ledger = Ledger::new(plan(), 6, false, true);
        enter(&mut ledger, 0);
        enter(&mut ledger, 4);
        assert_eq!(ledger.faults(), (0, ""));
        enter(&mut ledger, 2);
        assert_eq!(ledger.faults(), (1, "stream 0 number 1: number 3 was due"));
    }

    #[test]
    fn every_fault_is_noticed() {
        let twice = |l: &mut Ledger| [0, 0].into_iter().for_each(|k| enter(l, k));
        assert_eq!(first_fault(4, true, twice), "stream 0 number 0: delivered twice");
        assert_eq!(first_fault(4, false, |l| enter(l, 2)), "stream 0 number 1: number 0 was due");
        assert_eq!(first_fault(4, true, |l| enter(l, 2)), "");
        assert_eq!(first_fault(2, false, |l| enter(l, 2)), "stream 0 number 1: never sent");
        let changed = |l: &mut Ledger| {
            let mut data = plan().content(0).to_vec();
            data[0] ^= 1;
            l.enter_message(0, 0, &data);
        };
        assert_eq!(
            first_fault(4, false, changed),
            "stream 0 number 0: other content than was sent"
        );
        let cut = |l: &mut Ledger| l.enter_message(0, 0, &[]);
        assert!(first_fault(4, false, cut).starts_with("stream 0 number 0: 0 bytes, sent were"));
    }
}
