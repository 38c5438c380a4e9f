//! Path schedulers.

use polypath_proto::PathId;
use polypath_proto::ids::StreamId;
use polypath_proto::policy::{PathChange, PathPick, PathScheduler, Trigger};
use polypath_proto::time::Time;
use polypath_proto::view::ChunkMeta;

use super::world::World;
use super::{check_name, ensure, same_decisions};

/// Enough streams that any map of streams to paths has one for each path.
const STREAMS: u16 = 16;
const STEPS: usize = 400;
const MAX_BURST: u32 = 4;
/// Rounds with an open path in which nothing may be sent, at most: feedback comes in between.
const PATIENCE: u32 = 64;
const TRIGGERS: [Trigger; 4] = [Trigger::Sack, Trigger::Write, Trigger::Timer, Trigger::Path];

/// Checks a path scheduler.
///
/// It may wait for a better path while something is in flight, for a bounded number of rounds. When
/// nothing is in flight, all usable paths are open and every stream has data, it must send (or say
/// when it will).
///
/// # Panics
/// When the scheduler breaks a rule.
pub fn check_path_scheduler(make: impl Fn(u64) -> Box<dyn PathScheduler>, seed: u64) {
    check_name(&*make(seed));
    examine_path_scheduler(make, seed).unwrap_or_else(|broken| panic!("{broken}"));
}

/// The same for whoever has another use for what is wrong.
///
/// # Errors
/// The first rule that the scheduler breaks, in a line.
pub fn examine_path_scheduler(
    make: impl Fn(u64) -> Box<dyn PathScheduler>,
    seed: u64,
) -> Result<(), String> {
    let scheduler = make(seed);
    let what = scheduler.name();
    let first = Drive::new(scheduler, seed).run_rounds()?;
    let second = Drive::new(make(seed), seed).run_rounds()?;
    same_decisions(what, seed, &first, &second)
}

struct Drive {
    scheduler: Box<dyn PathScheduler>,
    world: World,
    seed: u64,
    /// Max.Burst, left in this round, per path.
    bursts: Vec<u32>,
    /// Room in the packet under construction, and its path.
    packet: Option<(PathId, u32)>,
    picks: Vec<PathPick>,
    barren: u32,
}

impl Drive {
    fn new(scheduler: Box<dyn PathScheduler>, seed: u64) -> Self {
        let world = World::new(seed);
        Self {
            scheduler,
            world,
            seed,
            bursts: Vec::new(),
            packet: None,
            picks: Vec::new(),
            barren: 0,
        }
    }

    fn run_rounds(mut self) -> Result<Vec<PathPick>, String> {
        for id in 0..self.world.paths.len() as u8 {
            self.scheduler.on_path_change(&self.world.view(), PathId(id), PathChange::Added);
        }
        for step in 0..STEPS {
            if let Some((path, change)) = self.world.disturb_path() {
                self.scheduler.on_path_change(&self.world.view(), path, change);
            }
            // Every eighth round finds an empty network.
            self.world.acknowledge_flight(step % 8 == 7);
            self.run_round()?;
            self.world.acknowledge_flight(false);
        }
        Ok(self.picks)
    }

    fn run_round(&mut self) -> Result<(), String> {
        self.bursts = vec![MAX_BURST; self.world.paths.len()];
        self.packet = None;
        self.mark_sendable();
        let view = self.world.view();
        let empty = view.paths.iter().all(|p| p.outstanding == 0);
        let open = view.sendable().next().is_some();
        self.scheduler.begin_attempt(&view, TRIGGERS[self.picks.len() % TRIGGERS.len()]);
        let before = self.picks.len();
        let mut sent = 0;
        while self.send_one()? {
            sent += 1;
        }
        self.scheduler.end_attempt(&self.world.view());
        let will = self.picks[before..].iter().any(|p| matches!(p, PathPick::WaitUntil(_)));
        self.barren = if sent > 0 || !open { 0 } else { self.barren + 1 };
        let (name, seed) = (self.scheduler.name(), self.seed);
        ensure(sent > 0 || will || !open || !empty, || {
            format!("{name}, seed {seed}: waits in an empty network, where nothing will wake it")
        })?;
        ensure(self.barren <= PATIENCE, || {
            format!("{name}, seed {seed}: starves for {PATIENCE} rounds")
        })
    }

    /// One chunk, of the first stream that the scheduler does not skip. False ends the round.
    fn send_one(&mut self) -> Result<bool, String> {
        self.mark_sendable();
        let first = self.world.rng.below(STREAMS.into()) as u16;
        let bytes = 1 + self.world.rng.below(500) as u32;
        for i in 0..STREAMS {
            let chunk = ChunkMeta::whole(StreamId((first + i) % STREAMS), bytes);
            let pick = self.scheduler.pick_path(&self.world.view(), &chunk);
            self.picks.push(pick);
            match pick {
                PathPick::Use(path) => {
                    self.transmit_chunk(path, &chunk)?;
                    return Ok(true);
                }
                PathPick::Skip => {}
                PathPick::Wait => return Ok(false),
                PathPick::WaitUntil(at) => return self.check_wait(at).map(|()| false),
            }
        }
        Ok(false)
    }

    fn check_wait(&self, at: Time) -> Result<(), String> {
        let (name, seed) = (self.scheduler.name(), self.seed);
        ensure(at > self.world.now, || {
            format!("{name}, seed {seed}: waits until {at}, which has passed")
        })
    }

    fn transmit_chunk(&mut self, path: PathId, chunk: &ChunkMeta) -> Result<(), String> {
        let (name, seed) = (self.scheduler.name(), self.seed);
        let view = self.world.view();
        let chosen = view.path(path);
        let chosen = chosen.ok_or_else(|| format!("{name}, seed {seed}: {path} does not exist"))?;
        ensure(chosen.sendable, || format!("{name}, seed {seed}: {path} is not sendable"))?;
        let len = (chunk.bytes + 16).next_multiple_of(4);
        let room = self.packet.filter(|&(open, room)| open == path && len <= room);
        let left = room.map_or(chosen.pmdcs, |(_, room)| room) - len;
        self.packet = Some((path, left));
        self.world.transmit_chunk(path, chunk.bytes);
        if room.is_none() {
            self.bursts[path.index()] -= 1;
        }
        // As in the engine, the view that `sent` sees has the flags of the pick.
        self.scheduler.on_sent(&self.world.view(), path, chunk, room.is_none());
        Ok(())
    }

    fn mark_sendable(&mut self) {
        for (path, &burst) in self.world.paths.iter_mut().zip(&self.bursts) {
            path.sendable = path.usable && path.has_room() && burst > 0;
        }
    }
}
