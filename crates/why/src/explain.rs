//! From the records of both ends to what data waited for.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::chunks::Chunks;
use crate::clocks::align;
use crate::end::End;
use crate::error::WhyError;
use crate::explanation::{Cause, Charged, Direction, Explanation, Held, Hold, Measure};
use crate::floor::Floors;
use crate::groups::Groups;
use crate::matching::{PathNames, match_arrivals};
use crate::pair::find_pair;
use crate::sums::{Sum, Sums, whole, worst_episodes};
use crate::trace::Trace;
use crate::waiting::{Known, Waits, walk};

/// Episodes that are told.
const EPISODES: usize = 5;

/// Explains an association of the trace; `flow` chooses one of several.
///
/// # Errors
/// When there is none, or not both ends of it, or `flow` does not choose.
pub fn explain(trace: &Trace, flow: Option<&str>) -> Result<Explanation, WhyError> {
    let (one, other) = find_pair(trace, flow)?;
    let (Some(one), Some(other)) = (trace.ends.get(one), trace.ends.get(other)) else {
        return Err(WhyError::Nothing(trace.files()));
    };
    let (flow, cut_short) = (one.flow.clone(), trace.cut_short.clone());
    if one.file == other.file {
        let directions = explain_ends(one, other);
        return Ok(Explanation { flow, clocks: None, cut_short, directions });
    }
    let (mut one, mut other) = (one.clone(), other.clone());
    let clocks = align(&mut one, &mut other).ok_or_else(|| WhyError::NoClock(trace.files()))?;
    let directions = explain_ends(&one, &other);
    Ok(Explanation { flow, clocks: Some(clocks), cut_short, directions })
}

fn explain_ends(one: &End, other: &End) -> Vec<Direction> {
    let directions = [(one, other), (other, one)];
    directions.into_iter().filter_map(|(from, to)| explain_way(from, to)).collect()
}

/// `None` where nothing came.
fn explain_way(sender: &End, receiver: &End) -> Option<Direction> {
    let mut chunks = Chunks::of(sender, receiver);
    let names = PathNames::of(&chunks);
    match_arrivals(&mut chunks, &names);
    let (groups, floors) = (Groups::of(&chunks), Floors::of(&chunks));
    let known = Known {
        chunks: &chunks,
        names: &names,
        groups: &groups,
        floors: &floors,
        rounds: &sender.rounds,
    };
    let Waits { charges, stays, holds } = walk(&known, receiver);
    let labels = chunks.0.iter().filter_map(|chunk| chunk.label);
    let bytes: u64 = labels.map(|label| u64::from(label.bytes)).sum();
    if bytes == 0 {
        return None;
    }
    let sums = Sums::of(&charges);
    Some(Direction {
        from: sender.host.clone(),
        to: receiver.host.clone(),
        bytes,
        over_ns: (sender.sent.first().map_or(0, |sent| sent.at), receiver.until),
        whole: measure(whole(&stays)),
        charged: most_first(&sums),
        held_by: most_held_first(holds),
        episodes: worst_episodes(&sums.spans, &charges, EPISODES),
        paths: name_paths(sender, receiver, &names, &chunks),
        spans: sums.spans,
    })
}

fn most_held_first(holds: BTreeMap<Hold, u128>) -> Vec<Held> {
    let mut held: Vec<Held> = holds.into_iter().map(|(by, time_ns)| Held { by, time_ns }).collect();
    held.sort_by_key(|one| Reverse(one.time_ns));
    held
}

fn most_first(sums: &Sums) -> Vec<Charged> {
    let mut charged: Vec<Charged> = sums.accounts.iter().map(charged_of).collect();
    charged.sort_by_key(|one| Reverse((one.measure.time_ns, one.measure.byte_time_ns)));
    charged
}

/// Of those that carried data.
fn name_paths(
    sender: &End,
    receiver: &End,
    names: &PathNames,
    chunks: &Chunks,
) -> BTreeMap<u8, String> {
    let sent = chunks.0.iter().flat_map(|chunk| &chunk.transmissions);
    let paths: BTreeSet<u8> = sent.map(|one| one.path).collect();
    paths.into_iter().map(|path| (path, name_path(sender, receiver, names, path))).collect()
}

const fn measure(sum: Sum) -> Measure {
    Measure { time_ns: sum.time, byte_time_ns: sum.byte_time }
}

fn charged_of((&(path, cause), &sum): (&(u8, Cause), &Sum)) -> Charged {
    Charged { path, cause, measure: measure(sum) }
}

/// The addresses of a path of the sender, as either end wrote them.
fn name_path(sender: &End, receiver: &End, names: &PathNames, path: u8) -> String {
    let own = || sender.addresses.get(&path).cloned();
    let theirs = || {
        let mut all = receiver.addresses.iter();
        let (_, (local, remote)) = all.find(|(came, _)| names.name(**came) == path)?;
        Some((remote.clone(), local.clone()))
    };
    match own().or_else(theirs) {
        Some((local, remote)) => format!("{local} - {remote}"),
        None => format!("path {path}"),
    }
}
