//! `weighted`: shares by weight, paths by cost, and byte quotas.
//!
//! Of the paths that may be used, those of the lowest cost class with an open one are taken; among
//! them, bytes are shared by start-time fair queueing.
//!
//! A path of a higher class is used when all cheaper ones are full, and after the message at hand
//! has been waiting for the time `patience`: bulk data fills every window, and so it would reach
//! the metered path at once. A path whose quota is spent, or whose weight is zero, carries data
//! only while no other is usable; to rule it out altogether, disable it. Quotas count new data;
//! retransmissions go where the retransmission policy sends them.

use std::collections::BTreeMap;

use polypath_proto::PathId;
use polypath_proto::policy::{PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::time::Duration;
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::fair_queue::FairQueue;
use super::open_packet::OpenPacket;
use super::rtt_helpers::{in_flight, least_by};
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("weighted", read_options)
    .summary("shares by weight; metered paths when cheaper ones are full, up to a quota")
    .source("start-time fair queueing, Goyal et al. 1996; cost and quota are this project's")
    .options(&[
        OptionEntry {
            name: "weights",
            default: "",
            values: "<path:weight,path:weight,...>",
            summary: "weights, 0 to 65535; paths not listed have 1",
        },
        OptionEntry {
            name: "costs",
            default: "",
            values: "<path:class,path:class,...>",
            summary: "cost classes, 0 to 255, cheapest first; paths not listed have 0",
        },
        OptionEntry {
            name: "quotas",
            default: "",
            values: "<path:bytes,path:bytes,...>",
            summary: "payload bytes of new data that a path may carry; paths not listed have no limit",
        },
        OptionEntry {
            name: "patience",
            default: "0",
            values: "<0..60000>",
            summary: "ms that a message waits for a cheaper path before it takes a dearer one",
        },
        OptionEntry {
            name: "full",
            default: "others",
            values: "others|wait",
            summary: "when the path whose turn it is is full: others take its turn, or it is waited for",
        },
    ]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let paths = || 0..=u8::MAX;
    let config = WeightedConfig {
        weights: by_path(options.map("weights", paths(), 0..=u16::MAX)?),
        costs: by_path(options.map("costs", paths(), 0..=u8::MAX)?),
        quotas: by_path(options.map("quotas", paths(), 0..=u64::MAX)?),
        patience: Duration::from_millis(options.number("patience", 0..=60_000)?),
        when_full: options
            .choice("full", &[("others", WhenFull::Others), ("wait", WhenFull::Wait)])?,
    };
    Ok(Box::new(move |_, _| Box::new(Weighted::new(config.clone()))))
}

fn by_path<V>(map: BTreeMap<u8, V>) -> BTreeMap<PathId, V> {
    map.into_iter().map(|(path, value)| (PathId(path), value)).collect()
}

/// What the user wants of the paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeightedConfig {
    /// Shares; paths that are not listed have 1.
    pub weights: BTreeMap<PathId, u16>,
    /// Cost classes, cheapest first; paths that are not listed have 0.
    pub costs: BTreeMap<PathId, u8>,
    /// Payload bytes of new data that a path may carry; paths that are not listed have no limit.
    pub quotas: BTreeMap<PathId, u64>,
    /// How long a message waits before it takes a path that is not of the cheapest class.
    pub patience: Duration,
    /// What happens when a path cannot take its turn.
    pub when_full: WhenFull,
}

/// What happens when the path whose turn it is is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The next one takes the turn: all windows are used, and shares hold while they are not full.
    #[default]
    Others,
    /// It is waited for: shares hold, and the slowest path for its weight sets the rate.
    Wait,
}

/// Weighted, cost-aware scheduler.
#[derive(Clone, Debug)]
pub struct Weighted {
    config: WeightedConfig,
    queue: FairQueue,
    /// Payload bytes sent.
    sent: BTreeMap<PathId, u64>,
    open: OpenPacket,
}

impl Weighted {
    /// A scheduler that has sent nothing.
    pub fn new(config: WeightedConfig) -> Self {
        let (queue, open) = (FairQueue::default(), OpenPacket::default());
        Self { config, queue, sent: BTreeMap::new(), open }
    }

    fn weight_of(&self, path: PathId) -> u16 {
        self.config.weights.get(&path).copied().unwrap_or(1)
    }

    fn cost_of(&self, path: &PathView) -> u8 {
        self.config.costs.get(&path.id).copied().unwrap_or(0)
    }

    fn sent_on(&self, path: PathId) -> u64 {
        self.sent.get(&path).copied().unwrap_or(0)
    }

    fn is_granted(&self, path: &PathView) -> bool {
        let within = |&quota: &u64| self.sent_on(path.id) < quota;
        self.weight_of(path.id) > 0 && self.config.quotas.get(&path.id).is_none_or(within)
    }

    /// The paths that may carry data: all that are usable if none of them has a weight and a quota
    /// left.
    fn quota_of<'a>(
        &self,
        view: &AssocView<'a>,
    ) -> impl Iterator<Item = &'a PathView> + use<'a, '_> {
        let any = view.usable().any(|p| self.is_granted(p));
        view.usable().filter(move |p| !any || self.is_granted(p))
    }

    fn choose_path(&self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        // Nothing else would wake us up.
        let stuck = !in_flight(view);
        let Some(class) = self.quota_of(view).filter(|p| p.sendable).map(|p| self.cost_of(p)).min()
        else {
            let any = least_by(view.sendable().filter(|_| stuck), |p| self.queue.start_of(p.id));
            return any.map_or(PathPick::Wait, |p| PathPick::Use(p.id));
        };
        let cheapest = self.quota_of(view).map(|p| self.cost_of(p)).min();
        let until = next.enqueued + self.config.patience;
        if cheapest < Some(class) && view.now < until {
            return PathPick::WaitUntil(until);
        }
        let of_class = || self.quota_of(view).filter(|p| self.cost_of(p) == class);
        let waits = self.config.when_full == WhenFull::Wait && !stuck;
        least_by(of_class().filter(|p| waits || p.sendable), |p| self.queue.start_of(p.id))
            .filter(|p| p.sendable)
            .map_or(PathPick::Wait, |p| PathPick::Use(p.id))
    }
}

impl Policy for Weighted {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for Weighted {
    fn begin_attempt(&mut self, _view: &AssocView<'_>, _why: Trigger) {
        self.open.close();
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let open = self.open.path_for(next).and_then(|p| view.path(p));
        match open.filter(|p| p.sendable && self.is_granted(p)) {
            Some(bundle) => PathPick::Use(bundle.id),
            None => self.choose_path(view, next),
        }
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.open.on_sent(view, path, chunk, new_packet);
        self.queue.on_sent(path, chunk.bytes, self.weight_of(path).max(1).into());
        let sent = self.sent.entry(path).or_default();
        *sent = sent.saturating_add(chunk.bytes.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;
    use crate::test_views::{chunk, paths, send, view};
    use polypath_proto::config::CcConfig;
    use polypath_proto::rng::Rng;
    use polypath_proto::time::Time;

    fn scheduler(text: &str) -> Box<dyn PathScheduler> {
        let recipe = Registry::builtin().path_scheduler(text).expect("valid");
        recipe(&CcConfig::default(), &mut Rng::from_u64(1))
    }

    /// Sends packets of 1452 bytes; says which path took each.
    fn walk(weighted: &mut dyn PathScheduler, p: &mut [PathView], packets: usize) -> Vec<u8> {
        let mut next = || {
            let PathPick::Use(id) = weighted.pick_path(&view(p), &chunk(0, 1452)) else {
                panic!("a path is open")
            };
            send(p, weighted, id, 1452);
            id.0
        };
        (0..packets).map(|_| next()).collect()
    }

    #[test]
    fn shares_by_weight() {
        let mut weighted = scheduler("weighted?weights=0:2,2:0");
        // Starts in half packets: path 0 at 0, 1, 2, ...; path 1 at 0, 2, 4, ...; the first of
        // equals first.
        let order = walk(&mut *weighted, &mut paths(3), 9);
        assert_eq!(order, [0, 1, 0, 0, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn a_full_path_loses_its_turn_or_is_waited_for() {
        let mut p = paths(2);
        p[0].sendable = false;
        assert_eq!(walk(&mut *scheduler("weighted"), &mut p, 3), [1, 1, 1]);
        p[1].outstanding = 0;
        let mut strict = scheduler("weighted?full=wait");
        assert_eq!(walk(&mut *strict, &mut p, 1), [1], "nothing in flight: path 0 will not open");
        assert_eq!(strict.pick_path(&view(&p), &chunk(0, 1452)), PathPick::Wait);
        p[0].sendable = true;
        assert_eq!(walk(&mut *strict, &mut p, 3), [0, 0, 1]);
    }

    #[test]
    fn a_path_that_opens_has_no_arrears() {
        let mut weighted = scheduler("weighted");
        let mut p = paths(2);
        p[0].sendable = false;
        walk(&mut *weighted, &mut p, 10);
        p[0].sendable = true;
        // Path 1's tenth packet started at 9 and ended at 10; path 0 starts at 9.
        assert_eq!(walk(&mut *weighted, &mut p, 5), [0, 0, 1, 0, 1]);
    }

    #[test]
    fn a_metered_path_is_used_when_the_free_ones_are_full() {
        let mut weighted = scheduler("weighted?costs=0:7");
        let mut p = paths(3);
        assert_eq!(walk(&mut *weighted, &mut p, 4), [1, 2, 1, 2]);
        p[1].sendable = false;
        assert_eq!(walk(&mut *weighted, &mut p, 2), [2, 2]);
        p[2].sendable = false;
        assert_eq!(walk(&mut *weighted, &mut p, 1), [0]);
    }

    #[test]
    fn patience_comes_before_the_metered_path() {
        let mut weighted = scheduler("weighted?costs=1:1&patience=50");
        let mut p = paths(2);
        p[0].sendable = false;
        let mut next = chunk(0, 1452);
        next.enqueued = Time::from_millis(960);
        // The present is 1 s.
        assert_eq!(
            weighted.pick_path(&view(&p), &next),
            PathPick::WaitUntil(Time::from_millis(1010))
        );
        next.enqueued = Time::from_millis(950);
        assert_eq!(weighted.pick_path(&view(&p), &next), PathPick::Use(PathId(1)));
        (p[0].usable, next.enqueued) = (false, Time::from_millis(990));
        assert_eq!(
            weighted.pick_path(&view(&p), &next),
            PathPick::Use(PathId(1)),
            "none is cheaper"
        );
    }

    #[test]
    fn a_spent_quota_leaves_the_last_resort() {
        let mut weighted = scheduler("weighted?quotas=0:2904");
        let mut p = paths(2);
        assert_eq!(walk(&mut *weighted, &mut p, 6), [0, 1, 0, 1, 1, 1]);
        p[1].sendable = false;
        assert_eq!(weighted.pick_path(&view(&p), &chunk(0, 1452)), PathPick::Wait);
        p[1].usable = false;
        assert_eq!(walk(&mut *weighted, &mut p, 1), [0]);
    }
}
