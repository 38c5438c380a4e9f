//! The link against a model that moves bits nanosecond by nanosecond.

use std::collections::VecDeque;

use polypath_link::{Change, Link, LinkConfig, LinkSeed, Nanos, Offer, Queue};
use proptest::prelude::*;

/// One bit is this much work; a rate of r bit/s does r of it per nanosecond.
const WORK_PER_BIT: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
enum Step {
    Offer { packets: u8, size: u32 },
    Change(Change),
}

/// A drop-tail link that is stepped through every nanosecond.
struct Reference {
    now: Nanos,
    rate: u64,
    delay: Nanos,
    limit: usize,
    up: bool,
    current: Option<(u32, u64)>,
    waiting: VecDeque<(u32, u64)>,
    /// Work left over in the last nanosecond, for a packet that comes at its very end.
    credit: u64,
    flying: VecDeque<(Nanos, u32)>,
    delivered: Vec<(Nanos, u32)>,
    busy: Nanos,
}

impl Reference {
    fn new(rate: u64, delay: Nanos, limit: usize) -> Self {
        Self {
            now: 0,
            rate,
            delay,
            limit,
            up: true,
            current: None,
            waiting: VecDeque::new(),
            credit: 0,
            flying: VecDeque::new(),
            delivered: Vec::new(),
            busy: 0,
        }
    }

    fn run_until(&mut self, end: Nanos) {
        while self.now < end {
            self.busy += u64::from(self.current.is_some());
            self.now += 1;
            self.credit = if self.current.is_some() { self.rate } else { 0 };
            self.spend();
            self.deliver();
        }
    }

    fn spend(&mut self) {
        while let Some((id, left)) = self.current {
            if left > self.credit {
                self.current = Some((id, left - self.credit));
                self.credit = 0;
                return;
            }
            self.credit -= left;
            self.current = self.waiting.pop_front();
            let last = self.flying.back().map_or(0, |(at, _)| *at);
            self.flying.push_back(((self.now + self.delay).max(last), id));
        }
    }

    fn deliver(&mut self) {
        let arrived = self.flying.partition_point(|(at, _)| *at <= self.now);
        self.delivered.extend(self.flying.drain(..arrived));
    }

    fn offer(&mut self, id: u32, size: u32) -> bool {
        if !self.up || self.current.is_some() && self.waiting.len() >= self.limit {
            return false;
        }
        self.waiting.push_back((id, u64::from(size) * 8 * WORK_PER_BIT));
        if self.current.is_none() {
            self.current = self.waiting.pop_front();
            self.spend();
        }
        self.deliver();
        true
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Up(up) => {
                self.up = *up;
                if !up {
                    self.current = None;
                    self.waiting.clear();
                    self.flying.clear();
                    self.credit = 0;
                }
            }
            Change::Rate(rate) => {
                self.rate = rate.expect("the model has a rate");
                self.credit = 0;
            }
            Change::Delay(delay) => self.delay = *delay,
            Change::Loss(_) => {}
        }
    }
}

fn drain(link: &mut Link<u32>, until: Nanos, delivered: &mut Vec<(Nanos, u32)>) {
    while let Some(at) = link.next_delivery().filter(|at| *at <= until) {
        while let Some(id) = link.poll_arrival(at) {
            delivered.push((at, id));
        }
    }
}

fn apply(link: &mut Link<u32>, now: Nanos, change: &Change) {
    match change {
        Change::Up(up) => link.set_up(now, *up),
        Change::Rate(rate) => link.set_rate(now, *rate),
        Change::Delay(delay) => link.set_delay(now, *delay),
        Change::Loss(models) => link.set_loss(now, models.clone()),
    }
}

fn step() -> impl Strategy<Value = (Nanos, Step)> {
    let rate = (1u64..20_000_000_000).prop_map(|rate| Step::Change(Change::Rate(Some(rate))));
    let step = prop_oneof![
        6 => (1u8..5, 0u32..60).prop_map(|(packets, size)| Step::Offer { packets, size }),
        2 => rate,
        1 => (0u64..200).prop_map(|delay| Step::Change(Change::Delay(delay))),
        1 => any::<bool>().prop_map(|up| Step::Change(Change::Up(up))),
    ];
    (1u64..60, step)
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn it_moves_packets_as_if_bit_by_bit(
        rate in 1u64..20_000_000_000,
        delay in 0u64..200,
        limit in 0u32..8,
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let queue = Queue::DropTailPackets(limit);
        let config = LinkConfig { rate: Some(rate), delay, queue, ..LinkConfig::default() };
        let mut link = Link::new(config, LinkSeed::new(0, 0));
        let mut model = Reference::new(rate, delay, limit as usize);
        let (mut delivered, mut id) = (Vec::new(), 0);
        for (gap, step) in steps {
            let now = model.now + gap;
            model.run_until(now);
            drain(&mut link, now, &mut delivered);
            match step {
                Step::Offer { packets, size } => for _ in 0..packets {
                    let accepted = link.offer_packet(now, size, id) == Offer::Accepted;
                    prop_assert_eq!(accepted, model.offer(id, size), "packet {} at {}", id, now);
                    id += 1;
                },
                Step::Change(change) => {
                    apply(&mut link, now, &change);
                    model.change(&change);
                }
            }
            drain(&mut link, now, &mut delivered);
            prop_assert_eq!(link.queue_len(now).packets, model.waiting.len() as u64, "at {}", now);
            prop_assert_eq!(&delivered, &model.delivered, "at {}", now);
            prop_assert_eq!(link.busy_time(now), model.busy, "at {}", now);
        }
    }

    #[test]
    fn scheduled_changes_act_at_their_times_however_late_the_link_is_used(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut now = 0;
        let timed = steps.into_iter().map(|(gap, step)| {
            now += gap;
            (now, step)
        });
        let timed: Vec<_> = timed.collect();
        let schedule = timed.iter().filter_map(|(at, step)| match step {
            Step::Change(change) => Some((*at, change.clone())),
            Step::Offer { .. } => None,
        });
        let rate = 3_000_000_000;
        let schedule = schedule.collect();
        let config =
            LinkConfig { rate: Some(rate), delay: 50, schedule, ..LinkConfig::default() };
        let mut link = Link::new(config, LinkSeed::new(0, 0));
        let mut model = Reference::new(rate, 50, usize::MAX);
        let mut id = 0;
        for (now, step) in timed {
            model.run_until(now);
            match step {
                Step::Offer { packets, size } => for _ in 0..packets {
                    let accepted = link.offer_packet(now, size, id) == Offer::Accepted;
                    prop_assert_eq!(accepted, model.offer(id, size));
                    id += 1;
                },
                Step::Change(change) => model.change(&change),
            }
        }
        let end = model.now + 5_000;
        model.run_until(end);
        let arrived: Vec<_> = std::iter::from_fn(|| link.poll_arrival(end)).collect();
        let expected: Vec<_> = model.delivered.iter().map(|(_, id)| *id).collect();
        prop_assert_eq!(arrived, expected);
    }
}
