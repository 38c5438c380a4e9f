//! Alternates between sending and silence.

use polypath_link::Nanos;
use polypath_proto::rng::Rng;

use super::io::{App, AppIo, Turn};
use super::paced::Pace;
use crate::spec::Period;

#[derive(Debug)]
pub(super) struct OnOff {
    turn: Turn,
    rate: Option<u64>,
    on: Period,
    off: Period,
    phase: Phase,
    wakeup: Option<Nanos>,
}

#[derive(Debug)]
enum Phase {
    NotStarted,
    /// Sends until a time, at a pace if there is one.
    On(Nanos, Option<Pace>),
    /// Silent until a time.
    Off(Nanos),
}

impl OnOff {
    pub(super) fn new(turn: Turn, rate: Option<u64>, on: Period, off: Period) -> Self {
        Self { turn, rate, on, off, phase: Phase::NotStarted, wakeup: None }
    }

    fn switch_on(&mut self, from: Nanos, rng: &mut Rng) {
        let pace = self.rate.map(|rate| Pace::new(from, rate));
        self.phase = Phase::On(from.saturating_add(draw_period(self.on, rng)), pace);
    }

    /// Catches up with all changes of phase until now.
    fn switch_phases(&mut self, now: Nanos, rng: &mut Rng) {
        loop {
            match self.phase {
                Phase::NotStarted => self.switch_on(now, rng),
                Phase::On(end, _) if end <= now => {
                    self.phase = Phase::Off(end.saturating_add(draw_period(self.off, rng)));
                }
                Phase::Off(end) if end <= now => self.switch_on(end, rng),
                _ => return,
            }
        }
    }
}

impl App for OnOff {
    fn run(&mut self, io: &mut AppIo<'_>) {
        self.switch_phases(io.now, io.rng);
        self.wakeup = match &mut self.phase {
            Phase::On(end, Some(pace)) => {
                pace.run(&mut self.turn, io);
                let due = Some(pace.due_at()).filter(|&due| due > io.now);
                Some(due.map_or(*end, |due| due.min(*end)))
            }
            Phase::On(end, None) => {
                while self.turn.send(io).is_some() {}
                Some(*end)
            }
            Phase::Off(end) => Some(*end),
            Phase::NotStarted => None,
        };
    }

    fn next_wakeup(&self) -> Option<Nanos> {
        self.wakeup
    }
}

/// A duration of at least 1 ns, so that phases always advance.
fn draw_period(period: Period, rng: &mut Rng) -> Nanos {
    match period {
        Period::Fixed(ns) => ns.max(1),
        Period::Exponential(mean) => ((-(1.0 - rng.unit()).ln() * mean as f64) as Nanos).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::MessageSpec;

    #[test]
    fn exponential_periods_have_their_mean() {
        let mut rng = Rng::from_u64(1);
        let sum: u64 =
            (0..100_000).map(|_| draw_period(Period::Exponential(1_000_000), &mut rng)).sum();
        assert!((sum as f64 / 1e11 - 1.0).abs() < 0.02, "{sum}");
    }

    #[test]
    fn phases_alternate() {
        let mut rng = Rng::from_u64(1);
        let (on, off) = (Period::Fixed(10), Period::Fixed(5));
        let turn = Turn::new(MessageSpec::default(), Rng::from_u64(2));
        let mut app = OnOff::new(turn, None, on, off);
        let is_on = |app: &OnOff| matches!(app.phase, Phase::On(..));
        let seen: Vec<_> = (0..31)
            .map(|now| {
                app.switch_phases(now, &mut rng);
                is_on(&app)
            })
            .collect();
        assert!(seen.iter().enumerate().all(|(now, &on)| on == (now % 15 < 10)), "{seen:?}");
    }
}
