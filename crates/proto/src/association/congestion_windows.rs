//! Congestion windows in the views that policies see.

use crate::path::PathSet;
use crate::policy::CongestionControl;
use crate::sender::Sender;
use crate::time::Time;
use crate::trace::{TraceEvent, Tracer};
use crate::view::AssocView;

/// The paths, bit p for path p, of which something became another.
#[derive(Clone, Copy, Debug, Default)]
struct Changed {
    groups: u32,
    windows: u32,
}

/// Copies the congestion windows into the views of the paths. Where PRR governs a path in fast
/// recovery (RFC 6937), its window stands for that of the congestion control.
pub(super) fn refresh(
    now: Time,
    congestion: &dyn CongestionControl,
    paths: &mut PathSet,
    tx: &Sender,
    tracer: &mut Tracer,
) {
    let is_rate_based = congestion.is_rate_based();
    let mut changed = Changed::default();
    for (view, own) in paths.iter_mut() {
        view.rate_based = is_rate_based;
        if is_rate_based {
            view.bandwidth = congestion.bandwidth(view.id);
            if congestion.holds_back(view.id) {
                own.delivery_rate.mark_app_limited(view);
            }
        }
        let (cwnd, ssthresh) = (congestion.cwnd(view.id), congestion.ssthresh(view.id));
        let group = congestion.group_of(view.id);
        if view.group != group {
            view.group = group;
            changed.groups |= 1 << view.id.0;
        }
        let cwnd = tx.recovery.window(view.id, view.outstanding).unwrap_or(cwnd);
        if (view.cwnd, view.ssthresh) != (cwnd, ssthresh) {
            (view.cwnd, view.ssthresh) = (cwnd, ssthresh);
            changed.windows |= 1 << view.id.0;
        }
    }
    if tracer.is_on() {
        trace(congestion, &tx.view(now, paths), changed, tracer);
    }
}

/// Records what changed, and the phases that did.
#[inline(never)]
fn trace(
    congestion: &dyn CongestionControl,
    view: &AssocView<'_>,
    changed: Changed,
    tracer: &mut Tracer,
) {
    for own in view.paths {
        let (path, bit) = (own.id, 1 << own.id.0);
        if changed.groups & bit != 0 {
            tracer.emit(view.now, || TraceEvent::Group { path, group: own.group });
        }
        let phase = congestion.phase(path);
        if tracer.note_phase(path, phase) || changed.windows & bit != 0 {
            let (cwnd, ssthresh, outstanding) = (own.cwnd, own.ssthresh, own.outstanding);
            let rate = congestion.pacing_rate(view, path);
            let pacing_rate = rate.filter(|_| own.rate_based);
            tracer.emit(view.now, || TraceEvent::Window {
                path,
                cwnd,
                ssthresh,
                outstanding,
                phase,
                pacing_rate,
            });
        }
    }
}
