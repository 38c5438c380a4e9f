//! How fast the path is: the greatest delivery rate of two cycles ("BBR.max_bw"), and whether
//! sending faster still makes it faster ("Exiting Acceleration Based on Bandwidth Plateau").

/// The greatest delivery rate of this cycle of ProbeBW and of the one before (MaxBwFilterLen = 2).
/// Bytes per second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxBandwidth {
    before: f64,
    current: f64,
}

impl MaxBandwidth {
    pub(super) const fn get(&self) -> f64 {
        self.before.max(self.current)
    }

    /// `UpdateMaxBw`. A sample that the application limited counts if it is above all others.
    pub(super) fn update(&mut self, rate: f64, is_app_limited: bool) {
        if rate >= self.get() || !is_app_limited {
            self.current = self.current.max(rate);
        }
    }

    /// The path is not as fast as its samples said.
    pub(super) const fn halve(&mut self) {
        (self.before, self.current) = (self.before / 2.0, self.current / 2.0);
    }

    /// `AdvanceMaxBwFilter`. A cycle without a sample says nothing, and makes nothing old: as in
    /// Linux.
    pub(super) const fn advance(&mut self) {
        if self.current > 0.0 {
            (self.before, self.current) = (self.current, 0.0);
        }
    }
}

/// Growth that shows that the pipe is not full.
const GROWTH: f64 = 1.25;
/// Rounds without it that show that it is.
const ROUNDS: u32 = 3;

/// The full-pipe estimator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw: bytes per second.
    pub(super) rate: f64,
    count: u32,
    /// BBR.full_bw_now: full as far as the acceleration under way tells.
    pub(super) now: bool,
    /// BBR.full_bw_reached: it was full once.
    pub(super) reached: bool,
}

impl FullPipe {
    /// `ResetFullBW`, with a rate to compare with.
    pub(super) const fn restart(&mut self, rate: f64) {
        (self.rate, self.count, self.now) = (rate, 0, false);
    }

    /// `CheckFullBWReached`, at the begin of a round that the application did not limit.
    pub(super) fn round_started(&mut self, rate: f64) {
        if self.now {
            return;
        }
        if rate >= self.rate * GROWTH {
            self.restart(rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= ROUNDS;
        self.reached |= self.now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pipe_is_full_after_three_rounds_of_less_than_a_quarter_more() {
        let mut pipe = FullPipe::default();
        for rate in [100.0, 125.0, 156.25] {
            pipe.round_started(rate);
            assert_eq!((pipe.rate, pipe.reached), (rate, false));
        }
        for (n, rate) in [190.0, 195.0, 180.0].into_iter().enumerate() {
            assert!(!pipe.now);
            pipe.round_started(rate);
            assert_eq!(pipe.now, n == 2);
        }
        assert!(pipe.reached);
        pipe.restart(180.0);
        assert!(!pipe.now && pipe.reached, "it was full once");
    }

    #[test]
    fn growth_in_between_begins_anew() {
        let mut pipe = FullPipe::default();
        for rate in [100.0, 110.0, 120.0, 126.0, 130.0, 140.0] {
            pipe.round_started(rate);
        }
        assert!(!pipe.now, "126 is a quarter above 100");
        pipe.round_started(150.0);
        assert!(pipe.now);
    }

    #[test]
    fn the_greatest_rate_lasts_for_two_cycles() {
        let mut max = MaxBandwidth::default();
        max.update(100.0, false);
        max.advance();
        max.update(60.0, false);
        assert_eq!(max.get(), 100.0);
        max.advance();
        assert_eq!(max.get(), 60.0);
        max.advance();
        max.advance();
        assert_eq!(max.get(), 60.0, "cycles without samples make nothing old");
    }

    #[test]
    fn samples_that_the_application_limits_count_if_they_are_above() {
        let mut max = MaxBandwidth::default();
        max.update(100.0, false);
        max.advance();
        max.update(50.0, true);
        max.advance();
        assert_eq!(max.get(), 100.0, "no sample counted in that cycle");
        max.update(150.0, true);
        assert_eq!(max.get(), 150.0);
        max.advance();
        max.update(60.0, false);
        max.update(150.0, true);
        max.advance();
        assert_eq!(max.get(), 150.0, "or as great");
    }
}
