//! What is told at the end: plain data, the same in JSON (docs/how-to/measure-a-network.md).

use std::net::SocketAddr;
use std::time::Duration;

use polypath_net::{Limit, LimitStats, PathInfo, PathState};
use serde::{Deserialize, Serialize};

use crate::paths::name_path;

use super::clock::ClockRelation;
use super::spec::TestSpec;

/// CPU time of a process, seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// In the process itself.
    pub user: f64,
    /// In the kernel for it.
    pub system: f64,
}

impl Cpu {
    /// Both, seconds.
    pub const fn total(&self) -> f64 {
        self.user + self.system
    }

    pub(crate) const fn since(&self, before: &Self) -> Self {
        Self { user: self.user - before.user, system: self.system - before.system }
    }

    pub(crate) const fn add(&mut self, more: &Self) {
        self.user += more.user;
        self.system += more.system;
    }
}

/// Delays of messages, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Delay {
    /// Messages whose delay was measured.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Shortest.
    pub min: f64,
    /// Median.
    pub p50: f64,
    /// 90 % took no longer.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// Longest.
    pub max: f64,
}

/// Messages and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Flow {
    pub(crate) const fn add(&mut self, more: &Self) {
        self.messages = self.messages.saturating_add(more.messages);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// What an end saw of one association.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndReport {
    /// Time that was measured, seconds; the omitted part is not in it, nor in any total.
    pub seconds: f64,
    /// Handed to the association.
    pub sent: Flow,
    /// Payload bytes that left for the first time.
    pub transmitted_bytes: u64,
    /// Delivered to the application: the goodput's bytes.
    pub received: Flow,
    /// Delivered after the measured time: what was in the buffers.
    pub late: Flow,
    /// From handing in to delivery, of messages received; with requests and responses, at the
    /// client, from one to the other.
    pub delay: Option<Delay>,
    /// Of the whole process, while it was measured.
    pub cpu: Cpu,
    /// Per path, over the measured time; window and times as of its end.
    pub paths: Vec<PathInterval>,
    /// Per stream of load, over the measured time; the first 64 of them.
    pub streams: Vec<StreamCount>,
    /// What kept this end from sending more, over the measured time, the longest first.
    #[serde(default)]
    pub limits: Vec<LimitShare>,
    /// In order.
    pub intervals: Vec<Interval>,
}

/// What limited an end, and for which part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitShare {
    /// In words: application, send buffer, peer's window, paths full, waits for a path (with its
    /// addresses), and so on.
    pub limit: String,
    /// Part of the time, 0 to 1.
    pub share: f64,
}

impl LimitShare {
    /// The shares of all that held between two looks at an association of these paths.
    pub fn between(before: &LimitStats, after: &LimitStats, paths: &[PathInfo]) -> Vec<Self> {
        let spent = after.since(before);
        let all: f64 = spent.iter().map(|(_, time)| time.as_secs_f64()).sum();
        let mut shares: Vec<Self> = Vec::new();
        for (limit, time) in spent {
            let limit = describe_limit(limit, paths);
            let share = Duration::as_secs_f64(&time) / all.max(1e-9);
            match shares.iter_mut().find(|other| other.limit == limit) {
                Some(same) => same.share += share,
                None => shares.push(Self { limit, share }),
            }
        }
        shares.sort_by(|a, b| b.share.total_cmp(&a.share));
        shares
    }

    /// All in one line: what held for at least a hundredth of the time.
    pub fn describe_shares(shares: &[Self]) -> String {
        let told = shares.iter().filter(|s| s.share >= 0.01);
        let words: Vec<_> = told.map(|s| format!("{} {:.0} %", s.limit, s.share * 100.0)).collect();
        words.join(", ")
    }
}

/// A limit in words. Which of several full paths is the fastest says little; which one the
/// scheduler waits for says where to look.
fn describe_limit(limit: Limit, paths: &[PathInfo]) -> String {
    match limit {
        Limit::Congestion(_) if paths.len() < 2 => "path full".to_owned(),
        Limit::Congestion(_) => "paths full".to_owned(),
        Limit::Scheduler(waited_for) => {
            let path = paths.iter().find(|path| path.stats.path == waited_for);
            let name = path.map(|p| name_path(p.device.as_deref(), p.stats.local, p.stats.remote));
            name.map_or_else(|| limit.to_string(), |name| format!("waits for {name}"))
        }
        _ => limit.to_string(),
    }
}

/// What happened in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Seconds since the load began.
    pub start: f64,
    /// Seconds since the load began.
    pub end: f64,
    /// It belongs to the omitted part.
    pub omitted: bool,
    /// Handed to the association.
    pub sent: Flow,
    /// Payload bytes that left for the first time.
    pub transmitted_bytes: u64,
    /// Delivered to the application.
    pub received: Flow,
    /// Of messages received.
    pub delay: Option<Delay>,
    /// Of the whole process.
    pub cpu: Cpu,
    /// Per path.
    pub paths: Vec<PathInterval>,
    /// Per stream of load.
    pub streams: Vec<StreamCount>,
    /// Data made no progress although the peer was heard: a line for each stall that was noticed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<String>,
}

impl Interval {
    /// Seconds.
    pub fn seconds(&self) -> f64 {
        self.end - self.start
    }
}

/// What a path did, seen from one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathInterval {
    /// Its number.
    pub path: u8,
    /// This end's address.
    pub local: SocketAddr,
    /// The other end's address.
    pub remote: SocketAddr,
    /// Payload bytes that it carried, retransmissions included.
    pub payload_bytes: u64,
    /// Its part of the bytes that the receiver got, in proportion to what it carried.
    pub goodput_bytes: u64,
    /// Chunks retransmitted on it.
    pub retransmissions: u64,
    /// Copies of chunks in flight on other paths.
    pub copies: u64,
    /// Expiries of its retransmission timer.
    pub timeouts: u64,
    /// Smoothed round-trip time, milliseconds, at the end; `None`: never measured.
    pub srtt_ms: Option<f64>,
    /// Congestion window, bytes, at the end.
    pub cwnd: u64,
    /// Bytes in flight, at the end.
    pub outstanding: u64,
    /// At the end.
    pub state: PathCondition,
    /// The largest IP packet that was found to pass, bytes, at the end; `None`: nobody asked.
    #[serde(default)]
    pub found_mtu: Option<u32>,
    /// The network device at this end, if the address was given with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Why it carries nothing, or what is wrong with it, if anything is; as of the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A path's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PathCondition {
    /// Not verified yet.
    #[default]
    Unconfirmed,
    /// In use.
    Active,
    /// Timeouts make it doubtful.
    PotentiallyFailed,
    /// Given up, and probed.
    Inactive,
    /// Its address is gone.
    Removed,
}

impl From<PathState> for PathCondition {
    fn from(state: PathState) -> Self {
        match state {
            PathState::Unconfirmed => Self::Unconfirmed,
            PathState::Active => Self::Active,
            PathState::PotentiallyFailed => Self::PotentiallyFailed,
            PathState::Inactive => Self::Inactive,
            PathState::Removed => Self::Removed,
        }
    }
}

/// What a stream carried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamCount {
    /// Which.
    pub stream: u16,
    /// Handed to the association.
    pub sent: Flow,
    /// Delivered to the application.
    pub received: Flow,
    /// Of messages received; totals only.
    pub delay: Option<Delay>,
}

/// What both ends saw of one association.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AssociationReport {
    /// From 1 on.
    pub id: u16,
    /// The key that the server proved to have, as `polypath id` prints it there; `None`: it proved
    /// nothing.
    pub peer: Option<String>,
    /// How delays one way were measured.
    pub clock: ClockRelation,
    /// Seconds that set-up took.
    pub setup_seconds: f64,
    /// What this end saw.
    pub client: EndReport,
    /// What the server saw; `None` if the association ended before it could say.
    pub server: Option<EndReport>,
    /// Why it ended early, if it did.
    pub error: Option<String>,
}

/// What data goes one way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the server.
    Forward,
    /// From the server to the client.
    Reverse,
}

/// All associations together, one way.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSum {
    /// Which way.
    pub direction: Direction,
    /// Delivered by the receiver.
    pub received: Flow,
    /// Mbit/s (10^6) of messages delivered.
    pub goodput_mbit: f64,
    /// Chunks retransmitted.
    pub retransmissions: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// The sender's CPU seconds per GB (10^9 bytes) delivered.
    pub sender_cpu_per_gb: f64,
    /// The receiver's.
    pub receiver_cpu_per_gb: f64,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientReport {
    /// Version of this format.
    pub polypath_perf: u32,
    /// What was asked for.
    pub test: TestSpec,
    /// The user ended it early.
    pub interrupted: bool,
    /// Per association.
    pub associations: Vec<AssociationReport>,
    /// Addresses that the user named and that became no path: a line each, by whoever knows what
    /// was named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// All of them together, per direction that carried load. What an end did not report is missing
    /// in it.
    pub sums: Vec<DirectionSum>,
}

impl ClientReport {
    pub(crate) fn new(
        test: TestSpec,
        interrupted: bool,
        associations: Vec<AssociationReport>,
    ) -> Self {
        let both = [Direction::Forward, Direction::Reverse];
        let carries = |direction: &Direction| {
            test.is_request_response() || test.sends_load(*direction == Direction::Forward)
        };
        let sums = both.into_iter().filter(carries);
        let sums =
            sums.map(|direction| DirectionSum::from_reports(direction, &associations)).collect();
        Self { polypath_perf: 1, test, interrupted, associations, notes: Vec::new(), sums }
    }

    /// The first reason why an association ended early.
    pub fn error(&self) -> Option<&str> {
        self.associations.iter().find_map(|a| a.error.as_deref())
    }
}

impl DirectionSum {
    fn from_reports(direction: Direction, associations: &[AssociationReport]) -> Self {
        let mut sum = Self {
            direction,
            received: Flow::default(),
            goodput_mbit: 0.0,
            retransmissions: 0,
            timeouts: 0,
            sender_cpu_per_gb: 0.0,
            receiver_cpu_per_gb: 0.0,
        };
        let nothing = EndReport::default();
        // Associations of one test share their processes: the one that saw most CPU time saw that
        // of all.
        let (mut sender_cpu, mut receiver_cpu) = (0.0_f64, 0.0_f64);
        for association in associations {
            let (client, server) =
                (&association.client, association.server.as_ref().unwrap_or(&nothing));
            let (from, to) = match direction {
                Direction::Forward => (client, server),
                Direction::Reverse => (server, client),
            };
            sum.received.add(&to.received);
            sum.goodput_mbit += mbit_per_s(to.received.bytes, to.seconds);
            sum.retransmissions += from.paths.iter().map(|p| p.retransmissions).sum::<u64>();
            sum.timeouts += from.paths.iter().map(|p| p.timeouts).sum::<u64>();
            sender_cpu = sender_cpu.max(from.cpu.total());
            receiver_cpu = receiver_cpu.max(to.cpu.total());
        }
        let gigabytes = sum.received.bytes as f64 / 1e9;
        if gigabytes > 0.0 {
            sum.sender_cpu_per_gb = sender_cpu / gigabytes;
            sum.receiver_cpu_per_gb = receiver_cpu / gigabytes;
        }
        sum
    }
}

/// Mbit/s (10^6); 0 where no time has passed.
pub(crate) fn mbit_per_s(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8e-6 / seconds } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use polypath_net::{FourTuple, PathId, PathStats};

    use super::*;

    #[test]
    fn limits_are_told_in_words_with_addresses() {
        let path = |n: u8, local: &str, remote: &str| {
            let tuple =
                FourTuple { local: local.parse().unwrap(), remote: remote.parse().unwrap() };
            PathInfo::new(PathStats::new(PathId(n), tuple))
        };
        let paths = [path(0, "10.0.1.1:1", "10.0.1.2:1"), path(1, "10.0.2.1:1", "10.0.2.2:1")];
        let mut after = LimitStats::default();
        let ms = Duration::from_millis;
        (after.congestion, after.scheduler) = (vec![ms(20), ms(38)], vec![ms(31)]);
        after.application = ms(11);
        let shares = LimitShare::between(&LimitStats::default(), &after, &paths);
        assert_eq!(
            LimitShare::describe_shares(&shares),
            "paths full 58 %, waits for path 10.0.1.1 -> 10.0.1.2 31 %, application 11 %"
        );
        let alone = LimitShare::between(&LimitStats::default(), &after, &paths[..1]);
        assert_eq!(alone[0].limit, "path full");
    }
}
