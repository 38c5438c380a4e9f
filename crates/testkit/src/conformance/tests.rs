//! The checks find what they look for.

use core::cell::Cell;

use polypath_proto::PathId;
use polypath_proto::ids::StreamId;
use polypath_proto::policy::{
    AckedInfo, BufferPolicy, CongestionControl, FirstCome, LossInfo, PathPick, PathScheduler,
    Policy, PrimaryPath, RetransmissionPolicy, Rfc9260Retransmission, RtxPick, SharedBuffer,
    StreamQueues, StreamScheduler,
};
use polypath_proto::view::{AssocView, ChunkMeta, RtxMeta};

use super::*;

/// Answers always the same, which is always wrong somewhere.
#[derive(Debug)]
struct Stubborn<T>(T);

impl<T: Send + Debug> Policy for Stubborn<T> {
    fn name(&self) -> &'static str {
        "stubborn"
    }
}

impl PathScheduler for Stubborn<PathPick> {
    fn pick_path(&mut self, _view: &AssocView<'_>, _next: &ChunkMeta) -> PathPick {
        self.0
    }
}

impl StreamScheduler for Stubborn<Option<StreamId>> {
    fn peek_stream(
        &mut self,
        _queues: &StreamQueues<'_>,
        _eligible: &dyn Fn(StreamId) -> bool,
    ) -> Option<StreamId> {
        self.0
    }
}

impl RetransmissionPolicy for Stubborn<RtxPick> {
    fn pick_path(&mut self, _view: &AssocView<'_>, _chunk: &RtxMeta) -> RtxPick {
        self.0
    }
}

impl BufferPolicy for Stubborn<bool> {
    fn may_take(&self, _view: &AssocView<'_>, _path: PathId, _bytes: u32) -> bool {
        self.0
    }
}

impl CongestionControl for Stubborn<u64> {
    fn path_added(&mut self, _view: &AssocView<'_>, _path: PathId) {}
    fn on_acked(&mut self, _view: &AssocView<'_>, _ev: &AckedInfo) {}
    fn on_lost(&mut self, _view: &AssocView<'_>, _ev: &LossInfo) {}
    fn on_resumed(&mut self, _view: &AssocView<'_>, _path: PathId, _mtus: u32) {}
    fn cwnd(&self, _path: PathId) -> u64 {
        self.0
    }
    fn ssthresh(&self, _path: PathId) -> u64 {
        self.0
    }
}

#[test]
fn rfc_9260_conforms() {
    for seed in 0..20 {
        check_path_scheduler(|_| Box::new(PrimaryPath), seed);
        check_stream_scheduler(|_| Box::new(FirstCome), seed);
        check_retransmission(|_| Box::new(Rfc9260Retransmission), seed);
        check_buffer(|_| Box::new(SharedBuffer), seed);
    }
}

#[test]
#[should_panic(expected = "is not sendable")]
fn a_path_that_is_closed() {
    check_path_scheduler(|_| Box::new(Stubborn(PathPick::Use(PathId(0)))), 1);
}

#[test]
#[should_panic(expected = "does not exist")]
fn a_path_from_nowhere() {
    check_path_scheduler(|_| Box::new(Stubborn(PathPick::Use(PathId(99)))), 1);
}

#[test]
#[should_panic(expected = "waits in an empty network")]
fn a_scheduler_that_waits_for_ever() {
    check_path_scheduler(|_| Box::new(Stubborn(PathPick::Wait)), 1);
}

#[test]
#[should_panic(expected = "waits in an empty network")]
fn a_map_that_skips_every_stream() {
    check_path_scheduler(|_| Box::new(Stubborn(PathPick::Skip)), 1);
}

#[test]
#[should_panic(expected = "is empty or not eligible")]
fn a_stream_without_messages() {
    check_stream_scheduler(|_| Box::new(Stubborn(Some(StreamId(0)))), 1);
}

#[test]
#[should_panic(expected = "nothing for a new packet")]
fn a_stream_scheduler_that_offers_nothing() {
    check_stream_scheduler(|_| Box::new(Stubborn(None)), 1);
}

#[test]
#[should_panic(expected = "is not usable")]
fn a_retransmission_on_a_dead_path() {
    check_retransmission(|_| Box::new(Stubborn(RtxPick::Use(PathId(0)))), 1);
}

#[test]
#[should_panic(expected = "starves")]
fn a_retransmission_that_waits_for_ever() {
    check_retransmission(|_| Box::new(Stubborn(RtxPick::Wait)), 1);
}

#[test]
#[should_panic(expected = "with all buffers empty")]
fn a_buffer_that_admits_nothing() {
    check_buffer(|_| Box::new(Stubborn(false)), 1);
}

#[test]
#[should_panic(expected = "is zero")]
fn a_window_of_zero() {
    check_congestion(|_| Box::new(Stubborn(0)), 1);
}

#[test]
#[should_panic(expected = "differs in a second run")]
fn a_policy_with_randomness_of_its_own() {
    let made = Cell::new(0);
    check_congestion(
        |_| {
            made.set(made.get() + 1);
            Box::new(Stubborn(made.get()))
        },
        1,
    );
}
