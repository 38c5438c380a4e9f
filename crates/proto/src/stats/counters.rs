//! The counters of a path as the path keeps them: an endpoint may have thousands of idle
//! associations, so what is known elsewhere is not kept twice.

use super::path::PathStats;
use crate::ids::FourTuple;
use crate::time::Duration;
use crate::view::PathView;

/// See [`PathStats`] for what they mean.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathCounters {
    pub(crate) packets_sent: u64,
    pub(crate) packets_received: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) data_chunks: u64,
    pub(crate) payload_bytes: u64,
    pub(crate) payload_received: u64,
    pub(crate) retransmissions_fast: u64,
    pub(crate) retransmissions_timeout: u64,
    pub(crate) copies: u64,
    pub(crate) fast_recoveries: u64,
    // Of rare events: 32 bits last for years.
    pub(crate) path_silences: u32,
    timeouts: u32,
    timeouts_by_rto: [u32; 5],
    pub(crate) heartbeats_sent: u32,
    pub(crate) heartbeats_acked: u32,
}

impl PathCounters {
    /// The counters with the present state of the path.
    pub(crate) fn stats(&self, tuple: FourTuple, view: &PathView) -> PathStats {
        PathStats {
            path: view.id,
            local: tuple.local,
            remote: tuple.remote,
            packets_sent: self.packets_sent,
            packets_received: self.packets_received,
            bytes_sent: self.bytes_sent,
            data_chunks: self.data_chunks,
            payload_bytes: self.payload_bytes,
            payload_received: self.payload_received,
            retransmissions_fast: self.retransmissions_fast,
            retransmissions_timeout: self.retransmissions_timeout,
            copies: self.copies,
            path_silences: self.path_silences.into(),
            timeouts: self.timeouts.into(),
            timeouts_by_rto: self.timeouts_by_rto.map(u64::from),
            fast_recoveries: self.fast_recoveries,
            heartbeats_sent: self.heartbeats_sent.into(),
            heartbeats_acked: self.heartbeats_acked.into(),
            srtt: view.srtt,
            rto: view.rto,
            cwnd: view.cwnd,
            ssthresh: view.ssthresh,
            outstanding: view.outstanding,
            state: view.state,
        }
    }

    pub(crate) fn count_timeout(&mut self, rto: Duration) {
        self.timeouts = self.timeouts.saturating_add(1);
        let class = match rto.as_secs() {
            0..2 => 0,
            2..4 => 1,
            4..8 => 2,
            8..16 => 3,
            _ => 4,
        };
        if let Some(count) = self.timeouts_by_rto.get_mut(class) {
            *count = count.saturating_add(1);
        }
    }
}
