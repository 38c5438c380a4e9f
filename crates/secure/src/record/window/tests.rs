use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A window beside what it should do: the numbers that were taken, and when the highest grew.
#[derive(Default)]
struct Model {
    window: Window,
    taken: BTreeSet<u64>,
    grew: Vec<(Time, u64)>,
}

impl Model {
    /// The highest number (plus one) that there was `SPAN` ago.
    fn before_span(&self, now: Time) -> u64 {
        let old = self.grew.iter().rev().find(|(time, _)| *time + SPAN <= now);
        old.map_or(0, |(_, next)| *next)
    }

    fn offer(&mut self, now: Time, number: u64) {
        let next = self.window.next();
        let fresh = self.window.is_fresh(number);
        assert!(!fresh || !self.taken.contains(&number), "{number} would be taken twice");
        let recent = number >= self.before_span(now) && number + MAX_BITS / 2 >= next;
        assert!(fresh || self.taken.contains(&number) || !recent, "{number} is refused at {next}");
        if fresh {
            self.window.take(now, number);
            self.taken.insert(number);
            assert!(!self.window.is_fresh(number));
            if number >= next {
                self.grew.push((now, number + 1));
            }
        }
        assert!(self.window.bits() <= MAX_BITS);
    }
}

/// A step: time that passes, in microseconds, and how far from the highest a number is.
fn step() -> impl Strategy<Value = (u64, i64)> {
    let time =
        prop_oneof![0..50_u64, 0..20_000_u64, Just(700_000), Just(2_100_000), Just(9_000_000)];
    let jump = prop_oneof![
        6 => 0..3_i64,
        4 => -200..200_i64,
        3 => -5000..5000_i64,
        2 => -100_000..50_000_i64,
        1 => Just(-1_000_000_i64),
        1 => Just(300_000_i64)
    ];
    (time, jump)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn each_number_is_taken_once_and_none_of_the_last_two_seconds_is_refused(
        steps in prop::collection::vec(step(), 1..400)
    ) {
        let mut model = Model::default();
        let mut now = Time::from_secs(1);
        for (micros, jump) in steps {
            now += Duration::from_micros(micros);
            if let Some(number) = model.window.next().checked_add_signed(jump) {
                model.offer(now, number);
            }
        }
        for number in model.taken.clone() {
            prop_assert!(!model.window.is_fresh(number));
        }
    }

    #[test]
    fn bursts_behind_the_highest_are_all_taken(
        blocks in prop::collection::vec((1..3000_u64, 0..300_000_u64), 1..30)
    ) {
        // Blocks of numbers come back to front, so that each begins with a jump.
        let mut model = Model::default();
        let (mut now, mut start) = (Time::ZERO, 0);
        for (len, micros) in blocks {
            now += Duration::from_micros(micros);
            for number in (start..start + len).rev() {
                model.offer(now, number);
            }
            start += len;
            prop_assert_eq!(model.taken.len() as u64, start);
        }
    }
}

#[test]
fn nothing_is_held_before_the_first_number_and_little_when_idle() {
    let mut window = Window::default();
    assert!(window.is_fresh(0) && window.is_fresh(7));
    assert_eq!(window.bits(), 0);
    window.take(Time::ZERO, 0);
    assert_eq!(window.bits(), MIN_BITS);
    window.take(Time::from_millis(1), 300_000);
    assert_eq!(window.bits(), MAX_BITS);
    // Heartbeats of an idle association.
    for n in 1..=3 {
        window.take(Time::from_secs(30 * n), 300_000 + n);
    }
    assert_eq!(window.bits(), MIN_BITS);
    assert!(!window.is_fresh(300_001) && !window.is_fresh(0) && !window.is_fresh(200_000));
}

#[test]
fn a_steady_rate_is_covered_from_its_first_packet_on() {
    // 100,000 numbers a second; each thousandth comes two seconds later than the others.
    let mut window = Window::default();
    for n in 0..1_000_000_u64 {
        let now = Time(n * 10_000);
        if n % 1000 != 0 {
            window.take(now, n);
        }
        if let Some(late) = n.checked_sub(199_000).filter(|late| late % 1000 == 0) {
            assert!(window.is_fresh(late), "{late}");
            window.take(now, late);
            assert!(!window.is_fresh(late));
        }
    }
    assert_eq!(window.bits(), MAX_BITS);
}
