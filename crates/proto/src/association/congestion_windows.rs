//! Congestion windows in the views that policies see.

use crate::path::PathSet;
use crate::policy::CongestionControl;
use crate::sender::Sender;
use crate::time::Time;
use crate::trace::{TraceEvent, Tracer};

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
    for (view, own) in paths.iter_mut() {
        view.rate_based = is_rate_based;
        if is_rate_based {
            view.bandwidth = congestion.bandwidth(view.id);
            if congestion.holds_back(view.id) {
                own.delivery_rate.mark_app_limited(view);
            }
        }
        let (cwnd, ssthresh) = (congestion.cwnd(view.id), congestion.ssthresh(view.id));
        let (path, group) = (view.id, congestion.group_of(view.id));
        if view.group != group {
            view.group = group;
            tracer.emit(now, || TraceEvent::Group { path, group });
        }
        let cwnd = tx.recovery.window(view.id, view.outstanding).unwrap_or(cwnd);
        if (view.cwnd, view.ssthresh) != (cwnd, ssthresh) {
            (view.cwnd, view.ssthresh) = (cwnd, ssthresh);
            let (path, outstanding) = (view.id, view.outstanding);
            tracer.emit(now, || TraceEvent::Window { path, cwnd, ssthresh, outstanding });
        }
    }
}
