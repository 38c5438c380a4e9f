//! Schedules that repeat: what a run with a given seed makes of them.

use std::collections::BTreeMap;

use polypath_link::{Change, Nanos};
use polypath_proto::rng::Rng;

use crate::check::SpecError;
use crate::random::named_rng;
use crate::spec::{RepeatSpec, States, Uniform, WorldSpec};

/// Changes of one repeating schedule, at most: beyond it a period was mistyped.
const MAX_CHANGES: u64 = 1_000_000;

impl WorldSpec {
    /// All changes of the link named `link` in a run with this seed, in order of time: those of its
    /// own schedule and what the repeating schedules draw, up to the end of the run. At equal times
    /// the link's own come last.
    #[must_use]
    pub fn link_schedule(&self, link: &str, seed: u64) -> Vec<(Nanos, Change)> {
        let mut all = self.drawn_changes(seed).remove(link).unwrap_or_default();
        let own = self.topology.links.iter().filter(|l| l.name == link);
        all.extend(own.flat_map(|l| l.config.schedule.iter().cloned()));
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// What the repeating schedules change, by link, in order of time.
    pub(crate) fn drawn_changes(&self, seed: u64) -> BTreeMap<String, Vec<(Nanos, Change)>> {
        let end = self.time.settle.saturating_add(self.time.measure);
        let mut drawn: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for repeat in &self.repeats {
            let changes = repeat.drawn_until(seed, end);
            for link in &repeat.links {
                drawn.entry(link.clone()).or_default().extend(changes.iter().cloned());
            }
        }
        drawn.values_mut().for_each(|changes| changes.sort_by_key(|(at, _)| *at));
        drawn
    }
}

impl RepeatSpec {
    /// The changes up to `end`.
    fn drawn_until(&self, seed: u64, end: Nanos) -> Vec<(Nanos, Change)> {
        let mut rng = named_rng(seed, &format!("repeat.{}", self.name));
        let end = self.until.unwrap_or(Nanos::MAX).min(end);
        let times = (0..).map_while(|n: u64| self.start.checked_add(n.checked_mul(self.period)?));
        let times = times.take_while(|&at| at < end).zip(0usize..);
        times.filter_map(|(at, n)| Some((at, self.states.nth_state(n, &mut rng)?))).collect()
    }

    pub(crate) fn check(&self, end: Nanos) -> Result<(), SpecError> {
        let error = |value: String, allowed| {
            let field = format!("repeat {}", self.name);
            Err(SpecError::Range { field, value, allowed })
        };
        if self.period == 0 {
            return error("0 ns".into(), "a period of at least 1 ns");
        }
        if end.saturating_sub(self.start) / self.period > MAX_CHANGES {
            return error(format!("{} ns", self.period), "at most a million changes in a run");
        }
        if !self.states.is_sound() {
            return error(format!("{:?}", self.states), "at least one state, a range in order");
        }
        Ok(())
    }
}

impl States {
    fn nth_state(&self, n: usize, rng: &mut Rng) -> Option<Change> {
        match self {
            Self::InTurn(list) => list.get(n % list.len().max(1)).cloned(),
            Self::Uniform(uniform) => Some(uniform.draw(rng)),
        }
    }

    fn is_sound(&self) -> bool {
        match self {
            Self::InTurn(list) => !list.is_empty(),
            Self::Uniform(Uniform::Rate(from, to)) => *from > 0 && from <= to,
            Self::Uniform(Uniform::Delay(from, to)) => from <= to,
            Self::Uniform(Uniform::Loss(from, to)) => from <= to && *from >= 0.0 && *to <= 1.0,
        }
    }
}

impl Uniform {
    /// One draw of the generator for every state, so that runs which differ only in the range
    /// compare the same draws.
    fn draw(&self, rng: &mut Rng) -> Change {
        let share = rng.unit();
        let between = |from: u64, to: u64| {
            // Below 2^53 exact enough; a share below 1 never passes `to`.
            from + ((to.saturating_sub(from) as f64 + 1.0) * share) as u64
        };
        match *self {
            Self::Rate(from, to) => Change::Rate(Some(between(from, to).min(to))),
            Self::Delay(from, to) => Change::Delay(between(from, to).min(to)),
            Self::Loss(from, to) => {
                let loss = from + (to - from) * share;
                Change::Loss(vec![polypath_link::LossModel::Bernoulli(loss)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{LinkSpec, TimeSpec};

    fn world(repeats: Vec<RepeatSpec>) -> WorldSpec {
        let mut world = WorldSpec { repeats, ..WorldSpec::default() };
        let config = polypath_link::LinkConfig {
            schedule: vec![(4, Change::Delay(99))],
            ..Default::default()
        };
        world.topology.links.push(LinkSpec { name: "a".into(), config });
        world.time = TimeSpec { settle: 2, measure: 7, stop_when_done: true };
        world
    }

    fn repeat(name: &str, states: States) -> RepeatSpec {
        let links = vec!["a".into(), "b".into()];
        RepeatSpec { name: name.into(), links, start: 0, until: None, period: 4, states }
    }

    #[test]
    fn lists_are_taken_in_turn_and_the_links_own_changes_come_last() {
        let up = States::InTurn(vec![Change::Up(true), Change::Up(false)]);
        let world = world(vec![repeat("x", up)]);
        let expected = [
            (0, Change::Up(true)),
            (4, Change::Up(false)),
            (4, Change::Delay(99)),
            (8, Change::Up(true)),
        ];
        assert_eq!(world.link_schedule("a", 1), expected);
        let without_own: Vec<_> =
            expected.iter().filter(|(_, c)| *c != Change::Delay(99)).cloned().collect();
        assert_eq!(world.link_schedule("b", 1), without_own);
        assert_eq!(world.link_schedule("c", 1), []);
    }

    #[test]
    fn a_schedule_ends_at_its_own_end() {
        let repeat = RepeatSpec {
            start: 1,
            until: Some(6),
            ..repeat("x", States::InTurn(vec![Change::Delay(5)]))
        };
        let times: Vec<_> = repeat.drawn_until(1, 1_000).into_iter().map(|(at, _)| at).collect();
        assert_eq!(times, [1, 5]);
    }

    #[test]
    fn draws_lie_in_the_range_and_hang_on_seed_and_name_alone() {
        let states = States::Uniform(Uniform::Rate(1, 3));
        let long = RepeatSpec { period: 1, ..repeat("x", states) };
        let draws = |spec: &RepeatSpec, seed| -> Vec<u64> {
            let rate = |change| match change {
                Change::Rate(Some(rate)) => rate,
                other => panic!("{other:?}"),
            };
            spec.drawn_until(seed, 3_000).into_iter().map(|(_, change)| rate(change)).collect()
        };
        let drawn = draws(&long, 1);
        for rate in 1..=3 {
            let share = drawn.iter().filter(|d| **d == rate).count();
            assert!((850..1150).contains(&share), "{rate}: {share} of 3000");
        }
        assert_eq!(drawn, draws(&long, 1));
        assert_ne!(drawn, draws(&long, 2));
        assert_ne!(drawn, draws(&RepeatSpec { name: "y".into(), ..long.clone() }, 1));
    }

    #[test]
    fn what_cannot_repeat_is_refused() {
        let fine = repeat("x", States::InTurn(vec![Change::Up(true)]));
        assert_eq!(fine.check(9), Ok(()));
        assert!(RepeatSpec { period: 0, ..fine.clone() }.check(9).is_err());
        assert!(fine.check(5_000_000).is_err());
        assert!(repeat("x", States::InTurn(vec![])).check(9).is_err());
        assert!(repeat("x", States::Uniform(Uniform::Delay(2, 1))).check(9).is_err());
    }
}
