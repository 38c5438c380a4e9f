//! The greatest of the latest values (the draft's `UpdateWindowedMaxFilter`), over a time that the
//! caller counts: rounds or cycles.

/// The greatest value of a sliding window: the best, and the two that follow once it is too old,
/// after K. Nichols' algorithm, which the draft names.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [(u64, f64); 3],
}

impl WindowedMax {
    /// The greatest value now.
    pub(super) const fn get(&self) -> f64 {
        self.best[0].1
    }

    /// Takes `value` at `time`; what is older than `window` counts no more. Gives the greatest one.
    pub(super) fn update(&mut self, time: u64, value: f64, window: u64) -> f64 {
        let [first, second, third] = &mut self.best;
        let sample = (time, value);
        if value >= first.1 || time.saturating_sub(third.0) > window {
            self.best = [sample; 3];
            return value;
        }
        if value >= second.1 {
            (*second, *third) = (sample, sample);
        } else if value >= third.1 {
            *third = sample;
        }
        // The best one is too old: the next take its place.
        if time.saturating_sub(first.0) > window {
            (*first, *second, *third) = (*second, *third, sample);
            if time.saturating_sub(first.0) > window {
                (*first, *second) = (*second, *third);
            }
        } else if second.0 == first.0 && time.saturating_sub(first.0) > window / 4 {
            (*second, *third) = (sample, sample);
        } else if third.0 == second.0 && time.saturating_sub(first.0) > window / 2 {
            *third = sample;
        }
        self.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The greatest of the last values, the slow way.
    fn slow(values: &[f64], window: usize) -> f64 {
        let from = values.len().saturating_sub(window + 1);
        values.get(from..).into_iter().flatten().copied().fold(0.0, f64::max)
    }

    #[test]
    fn it_is_never_above_the_greatest_of_the_window_and_reaches_it_where_values_fall() {
        let mut filter = WindowedMax::default();
        let mut values = Vec::new();
        for time in 0..60_u32 {
            let value = f64::from((time * 7919) % 101);
            values.push(value);
            let greatest = filter.update(u64::from(time), value, 10);
            assert!(greatest <= slow(&values, 10), "{time}");
            assert!(greatest >= value);
        }
        let mut falling = WindowedMax::default();
        falling.update(0, 100.0, 10);
        assert_eq!(falling.update(9, 5.0, 10), 100.0);
        assert_eq!(falling.update(11, 4.0, 10), 5.0, "the best one is too old");
    }

    #[test]
    fn heirs_are_chosen_after_a_quarter_and_after_half_of_the_window() {
        let mut filter = WindowedMax::default();
        let rows = [
            (0, 100.0, [0, 0, 0]),
            (3, 50.0, [0, 0, 0]),
            (4, 40.0, [0, 4, 4]),
            (6, 30.0, [0, 4, 4]),
            (7, 20.0, [0, 4, 7]),
            (12, 10.0, [0, 4, 7]),
            (13, 5.0, [4, 7, 13]),
        ];
        for (time, value, kept) in rows {
            filter.update(time, value, 12);
            assert_eq!(filter.best.map(|(time, _)| time), kept, "{time}");
        }
        assert_eq!(filter.get(), 40.0);
    }

    #[test]
    fn values_as_great_take_the_place_of_older_ones() {
        let mut filter = WindowedMax::default();
        for (time, value) in [(0, 9.0), (4, 5.0), (7, 3.0)] {
            filter.update(time, value, 12);
        }
        filter.update(8, 3.0, 12);
        assert_eq!(filter.best, [(0, 9.0), (4, 5.0), (8, 3.0)]);
        filter.update(9, 5.0, 12);
        assert_eq!(filter.best, [(0, 9.0), (9, 5.0), (9, 5.0)]);
        filter.update(10, 9.0, 12);
        assert_eq!(filter.best, [(10, 9.0); 3]);
    }

    #[test]
    fn an_heir_as_old_as_the_window_still_counts() {
        let mut filter = WindowedMax::default();
        for (time, value) in [(0, 9.0), (4, 5.0), (7, 3.0)] {
            filter.update(time, value, 12);
        }
        assert_eq!(filter.update(16, 1.0, 12), 5.0);
        assert_eq!(filter.update(17, 1.0, 12), 3.0);
    }

    #[test]
    fn after_a_silence_the_new_value_counts_alone() {
        let mut filter = WindowedMax::default();
        filter.update(0, 100.0, 10);
        assert_eq!(filter.update(50, 3.0, 10), 3.0);
    }
}
