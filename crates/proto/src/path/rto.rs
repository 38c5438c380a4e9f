//! Round-trip times and retransmission timeouts (RFC 9260 section 6.3.1), per path.

use super::rtt_probe::Probe;
use super::{Path, PathSet};
use crate::config::RtoConfig;
use crate::ids::PathId;
use crate::time::{Duration, Time};
use crate::trace::{TraceEvent, Tracer};
use crate::view::PathView;

impl PathSet {
    /// Takes an RTT sample on path `p`.
    pub(crate) fn rtt_sample(
        &mut self,
        now: Time,
        p: PathId,
        sample: Duration,
        rto: &RtoConfig,
        tracer: &mut Tracer,
    ) {
        let Some((view, path)) = self.both_mut(p) else { return };
        update_srtt(view, sample);
        view.last_rtt = Some(sample);
        view.min_rtt = Some(view.min_rtt.map_or(sample, |m| m.min(sample)));
        let srtt = view.srtt.unwrap_or(sample);
        path.rto_estimate = (srtt + 4 * view.rttvar).clamp(rto.min, rto.max);
        // C7: a new sample ends the back-off.
        view.rto = path.rto_estimate;
        let (srtt, rto) = (srtt.as_nanos() as u64, view.rto.as_nanos() as u64);
        let sample = sample.as_nanos() as u64;
        tracer.emit(now, || TraceEvent::Rtt { path: p, sample, srtt, rto });
    }
}

/// C2 and C3, with RTO.Alpha 1/8 and RTO.Beta 1/4.
fn update_srtt(view: &mut PathView, sample: Duration) {
    match view.srtt {
        None => {
            view.srtt = Some(sample);
            view.rttvar = sample / 2;
        }
        Some(srtt) => {
            view.rttvar = (view.rttvar * 3 + srtt.abs_diff(sample)) / 4;
            view.srtt = Some((srtt * 7 + sample) / 8);
        }
    }
}

/// E2: doubles the timeout of a path after T3-rtx or a heartbeat expired.
pub(crate) fn back_off(view: &mut PathView, rto: &RtoConfig) {
    view.rto = (view.rto * 2).min(rto.max);
}

impl Path {
    /// Starts timing `tsn` unless another chunk is being timed.
    pub(crate) fn start_probe(&mut self, tsn: u64, sent: Time) {
        if self.rtt_probe.is_none() {
            self.rtt_probe = Some(Probe { tsn, sent, acked_elsewhere: None });
        }
    }

    /// Karn: a chunk that is sent again, or moved, gives no sample.
    pub(crate) fn cancel_probe(&mut self, tsn: u64) {
        if self.rtt_probe.is_some_and(|p| p.tsn == tsn) {
            self.rtt_probe = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_the_formulas_of_rfc_9260() {
        let ms = Duration::from_millis;
        let mut view = PathView::new(PathId(0), 1500, 1468, ms(1000));
        update_srtt(&mut view, ms(100));
        assert_eq!((view.srtt, view.rttvar), (Some(ms(100)), ms(50)));
        update_srtt(&mut view, ms(180));
        assert_eq!(view.srtt, Some(ms(110)));
        assert_eq!(view.rttvar, Duration::from_micros(57_500));
        back_off(&mut view, &RtoConfig::default());
        assert_eq!(view.rto, ms(2000));
    }
}
