//! What an emulated network did.

use std::net::IpAddr;

use polypath_emu::{Measurement, NatCounters, Stats};
use schemars::JsonSchema;
use serde::Serialize;

/// What an emulated network did, for `--json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EmulationReport {
    /// What it found when it measured itself; empty if it did not.
    pub routes: Vec<RouteReport>,
    /// What crossed each link since the start.
    pub links: Vec<LinkReport>,
    /// What became of packets at boxes that translate addresses, since the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nats: Vec<NatReport>,
    /// Packets without a route from their source to their destination.
    pub unrouted: u64,
    /// Packets that arrived at an interface that was down.
    pub refused: u64,
    /// How late packets were.
    pub lateness: LatenessReport,
}

/// A route, as measured: delays in s, rates in bit/s.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct RouteReport {
    /// The path's name.
    pub path: String,
    /// Source address.
    pub from: IpAddr,
    /// Destination address.
    pub to: IpAddr,
    /// What the scenario says.
    pub delay_expected: f64,
    /// What was found.
    pub delay_measured: f64,
    /// What the links would have carried of what was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_expected: Option<f64>,
    /// What they carried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_measured: Option<f64>,
}

/// A link's counters, in packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LinkReport {
    /// Its name.
    pub link: String,
    /// Packets that came.
    pub offered: u64,
    /// Packets that arrived.
    pub delivered: u64,
    /// Bytes that arrived.
    pub delivered_bytes: u64,
    /// Lost by chance.
    pub lost: u64,
    /// Found no room, or dropped early.
    pub overflowed: u64,
    /// Lost as the link was down.
    pub cut: u64,
}

/// A box's counters, in packets.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct NatReport {
    /// Its name.
    pub nat: String,
    /// Translated on their way out.
    pub outbound: u64,
    /// Translated on their way in.
    pub inbound: u64,
    /// From outside, for a port that nobody has.
    pub unmapped: u64,
    /// From outside, of somebody whom the filter does not let in.
    pub filtered: u64,
    /// From inside, for which there was no room.
    pub refused: u64,
    /// ICMP errors led on, either way.
    pub errors: u64,
    /// ICMP errors that the box sent itself.
    pub answers: u64,
    /// Fragments, protocols without ports, errors about packets that nobody sent.
    pub other: u64,
}

/// How late packets were, in s.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LatenessReport {
    /// Packets delivered.
    pub packets: u64,
    /// Half of them were at most so late.
    pub median: f64,
    /// 99 % of them.
    pub p99: f64,
    /// 99.9 % of them.
    pub p999: f64,
    /// All of them.
    pub max: f64,
}

impl EmulationReport {
    /// Puts together what was measured and what was counted.
    #[must_use]
    pub fn new(measured: &[Measurement], stats: &Stats) -> Self {
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let late = &stats.lateness;
        Self {
            routes: measured.iter().map(RouteReport::new).collect(),
            links: stats.links.iter().map(|(name, link)| LinkReport::new(name, link)).collect(),
            nats: stats.nats.iter().map(|(name, nat)| NatReport::new(name, nat)).collect(),
            unrouted: stats.unrouted,
            refused: stats.refused,
            lateness: LatenessReport {
                packets: late.frames,
                median: seconds(late.median),
                p99: seconds(late.p99),
                p999: seconds(late.p999),
                max: seconds(late.max),
            },
        }
    }
}

impl RouteReport {
    fn new(found: &Measurement) -> Self {
        Self {
            path: found.path.clone(),
            from: found.from,
            to: found.to,
            delay_expected: found.delay.expected,
            delay_measured: found.delay.measured,
            rate_expected: found.rate.map(|rate| rate.expected),
            rate_measured: found.rate.map(|rate| rate.measured),
        }
    }
}

impl LinkReport {
    fn new(name: &str, link: &polypath_link::LinkStats) -> Self {
        let drops = link.dropped;
        Self {
            link: name.to_owned(),
            offered: link.offered,
            delivered: link.delivered,
            delivered_bytes: link.delivered_bytes,
            lost: drops.loss + drops.bit_error,
            overflowed: drops.queue_full + drops.red,
            cut: drops.down,
        }
    }
}

impl NatReport {
    fn new(name: &str, counters: &NatCounters) -> Self {
        let NatCounters { packets, errors, answers, other } = *counters;
        Self {
            nat: name.to_owned(),
            outbound: packets.outbound,
            inbound: packets.inbound,
            unmapped: packets.unmapped,
            filtered: packets.filtered,
            refused: packets.refused,
            errors,
            answers,
            other,
        }
    }
}
