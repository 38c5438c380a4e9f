//! Congestion control.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, CongestionControl, LossInfo};
use polypath_proto::view::LossKind;

use super::world::World;
use super::{check_name, same_twice};

const STEPS: usize = 2000;

/// Checks a congestion control: every window is at least one byte, whatever happens, and a group is
/// named by its lowest path.
///
/// # Panics
/// When a window is zero, a group is named by a path that is not its lowest, or the control decides
/// differently in a second run.
pub fn check_congestion(make: impl Fn(u64) -> Box<dyn CongestionControl>, seed: u64) {
    check_name(&*make(seed));
    let what = make(seed).name();
    same_twice(what, seed, || Drive { cc: make(seed), world: World::new(seed), seed }.run_steps());
}

struct Drive {
    cc: Box<dyn CongestionControl>,
    world: World,
    seed: u64,
}

impl Drive {
    fn run_steps(mut self) -> Vec<(u64, u64)> {
        for id in 0..self.world.paths.len() as u8 {
            self.cc.path_added(&self.world.view(), PathId(id));
            self.read_back(id + 1);
        }
        let mut windows = Vec::new();
        for _ in 0..STEPS {
            self.world.disturb_path();
            self.read_back(self.world.paths.len() as u8);
            self.take_step();
            windows.extend(self.read_back(self.world.paths.len() as u8));
        }
        windows
    }

    fn take_step(&mut self) {
        let path = PathId(self.world.rng.below(self.world.paths.len()) as u8);
        let kind = [LossKind::FastRetransmit, LossKind::Timeout][self.world.rng.below(2)];
        match self.world.rng.below(12) {
            0 => self.cc.on_lost(&self.world.view(), &LossInfo { path, kind }),
            1 => self.cc.on_idle(&self.world.view(), path),
            2 => {
                let mtus = 1 + self.world.rng.below(4) as u32;
                self.cc.on_resumed(&self.world.view(), path, mtus);
            }
            _ => self.on_acked(path),
        }
        self.cc.sack_done(&self.world.view());
    }

    /// The path had filled its window, or half of it; some of that was acknowledged.
    fn on_acked(&mut self, path: PathId) {
        let cwnd = self.cc.cwnd(path);
        let outstanding_before = if self.world.rng.below(4) == 0 { cwnd / 2 } else { cwnd };
        let bytes = (1 + self.world.rng.below(3000) as u64).min(outstanding_before);
        let may_grow = self.world.rng.below(5) > 0;
        let outstanding = outstanding_before - bytes;
        let rtt = self.world.paths.get(path.index()).and_then(|p| p.last_rtt);
        let info = AckedInfo {
            path,
            bytes,
            outstanding_before,
            outstanding,
            may_grow,
            rtt,
            sack_path: path,
        };
        self.cc.on_acked(&self.world.view(), &info);
    }

    /// The windows of the first `count` paths go into the view, as the engine does it.
    fn read_back(&mut self, count: u8) -> Vec<(u64, u64)> {
        let mut windows = Vec::new();
        for path in self.world.paths.iter_mut().take(count.into()) {
            (path.cwnd, path.ssthresh) = (self.cc.cwnd(path.id), self.cc.ssthresh(path.id));
            let (name, seed) = (self.cc.name(), self.seed);
            assert!(path.cwnd > 0, "{name}, seed {seed}: the window of {} is zero", path.id);
            windows.push((path.cwnd, path.ssthresh));
            path.group = self.cc.group_of(path.id);
            let named = self.cc.group_of(path.group) == path.group && path.group <= path.id;
            assert!(named, "{name}, seed {seed}: {} is in group {}", path.id, path.group);
        }
        windows
    }
}
