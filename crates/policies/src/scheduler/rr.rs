//! `rr`: CMT round robin.

use polypath_proto::PathId;
use polypath_proto::policy::{PathPick, PathScheduler, Policy, Trigger};
use polypath_proto::view::{AssocView, ChunkMeta, PathView};

use super::open_packet::OpenPacket;
use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;
use crate::path_order::paths_after;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::path_scheduler("rr", read_options)
    .summary("round robin over the paths with an open window")
    .source("S1 section III; its authors' simulator for the walk")
    .options(&[OptionEntry {
        name: "visit",
        default: "fill",
        values: "fill|packet",
        summary: "how long a visit lasts: until the path is full, each path once per round; or one packet",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn PathScheduler>, PolicyError> {
    let visit = options.choice("visit", &[("fill", Visit::Fill), ("packet", Visit::Packet)])?;
    Ok(Box::new(move |_, _| Box::new(RoundRobin::new(visit))))
}

/// How long a visit to a path lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visit {
    /// Until the path takes no more; each path is visited once per round.
    Fill,
    /// For one packet; paths are visited again and again while any of them takes data.
    Packet,
}

/// Round robin. The walk goes on after the path that data was last sent on, in this round or an
/// earlier one.
#[derive(Clone, Copy, Debug)]
pub struct RoundRobin {
    visit: Visit,
    last: Option<PathId>,
    /// First path of this round's walk, and how many paths it has left behind.
    start: usize,
    passed: usize,
    open: OpenPacket,
}

impl RoundRobin {
    /// A round robin that begins with the first path.
    pub fn new(visit: Visit) -> Self {
        Self { visit, last: None, start: 0, passed: 0, open: OpenPacket::default() }
    }

    fn next_in_turn(&mut self, view: &AssocView<'_>) -> Option<PathId> {
        let n = view.paths.len();
        while self.passed < n {
            let here = view.paths.get((self.start + self.passed) % n);
            if let Some(path) = here.filter(|p| p.sendable) {
                return Some(path.id);
            }
            self.passed += 1;
        }
        None
    }

    fn next_packet(&self, view: &AssocView<'_>, next: &ChunkMeta) -> Option<PathId> {
        let bundle = self.open.path_for(next).and_then(|p| view.path(p));
        let others = paths_after(view, self.last);
        bundle.into_iter().chain(others).find(|p: &&PathView| p.sendable).map(|p| p.id)
    }
}

impl Policy for RoundRobin {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl PathScheduler for RoundRobin {
    fn begin_attempt(&mut self, _view: &AssocView<'_>, _why: Trigger) {
        self.start = self.last.map_or(0, |last| last.index() + 1);
        self.passed = 0;
        self.open.close();
    }

    fn pick_path(&mut self, view: &AssocView<'_>, next: &ChunkMeta) -> PathPick {
        let path = match self.visit {
            Visit::Fill => self.next_in_turn(view),
            Visit::Packet => self.next_packet(view, next),
        };
        path.map_or(PathPick::Wait, PathPick::Use)
    }

    fn on_sent(&mut self, view: &AssocView<'_>, path: PathId, chunk: &ChunkMeta, new_packet: bool) {
        self.last = Some(path);
        self.open.on_sent(view, path, chunk, new_packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_views::{chunk, paths, send, view};

    /// Sends until the scheduler waits; each path takes at most `room` packets.
    fn round(rr: &mut RoundRobin, room: [u32; 3], bytes: u32) -> Vec<u8> {
        let mut p = paths(3);
        let mut left = room;
        let mut out = Vec::new();
        rr.begin_attempt(&view(&p), Trigger::Sack);
        loop {
            for (path, left) in p.iter_mut().zip(left) {
                path.sendable = left > 0;
            }
            let PathPick::Use(id) = rr.pick_path(&view(&p), &chunk(0, bytes)) else { return out };
            left[id.index()] -= 1;
            out.push(id.0);
            send(&mut p, rr, id, bytes);
        }
    }

    #[test]
    fn fill_empties_a_path_before_it_goes_on_after_the_last_one() {
        let mut rr = RoundRobin::new(Visit::Fill);
        assert_eq!(round(&mut rr, [2, 0, 3], 1452), [0, 0, 2, 2, 2]);
        assert_eq!(round(&mut rr, [1, 1, 0], 1452), [0, 1], "path 2 was last: begin with 0");
        assert_eq!(round(&mut rr, [1, 1, 1], 1452), [2, 0, 1]);
        assert_eq!(round(&mut rr, [0, 0, 0], 1452), [0u8; 0]);
        assert_eq!(round(&mut rr, [1, 0, 1], 1452), [2, 0], "an idle round moves nothing");
    }

    #[test]
    fn packet_alternates_while_any_path_takes_data() {
        let mut rr = RoundRobin::new(Visit::Packet);
        assert_eq!(round(&mut rr, [3, 1, 2], 1452), [0, 1, 2, 0, 2, 0]);
        assert_eq!(round(&mut rr, [1, 1, 1], 1452), [1, 2, 0]);
    }

    #[test]
    fn a_packet_is_filled_before_the_next_visit() {
        let mut rr = RoundRobin::new(Visit::Packet);
        let p = paths(2);
        rr.begin_attempt(&view(&p), Trigger::Write);
        let mut picks = Vec::new();
        for i in 0..6 {
            // 16 + 351 bytes, padded to 368, twice, and 16 + 716: exactly 1468.
            let next = chunk(0, if i % 3 == 2 { 716 } else { 351 });
            assert_eq!(rr.pick_path(&view(&p), &next), rr.pick_path(&view(&p), &next));
            let PathPick::Use(id) = rr.pick_path(&view(&p), &next) else { panic!("open") };
            picks.push(id.0);
            rr.on_sent(&view(&p), id, &next, i % 3 == 0);
        }
        assert_eq!(picks, [0, 0, 0, 1, 1, 1]);
    }
}
