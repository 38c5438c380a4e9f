//! Two clocks made one.

use std::collections::BTreeMap;

use crate::chunks::Chunks;
use crate::end::End;
use crate::explanation::Clocks;
use crate::matching::least_delays;

/// Sets the clocks of two files by each other. `None`: no data that both ends saw says how.
pub(crate) fn align(one: &mut End, other: &mut End) -> Option<Clocks> {
    let forth = set_by(one, other);
    let back = || set_by(other, one).map(|(ahead, set)| (-ahead, set));
    let (ahead, set) = forth.or_else(back)?;
    // Times stay from 0 on: the clock that is behind moves.
    match u64::try_from(ahead) {
        Ok(ahead) => shift(one, ahead),
        Err(_) => shift(other, u64::try_from(-ahead).unwrap_or(u64::MAX)),
    }
    Some(set)
}

/// By how much the receiver's clock is ahead of the sender's, ns, by what came: the least delay on
/// the path with the least round trip is half of that round trip.
fn set_by(sender: &End, receiver: &End) -> Option<(i128, Clocks)> {
    let delays: BTreeMap<u8, i128> = least_delays(&Chunks::of(sender, receiver));
    let trips = &sender.round_trips;
    let nearest = delays.keys().filter_map(|path| Some((*trips.get(path)?, *path))).min();
    let (round_trip, path) = nearest?;
    let ahead = delays.get(&path)? - i128::from(round_trip / 2);
    let ahead_ns = i64::try_from(ahead).unwrap_or(i64::MAX);
    Some((ahead, Clocks { host: receiver.host.clone(), ahead_ns, path, round_trip_ns: round_trip }))
}

fn shift(end: &mut End, by: u64) {
    let later = |at: &mut u64| *at = at.saturating_add(by);
    end.sent.iter_mut().for_each(|sent| later(&mut sent.at));
    end.lost.iter_mut().for_each(|lost| later(&mut lost.0));
    end.rounds.iter_mut().for_each(|round| later(&mut round.0));
    end.received.iter_mut().for_each(|received| later(&mut received.0));
    later(&mut end.until);
}
