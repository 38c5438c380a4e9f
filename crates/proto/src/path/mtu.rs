//! The state machine of path MTU discovery for one path (RFC 8899 section 5). Sizes are those of IP
//! packets.

use crate::config::{PathMtuDiscovery, smallest_mtu};
use crate::stats::{MtuState, PathMtuStats};
use crate::time::Time;

/// Sizes that links and tunnels have, so that most searches end after few probes. Multiples of 4,
/// as SCTP packets are.
const USUAL: [u32; 20] = [
    1280, 1360, 1400, 1420, 1428, 1440, 1452, 1460, 1472, 1480, 1492, 1500, 2048, 4352, 4464, 8192,
    9000, 9216, 16_384, 32_768,
];

/// What IPv4 hosts take in any case (RFC 791), where the base size does not pass.
const RESCUE_V4: u32 = 576;

/// Discovery on one path.
#[derive(Debug)]
pub(crate) struct MtuSearch {
    limits: Limits,
    state: MtuState,
    /// PLPMTU: packets of this size pass.
    plpmtu: u32,
    /// The smallest size that is known not to pass; one above the maximum while none is.
    refused: u32,
    /// PROBED_SIZE.
    probed: u32,
    /// PROBE_COUNT: probes of that size that were lost.
    lost: u32,
    /// The nonce of the probe in flight.
    probe: Option<u64>,
    /// The probe in flight is lost, or the next is due; `Time::MAX`: neither.
    timer: Time,
    /// A round trip after the latest probe: no other goes sooner (RFC 8899 section 3).
    not_before: Time,
    /// What a router said that its link carries.
    hint: Option<u32>,
    /// PMTU_RAISE_TIMER expired: the next larger size is tried.
    raising: bool,
    /// Data was lost: is PLPMTU still right?
    doubt: Doubt,
    stats: PathMtuStats,
}

/// Whether PLPMTU is being tested because data was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    None,
    /// Probes of PLPMTU are under way; nothing small was answered meanwhile.
    Open,
    /// A small heartbeat was answered: the path lives.
    Alive,
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    config: PathMtuDiscovery,
    base: u32,
    max: u32,
    /// The user's guess.
    first: u32,
    v4: bool,
}

/// What came of a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MtuStep {
    /// A probe of this size is to be sent.
    pub(crate) probe: Option<u32>,
    /// PLPMTU was wrong: data of that size vanishes.
    pub(crate) black_hole: bool,
}

impl MtuSearch {
    pub(crate) fn new(config: PathMtuDiscovery, first: u32, v4: bool) -> Self {
        let floor = if v4 { RESCUE_V4 } else { smallest_mtu(false) };
        let base = (config.base & !3).max(floor);
        let max = (config.max.min(65_535) & !3).max(base);
        let first = first & !3;
        Self {
            limits: Limits { config, base, max, first, v4 },
            state: MtuState::Disabled,
            plpmtu: base,
            refused: max + 1,
            probed: base,
            lost: 0,
            probe: None,
            timer: Time::MAX,
            not_before: Time::ZERO,
            hint: None,
            raising: false,
            doubt: Doubt::None,
            stats: PathMtuStats::default(),
        }
    }

    pub(crate) const fn plpmtu(&self) -> u32 {
        self.plpmtu
    }

    pub(crate) const fn timer(&self) -> Time {
        self.timer
    }

    pub(crate) const fn stats(&self) -> PathMtuStats {
        PathMtuStats { mtu: self.plpmtu, state: self.state, ..self.stats }
    }

    /// Not even the base size passes: IP may fragment whatever goes this way (RFC 8899 section 5.2,
    /// ERROR).
    pub(crate) fn is_in_error(&self) -> bool {
        self.state == MtuState::Error
    }

    /// The path is connected: probing begins, if it has not. After ERROR, with the question whether
    /// the base size passes now.
    pub(crate) fn start(&mut self, now: Time) {
        match self.state {
            MtuState::Disabled => self.enter_base(now),
            MtuState::Error if self.timer == Time::MAX => self.test(now, self.limits.base),
            _ => {}
        }
    }

    /// No probes while nothing can answer them: the association ends, or the path is down.
    pub(crate) const fn stop(&mut self) {
        self.state = MtuState::Disabled;
        self.pause();
    }

    const fn pause(&mut self) {
        self.timer = Time::MAX;
        self.probe = None;
    }

    /// A probe is due or lost, and the path has failed. RFC 8899 section 5.2: DISABLED without
    /// connectivity, and from the base on once it is back. But perhaps the path failed because not
    /// even the base size passes: then that is found out first, and remembered, or everything else
    /// would be too large for ever. True if there is nothing more to find out.
    pub(crate) const fn path_failed(&mut self) -> bool {
        match self.state {
            MtuState::Base => return false,
            MtuState::Error => self.pause(),
            _ => self.stop(),
        }
        true
    }

    fn enter_base(&mut self, now: Time) {
        self.state = MtuState::Base;
        self.plpmtu = self.limits.base;
        self.raising = false;
        self.doubt = Doubt::None;
        self.test(now, self.limits.base);
    }

    fn test(&mut self, now: Time, size: u32) {
        let at = now.max(self.not_before);
        (self.probed, self.lost, self.probe, self.timer) = (size, 0, None, at);
    }

    /// The timer expired: a probe is lost, or due.
    pub(crate) fn expired(&mut self, now: Time) -> MtuStep {
        self.timer = Time::MAX;
        if self.state == MtuState::Complete && self.doubt == Doubt::None {
            return self.raise(now);
        }
        if self.probe.take().is_some() {
            self.lost += 1;
            if self.lost >= self.limits.config.max_probes.max(1) {
                return self.give_up(now);
            }
        }
        MtuStep { probe: Some(self.probed), black_hole: false }
    }

    fn raise(&mut self, now: Time) -> MtuStep {
        let next = self.refused.next_multiple_of(4).min(self.limits.max);
        if next <= self.plpmtu {
            return MtuStep::default();
        }
        self.state = MtuState::Searching;
        self.raising = true;
        self.test(now, next);
        MtuStep { probe: Some(next), black_hole: false }
    }

    /// The probed size does not pass.
    fn give_up(&mut self, now: Time) -> MtuStep {
        if self.doubt != Doubt::None {
            let black_hole = self.doubt == Doubt::Alive;
            self.doubt = Doubt::None;
            if black_hole {
                self.fall(now);
            } else {
                // The path is down: that says nothing of sizes.
                self.conclude(now);
            }
            return MtuStep { probe: None, black_hole };
        }
        if matches!(self.state, MtuState::Base | MtuState::Error) {
            self.fail(now);
            return MtuStep::default();
        }
        self.refused = self.refused.min(self.probed);
        self.go_on(now);
        MtuStep::default()
    }

    /// ERROR: waits a while, then asks again whether the base size passes.
    fn fail(&mut self, now: Time) {
        self.state = MtuState::Error;
        self.plpmtu = if self.limits.v4 { RESCUE_V4 } else { smallest_mtu(false) };
        self.test(now + self.limits.config.raise_timer / 10, self.limits.base);
    }

    /// PLPMTU is too large: back to the base, and a new search below what it was.
    fn fall(&mut self, now: Time) {
        self.refused = self.refused.min(self.plpmtu);
        self.stats.black_holes += 1;
        self.enter_base(now);
    }

    /// Data vanishes while small packets arrive.
    pub(crate) fn black_hole(&mut self, now: Time) -> bool {
        let large = self.plpmtu > self.limits.base;
        if large {
            self.fall(now);
        }
        large
    }

    /// Data was lost: is it because of its size? True if probes are to tell, and a small heartbeat
    /// beside them.
    pub(crate) fn doubt(&mut self, now: Time) -> bool {
        let proven = matches!(self.state, MtuState::Searching | MtuState::Complete);
        if !proven || self.doubt != Doubt::None || self.plpmtu <= self.limits.base {
            return false;
        }
        self.doubt = Doubt::Open;
        self.test(now, self.plpmtu);
        true
    }

    /// Somebody says that what is known to pass does not. Told by a stranger: no reason to give up
    /// a probe that is under way, whose silence would tell as much.
    pub(crate) fn doubt_for_report(&mut self, now: Time) -> bool {
        self.probe.is_none() && self.doubt(now)
    }

    /// A small heartbeat was answered.
    pub(crate) fn heartbeat_answered(&mut self) {
        if self.doubt == Doubt::Open {
            self.doubt = Doubt::Alive;
        }
    }

    /// A probe with `nonce` goes out; it is lost if nothing is heard of it until `deadline`.
    /// `round` is over a round trip from now.
    pub(crate) const fn sent(&mut self, nonce: u64, round: Time, deadline: Time) {
        self.probe = Some(nonce);
        self.not_before = round;
        self.timer = deadline;
        self.stats.probes_sent += 1;
    }

    /// The answer to a HEARTBEAT with `nonce` came: was it the probe?
    pub(crate) fn answered(&mut self, now: Time, nonce: u64) -> bool {
        if self.probe != Some(nonce) {
            return false;
        }
        self.probe = None;
        self.not_before = now;
        self.stats.probes_acked += 1;
        if self.doubt != Doubt::None {
            self.doubt = Doubt::None;
            self.conclude(now);
            return true;
        }
        if core::mem::take(&mut self.raising) {
            self.refused = self.limits.max + 1;
        }
        self.plpmtu = self.probed;
        self.refused = self.refused.max(self.plpmtu + 1);
        self.go_on(now);
        true
    }

    /// The next size, or the end of the search.
    fn go_on(&mut self, now: Time) {
        match self.next_size().filter(|_| !self.raising) {
            Some(size) => {
                self.state = MtuState::Searching;
                self.test(now, size);
            }
            None => self.complete(now),
        }
    }

    /// After a test of PLPMTU itself: on with what was under way.
    fn conclude(&mut self, now: Time) {
        if self.state == MtuState::Complete { self.complete(now) } else { self.go_on(now) }
    }

    fn complete(&mut self, now: Time) {
        self.state = MtuState::Complete;
        self.raising = false;
        self.probe = None;
        let more = self.plpmtu < self.limits.max;
        self.timer = if more { now + self.limits.config.raise_timer } else { Time::MAX };
    }

    /// What to try: what a router or the user said, the maximum, usual sizes, and then halves,
    /// until the rest is not worth a loss.
    fn next_size(&mut self) -> Option<u32> {
        let (low, high) = (self.plpmtu, self.refused);
        let open = |size: &u32| *size > low && *size < high && *size <= self.limits.max;
        let candidates = self.hint.take().into_iter().chain([self.limits.first, self.limits.max]);
        if let Some(size) = candidates.into_iter().find(open) {
            return Some(size);
        }
        let usual = USUAL.iter().copied().filter(open);
        if let Some(size) = usual.clone().nth(usual.count() / 2) {
            return Some(size);
        }
        let gap = high - low;
        let worth = (low / 128).max(8);
        Some((low + gap / 2) & !3).filter(|size| gap > worth && open(size))
    }

    /// A router's link carries `size` at most, says a message that proved to be about a packet of
    /// ours (RFC 8899 section 4.6.2). False if it makes no sense.
    pub(crate) fn too_big(&mut self, now: Time, size: u32) -> bool {
        let size = size & !3;
        let probing = self.probe.is_some() && self.doubt == Doubt::None;
        let greatest = if probing { self.probed.max(self.plpmtu) } else { self.plpmtu };
        if size < smallest_mtu(self.limits.v4) || size >= greatest {
            return false;
        }
        if self.state == MtuState::Disabled {
            return false;
        }
        if size < self.limits.base {
            self.refused = self.refused.min(self.limits.base + 1);
            self.fail(now);
        } else if size < self.plpmtu {
            self.refused = self.refused.min(size + 1);
            self.hint = Some(size);
            self.enter_base(now);
        } else {
            // What fits is still right; what was tried does not fit.
            self.refused = self.refused.min(size + 1);
            self.hint = Some(size);
            self.raising = false;
            self.go_on(now);
        }
        true
    }

    /// The system refuses to send `size` bytes at once.
    pub(crate) fn refused(&mut self, now: Time, size: u32) {
        // Nothing was sent.
        self.not_before = now;
        if size <= self.limits.base && self.state != MtuState::Disabled {
            self.refused = self.refused.min(self.limits.base + 1);
            self.fail(now);
        } else if size > self.plpmtu {
            self.refused = self.refused.min(size).max(self.plpmtu + 1);
            if self.probe.is_some() && self.probed >= size {
                self.raising = false;
                self.go_on(now);
            }
        } else if self.state != MtuState::Disabled {
            self.refused = self.refused.min(size);
            self.plpmtu = self.plpmtu.min(self.limits.base);
            self.enter_base(now);
        }
    }
}

#[cfg(test)]
mod tests;
