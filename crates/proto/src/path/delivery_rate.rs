//! Delivery-rate samples of one path (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
//!
//! All that goes out on a path in one instant is one transmission aggregate (the draft's section on
//! offload mechanisms). A chunk remembers when it was sent, which names its aggregate: so chunks
//! carry no state of their own, however small they are.

use std::collections::VecDeque;

use crate::time::{Duration, Time};
use crate::view::{LostTransmission, PathView, RateSample};

/// Aggregates that are remembered at most: as many as there may be chunks in flight.
const MOST_AGGREGATES: usize = 65_000;

/// The connection state C of the draft, for one path, beside what its view shows.
#[derive(Debug, Default)]
pub(crate) struct DeliveryRate {
    /// C.app_limited: samples are limited until more than so much was delivered; 0: they are not.
    limited_until: u64,
    /// Present once the path carried data.
    carried: Option<Box<Carried>>,
}

/// What is known of the data that the path carries.
#[derive(Debug, Default)]
struct Carried {
    aggregates: VecDeque<Aggregate>,
    /// C.delivered_time.
    delivered_time: Time,
    /// C.first_send_time.
    first_send_time: Time,
    /// What the SACK at hand acknowledges, and the newest aggregate of that.
    newly_acked: u64,
    newest: Option<Aggregate>,
    /// What was declared lost since the congestion control heard of it, and when each had left.
    lost: Vec<(Time, LostTransmission)>,
}

/// The packet state P of the draft, as it was after the last chunk of the aggregate.
#[derive(Clone, Copy, Debug)]
struct Aggregate {
    sent: Time,
    first_send_time: Time,
    delivered_time: Time,
    delivered: u64,
    lost: u64,
    in_flight: u64,
    is_app_limited: bool,
}

impl DeliveryRate {
    /// A chunk went out and added `added` bytes to what is in flight, which `view` includes
    /// (`OnPacketSent`).
    #[inline]
    pub(crate) fn note_sent(&mut self, now: Time, added: u64, view: &PathView) {
        let is_app_limited = self.limited_until != 0;
        let carried = self.carried.get_or_insert_default();
        if added > 0 && view.outstanding == added {
            (carried.first_send_time, carried.delivered_time) = (now, now);
        }
        carried.remember(Aggregate {
            sent: now,
            first_send_time: carried.first_send_time,
            delivered_time: carried.delivered_time,
            delivered: view.delivered,
            lost: view.lost,
            in_flight: view.outstanding,
            is_app_limited,
        });
    }

    /// A SACK acknowledges `bytes` that this path delivered, and that were last sent at `sent`
    /// (`UpdateRateSample`).
    pub(crate) fn note_delivered(
        &mut self,
        now: Time,
        sent: Time,
        bytes: u64,
        view: &mut PathView,
    ) {
        view.delivered += bytes;
        if let Some(carried) = &mut self.carried {
            carried.note_delivered(now, sent, bytes);
        }
    }

    /// A chunk of `bytes` that was last sent at `sent` was declared lost, which `view` includes.
    pub(crate) fn note_lost(&mut self, sent: Time, bytes: u64, view: &PathView) {
        if let Some(carried) = &mut self.carried {
            carried.note_lost(sent, bytes, view);
        }
    }

    /// What was declared lost since this was asked last, in the order in which it was found.
    pub(crate) fn take_lost(&mut self) -> Vec<LostTransmission> {
        let Some(carried) = self.carried.as_mut().filter(|carried| !carried.lost.is_empty()) else {
            return Vec::new();
        };
        core::mem::take(&mut carried.lost).into_iter().map(|(_, lost)| lost).collect()
    }

    /// The path rested for want of data, or since a policy left it idle.
    pub(crate) const fn is_app_limited(&self) -> bool {
        self.limited_until != 0
    }

    /// The SACK is processed: the sample that it gives (`GenerateRateSample`). `lost_before`:
    /// `PathView::lost` before the SACK. `None` if it acknowledged nothing here, or less than is
    /// known of when it was sent.
    pub(crate) fn take_sample(
        &mut self,
        now: Time,
        lost_before: u64,
        view: &PathView,
    ) -> Option<RateSample> {
        if self.limited_until != 0 && view.delivered > self.limited_until {
            self.limited_until = 0;
        }
        self.carried.as_mut()?.take_sample(now, lost_before, view)
    }

    /// Forgets aggregates sent before `earliest`, of which nothing is in flight any more.
    pub(crate) fn forget_before(&mut self, earliest: Time) {
        if let Some(carried) = &mut self.carried {
            carried.forget_before(earliest);
        }
    }

    /// The path could send and has nothing to (`MarkConnectionAppLimited`).
    #[inline]
    pub(crate) fn mark_app_limited(&mut self, view: &PathView) {
        self.limited_until = (view.delivered + view.outstanding).max(1);
    }
}

impl Carried {
    fn remember(&mut self, aggregate: Aggregate) {
        match self.aggregates.back_mut() {
            Some(last) if last.sent == aggregate.sent => *last = aggregate,
            _ => {
                if self.aggregates.len() >= MOST_AGGREGATES {
                    self.aggregates.pop_front();
                }
                self.aggregates.push_back(aggregate);
            }
        }
    }

    fn note_delivered(&mut self, now: Time, sent: Time, bytes: u64) {
        self.newly_acked += bytes;
        self.delivered_time = now;
        if self.newest.is_some_and(|newest| sent <= newest.sent) {
            return;
        }
        if let Ok(at) = self.aggregates.binary_search_by_key(&sent, |aggregate| aggregate.sent) {
            self.newest = self.aggregates.get(at).copied();
            self.first_send_time = self.first_send_time.max(sent);
        }
    }

    fn note_lost(&mut self, sent: Time, bytes: u64, view: &PathView) {
        let Ok(at) = self.aggregates.binary_search_by_key(&sent, |aggregate| aggregate.sent) else {
            return;
        };
        let Some(aggregate) = self.aggregates.get(at) else { return };
        let mut lost = LostTransmission {
            bytes,
            sent_in_flight: aggregate.in_flight,
            lost: view.lost.saturating_sub(aggregate.lost),
            is_app_limited: aggregate.is_app_limited,
        };
        match self.lost.last_mut() {
            Some((left, last)) if *left == sent => {
                lost.bytes += last.bytes;
                *last = lost;
            }
            _ => self.lost.push((sent, lost)),
        }
    }

    fn take_sample(&mut self, now: Time, lost_before: u64, view: &PathView) -> Option<RateSample> {
        let newly_acked = core::mem::take(&mut self.newly_acked);
        let newest = self.newest.take()?;
        let send_elapsed = newest.sent.since(newest.first_send_time);
        let ack_elapsed = now.since(newest.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        let is_valid = interval > Duration::ZERO && view.min_rtt.is_none_or(|min| interval >= min);
        Some(RateSample {
            delivered: view.delivered - newest.delivered,
            prior_delivered: newest.delivered,
            interval,
            is_valid,
            rtt: now.since(newest.sent),
            is_app_limited: newest.is_app_limited,
            newly_acked,
            newly_lost: view.lost.saturating_sub(lost_before),
            lost: view.lost.saturating_sub(newest.lost),
            sent_in_flight: newest.in_flight,
        })
    }

    fn forget_before(&mut self, earliest: Time) {
        while self.aggregates.front().is_some_and(|aggregate| aggregate.sent < earliest) {
            self.aggregates.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PathId;

    fn at(ms: u64) -> Time {
        Time::from_secs(1) + Duration::from_millis(ms)
    }

    fn send(rate: &mut DeliveryRate, view: &mut PathView, ms: u64) {
        view.outstanding += 1000;
        rate.note_sent(at(ms), 1000, view);
    }

    fn ack(rate: &mut DeliveryRate, view: &mut PathView, ms: u64, sent: u64) -> RateSample {
        view.outstanding -= 1000;
        rate.note_delivered(at(ms), at(sent), 1000, view);
        rate.take_sample(at(ms), 0, view).unwrap()
    }

    fn new_path() -> (DeliveryRate, PathView) {
        let view = PathView::new(PathId(0), 1500, 1452, Duration::from_secs(1));
        (DeliveryRate::default(), view)
    }

    #[test]
    fn a_saturated_link_gives_its_rate() {
        let (mut rate, mut view) = new_path();
        (0..10).for_each(|_| send(&mut rate, &mut view, 0));
        for i in 0..50 {
            // A chunk takes 1 ms, the way 9 ms.
            let sent = if i < 10 { 0 } else { i };
            let sample = ack(&mut rate, &mut view, 10 + i, sent);
            send(&mut rate, &mut view, 10 + i);
            // Until then samples reach back to the ten that left at once.
            if i >= 20 {
                assert_eq!(sample.interval, Duration::from_millis(10));
                assert_eq!(sample.bytes_per_second(), Some(1e6));
                assert_eq!((sample.sent_in_flight, sample.newly_acked), (10_000, 1000));
                assert!(!sample.is_app_limited);
            }
        }
    }

    #[test]
    fn compressed_sacks_are_capped_by_the_send_rate() {
        let (mut rate, mut view) = new_path();
        (0..5).for_each(|ms| send(&mut rate, &mut view, 10 * ms));
        ack(&mut rate, &mut view, 60, 0);
        let sample = ack(&mut rate, &mut view, 60, 40);
        assert_eq!(sample.interval, Duration::from_millis(60));
        assert_eq!(sample.delivered, 2000);
    }

    #[test]
    fn a_bubble_marks_samples_until_it_has_left_the_path() {
        let (mut rate, mut view) = new_path();
        send(&mut rate, &mut view, 0);
        rate.mark_app_limited(&view);
        send(&mut rate, &mut view, 5);
        assert!(!ack(&mut rate, &mut view, 10, 0).is_app_limited, "sent before the bubble");
        assert!(ack(&mut rate, &mut view, 15, 5).is_app_limited);
        send(&mut rate, &mut view, 16);
        assert!(!ack(&mut rate, &mut view, 26, 16).is_app_limited);
    }

    #[test]
    fn an_interval_below_the_smallest_round_trip_is_invalid() {
        let (mut rate, mut view) = new_path();
        view.min_rtt = Some(Duration::from_millis(20));
        send(&mut rate, &mut view, 0);
        let sample = ack(&mut rate, &mut view, 10, 0);
        assert_eq!((sample.is_valid, sample.bytes_per_second()), (false, None));
    }

    #[test]
    fn a_bubble_lasts_until_more_is_delivered_than_was_in_flight_before_it() {
        let (mut rate, mut view) = new_path();
        send(&mut rate, &mut view, 0);
        send(&mut rate, &mut view, 1);
        rate.mark_app_limited(&view);
        ack(&mut rate, &mut view, 10, 0);
        ack(&mut rate, &mut view, 11, 1);
        // All of that is delivered, and nothing that was sent after it.
        send(&mut rate, &mut view, 12);
        assert!(ack(&mut rate, &mut view, 22, 12).is_app_limited);
        send(&mut rate, &mut view, 23);
        assert!(!ack(&mut rate, &mut view, 33, 23).is_app_limited);
    }

    /// So many chunks left in this millisecond.
    fn send_together(rate: &mut DeliveryRate, view: &mut PathView, ms: u64, chunks: usize) {
        (0..chunks).for_each(|_| send(rate, view, ms));
    }

    /// A chunk that left in this millisecond is declared lost.
    fn lose(rate: &mut DeliveryRate, view: &mut PathView, sent: u64) {
        (view.outstanding, view.lost) = (view.outstanding - 1000, view.lost + 1000);
        rate.note_lost(at(sent), 1000, view);
    }

    #[test]
    fn what_left_in_one_instant_is_lost_as_one() {
        let (mut rate, mut view) = new_path();
        send_together(&mut rate, &mut view, 0, 3);
        send_together(&mut rate, &mut view, 5, 2);
        [0, 0, 5, 0].into_iter().for_each(|sent| lose(&mut rate, &mut view, sent));
        let lost = rate.take_lost();
        let told = |l: &LostTransmission| (l.bytes, l.sent_in_flight, l.lost, l.is_app_limited);
        let told: Vec<_> = lost.iter().map(told).collect();
        let first = [(2000, 3000, 2000, false), (1000, 5000, 3000, false)];
        assert_eq!(told, [first[0], first[1], (1000, 3000, 4000, false)]);
        assert_eq!(rate.take_lost(), [], "told once");
    }

    #[test]
    fn lost_counts_from_when_it_left() {
        let (mut rate, mut view) = new_path();
        send(&mut rate, &mut view, 0);
        send(&mut rate, &mut view, 1);
        lose(&mut rate, &mut view, 0);
        send(&mut rate, &mut view, 2);
        rate.take_lost();
        lose(&mut rate, &mut view, 2);
        lose(&mut rate, &mut view, 1);
        let lost: Vec<u64> = rate.take_lost().iter().map(|lost| lost.lost).collect();
        // One was lost before it left; of the other, all three.
        assert_eq!(lost, [1000, 3000]);
    }

    #[test]
    fn a_loss_tells_whether_the_application_limited_it() {
        let (mut rate, mut view) = new_path();
        assert!(!rate.is_app_limited());
        send(&mut rate, &mut view, 0);
        rate.mark_app_limited(&view);
        assert!(rate.is_app_limited());
        send(&mut rate, &mut view, 1);
        [0, 1].into_iter().for_each(|sent| lose(&mut rate, &mut view, sent));
        let limited: Vec<_> = rate.take_lost().iter().map(|lost| lost.is_app_limited).collect();
        assert_eq!(limited, [false, true]);
    }

    #[test]
    fn a_loss_of_what_is_forgotten_is_not_told() {
        let (mut rate, mut view) = new_path();
        rate.note_lost(at(0), 1000, &view);
        assert_eq!(rate.take_lost(), [], "nothing was ever sent");
        send(&mut rate, &mut view, 0);
        send(&mut rate, &mut view, 1);
        rate.forget_before(at(1));
        [0, 1].into_iter().for_each(|sent| lose(&mut rate, &mut view, sent));
        assert_eq!(rate.take_lost().len(), 1);
    }

    #[test]
    fn a_sample_of_no_time_is_invalid() {
        let (mut rate, mut view) = new_path();
        send(&mut rate, &mut view, 0);
        assert!(!ack(&mut rate, &mut view, 0, 0).is_valid);
    }
}
