//! What comes out: waits by path and cause.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::chunks::Chunks;
use crate::clocks::align;
use crate::end::End;
use crate::error::WhyError;
use crate::floor::Floors;
use crate::groups::Groups;
use crate::matching::{PathNames, match_arrivals};
use crate::pair::find_pair;
use crate::sums::{Sum, Sums, whole, worst_episodes};
use crate::trace::Trace;
use crate::waiting::{Known, Waits, walk};

/// Episodes that are told.
const EPISODES: usize = 5;

/// What data waited for.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// For a chunk that was lost on its path.
    Loss,
    /// For a chunk that took longer than its path needs at least.
    Queue,
    /// For a chunk on a slower path.
    Reordering,
    /// For a chunk that the peer's window, the congestion window or pacing held back.
    Window,
    /// For the application: to read it, or to send the rest of its message.
    Application,
}

impl Cause {
    /// All, in the order of tables.
    pub const ALL: [Self; 5] =
        [Self::Loss, Self::Queue, Self::Reordering, Self::Window, Self::Application];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Queue => "queue",
            Self::Reordering => "reordering",
            Self::Window => "window",
            Self::Application => "application",
        }
    }
}

/// What the data of an association waited for.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// Name of the association.
    pub flow: String,
    /// How the clocks of two files were set; none where both ends are in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// Of each end that data came to.
    pub directions: Vec<Direction>,
}

/// How two clocks were set by each other: half of the least round trip of the nearest path is the
/// least one-way delay there.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocks {
    /// The end whose clock was compared with the other one's.
    pub host: String,
    /// By how much its clock is ahead, ns.
    pub ahead_ns: i64,
    /// The nearest path.
    pub path: u8,
    /// Its least round trip, ns.
    pub round_trip_ns: u64,
}

/// What came to one end.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Direction {
    /// The sender.
    pub from: String,
    /// The receiver, where data waited.
    pub to: String,
    /// Payload bytes that arrived.
    pub bytes: u64,
    /// When the first chunk was sent, and when the receiver's trace ends, ns.
    pub over_ns: (u64, u64),
    /// All waiting.
    pub whole: Measure,
    /// The same by path and cause, most time first; it adds up to the whole.
    pub charged: Vec<Charged>,
    /// The longest episodes, longest first.
    pub episodes: Vec<Episode>,
    /// Names of paths: their addresses, where the trace has them.
    pub paths: BTreeMap<u8, String>,
    /// Spans in which something waited, in order, and for what most of it did. They add up to the
    /// time of the whole.
    #[serde(skip)]
    pub spans: Vec<Span>,
}

/// How much waited.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// Time in which any data waited, ns. Each moment counts once: for the path and cause for which
    /// most bytes waited.
    pub time_ns: u64,
    /// Bytes times the time that each of them waited: seconds in JSON, nanoseconds in Rust.
    #[serde(rename = "byte_seconds", serialize_with = "in_seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub byte_time_ns: u128,
}

fn in_seconds<S: serde::Serializer>(ns: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(*ns as f64 / 1e9)
}

/// What is charged to a path and a cause.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Charged {
    /// The path, as the sender counts.
    pub path: u8,
    /// The cause.
    pub cause: Cause,
    /// How much.
    pub measure: Measure,
}

/// Waiting for one path and cause, without a pause of 20 ms or more.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Episode {
    /// Begin, ns.
    pub from_ns: u64,
    /// End, ns.
    pub until_ns: u64,
    /// Of that, time in which data waited, ns.
    pub waited_ns: u64,
    /// The path.
    pub path: u8,
    /// The cause.
    pub cause: Cause,
    /// The most bytes that waited at once.
    pub most_bytes: u64,
    /// The chunk that was waited for most, or with the cause application: that waited most.
    pub tsn: u32,
}

/// Time in which something waited, most of it for this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Begin, ns.
    pub from_ns: u64,
    /// End, ns.
    pub until_ns: u64,
    /// The path.
    pub path: u8,
    /// The cause.
    pub cause: Cause,
}

/// Explains an association of the trace; `flow` chooses one of several.
///
/// # Errors
/// When there is none, or not both ends of it, or `flow` does not choose.
pub fn explain(trace: &Trace, flow: Option<&str>) -> Result<Explanation, WhyError> {
    let (one, other) = find_pair(trace, flow)?;
    let (Some(one), Some(other)) = (trace.ends.get(one), trace.ends.get(other)) else {
        return Err(WhyError::Nothing(trace.files()));
    };
    if one.file == other.file {
        return Ok(explain_ends(one, other, None));
    }
    let (mut one, mut other) = (one.clone(), other.clone());
    let clocks = align(&mut one, &mut other).ok_or_else(|| WhyError::NoClock(trace.files()))?;
    Ok(explain_ends(&one, &other, Some(clocks)))
}

fn explain_ends(one: &End, other: &End, clocks: Option<Clocks>) -> Explanation {
    let directions = [(one, other), (other, one)];
    let directions = directions.into_iter().filter_map(|(from, to)| explain_way(from, to));
    Explanation { flow: one.flow.clone(), clocks, directions: directions.collect() }
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
    let Waits { charges, stays } = walk(&known, receiver);
    let labels = chunks.0.iter().filter_map(|chunk| chunk.label);
    let bytes = labels.map(|label| u64::from(label.bytes)).sum();
    let sent = chunks.0.iter().flat_map(|chunk| &chunk.transmissions);
    let paths: std::collections::BTreeSet<u8> = sent.map(|one| one.path).collect();
    if bytes == 0 {
        return None;
    }
    let sums = Sums::of(&charges);
    let mut charged: Vec<Charged> = sums.accounts.iter().map(charged_of).collect();
    charged.sort_by_key(|one| core::cmp::Reverse((one.measure.time_ns, one.measure.byte_time_ns)));
    Some(Direction {
        from: sender.host.clone(),
        to: receiver.host.clone(),
        bytes,
        over_ns: (sender.sent.first().map_or(0, |sent| sent.at), receiver.until),
        whole: measure(whole(&stays)),
        charged,
        episodes: worst_episodes(&sums.spans, &charges, EPISODES),
        paths: paths.into_iter().map(|path| (path, name_path(sender, path))).collect(),
        spans: sums.spans,
    })
}

const fn measure(sum: Sum) -> Measure {
    Measure { time_ns: sum.time, byte_time_ns: sum.byte_time }
}

fn charged_of((&(path, cause), &sum): (&(u8, Cause), &Sum)) -> Charged {
    Charged { path, cause, measure: measure(sum) }
}

fn name_path(sender: &End, path: u8) -> String {
    match sender.addresses.get(&path) {
        Some((local, remote)) => format!("{local} - {remote}"),
        None => format!("path {path}"),
    }
}
