//! Two clocks made one.

use core::cmp::Reverse;
use std::collections::BTreeMap;

use crate::end::{End, Received};
use crate::explanation::Clocks;

/// Sets the clocks of two files by each other, by the direction that tells more, whichever file was
/// read first. `None`: no data that both ends saw says how.
pub(crate) fn align(one: &mut End, other: &mut End) -> Option<Clocks> {
    let forth = set_by(one, other);
    let back = set_by(other, one).map(|set| Set { ahead: -set.ahead, ..set });
    let Set { ahead, clocks, .. } = forth.into_iter().chain(back).max_by_key(Set::weight)?;
    // Times stay from 0 on: the clock that is behind moves.
    match u64::try_from(ahead) {
        Ok(ahead) => shift(one, ahead),
        Err(_) => shift(other, u64::try_from(-ahead).unwrap_or(u64::MAX)),
    }
    Some(clocks)
}

/// What one direction says.
struct Set {
    /// By how much the clock of the second end is ahead, ns.
    ahead: i128,
    clocks: Clocks,
    /// Chunks that tell.
    chunks: usize,
    /// Initial TSNs of sender and receiver.
    initial: Option<(u32, u32)>,
}

impl Set {
    /// Greater is better. Of equals the initial TSNs choose: they are the same in either order.
    fn weight(&self) -> (usize, Reverse<u64>, Option<(u32, u32)>) {
        (self.chunks, Reverse(self.clocks.round_trip_ns), self.initial)
    }
}

/// By how much the receiver's clock is ahead of the sender's, by what came: the least delay on the
/// path with the least round trip is half of that round trip.
fn set_by(sender: &End, receiver: &End) -> Option<Set> {
    let (delays, chunks) = least_delays(sender, receiver);
    let trips = &sender.round_trips;
    let nearest = delays.keys().filter_map(|path| Some((*trips.get(path)?, *path))).min();
    let (round_trip, path) = nearest?;
    let ahead = delays.get(&path)? - i128::from(round_trip / 2);
    let ahead_ns = i64::try_from(ahead).unwrap_or(if ahead < 0 { i64::MIN } else { i64::MAX });
    let clocks = Clocks { host: receiver.host.clone(), ahead_ns, path, round_trip_ns: round_trip };
    Some(Set { ahead, clocks, chunks, initial: sender.initial })
}

/// The least delay of each of the sender's paths, receiver's clock less sender's, ns, by the chunks
/// that were sent once and came once; and how many those are.
fn least_delays(sender: &End, receiver: &End) -> (BTreeMap<u8, i128>, usize) {
    let mut extender = sender.extender_of_sent();
    let sent = sender.sent.iter().map(|one| (extender.extend(one.tsn), (one.path, one.at)));
    let sent = seen_once(sent);
    let mut extender = receiver.extender_of_received();
    let came = receiver.received.iter().filter_map(|(at, event)| match event {
        Received::Arrived(arrived) => Some((extender.extend(arrived.tsn), *at)),
        _ => None,
    });
    let (mut least, mut chunks) = (BTreeMap::new(), 0);
    for (tsn, came) in seen_once(came) {
        let (Some(came), Some(Some((path, sent)))) = (came, sent.get(&tsn)) else { continue };
        let delay = i128::from(came) - i128::from(*sent);
        let known = least.entry(*path).or_insert(delay);
        *known = delay.min(*known);
        chunks += 1;
    }
    (least, chunks)
}

/// What is said of each TSN, where it is said once.
fn seen_once<T>(all: impl Iterator<Item = (u64, T)>) -> BTreeMap<u64, Option<T>> {
    let mut seen = BTreeMap::new();
    for (tsn, what) in all {
        seen.entry(tsn).and_modify(|known| *known = None).or_insert(Some(what));
    }
    seen
}

fn shift(end: &mut End, by: u64) {
    let later = |at: &mut u64| *at = at.saturating_add(by);
    end.sent.iter_mut().for_each(|sent| later(&mut sent.at));
    end.lost.iter_mut().for_each(|lost| later(&mut lost.0));
    end.rounds.iter_mut().for_each(|round| later(&mut round.0));
    end.received.iter_mut().for_each(|received| later(&mut received.0));
    later(&mut end.until);
}
