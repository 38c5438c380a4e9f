//! What we ask the peer for (RFC 6525 section 5.1), and its answers (section 5.2.7).

use polypath_wire::param::{ReconfigResponse, ReconfigResult};
use polypath_wire::{ParamsBuf, ReconfigChunk};

use super::operation::{Operation, Request, push_operation};
use super::outstanding::Outstanding;
use super::state::Reconfig;
use crate::control::Bundling;
use crate::event::{Event, ReconfigOutcome, StreamDirection};
use crate::extension::context::Context;
use crate::ids::{PathId, StreamId};
use crate::state::State;
use crate::time::Time;

/// What the expiry of the re-configuration timer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    /// Nothing waits for an answer.
    Nothing,
    /// What the peer did is believed to be its answer.
    Answered,
    /// The request goes out again; the silence `counts` as an error of `path`, or does not.
    Repeat {
        /// The path of the request.
        path: PathId,
        /// Whether it is an error.
        counts: bool,
    },
}

impl Reconfig {
    pub(super) fn queue_request(&mut self, ctx: &mut Context<'_>, request: Request) {
        hold_back(ctx, &request.operations);
        self.waiting.push_back(request);
        self.send_next_request(ctx);
    }

    /// Sends the next request once nothing stands in its way. To be called whenever something was sent or acknowledged.
    #[inline(never)]
    pub(crate) fn send_next_request(&mut self, ctx: &mut Context<'_>) {
        if self.reset_asked.is_some() {
            return self.advance_association_reset(ctx);
        }
        if self.outstanding.is_some() {
            return;
        }
        let Some(request) = self.waiting.front_mut() else { return };
        if !core::mem::replace(&mut request.is_next, true) {
            // A request before it may have let them go.
            let operations = request.operations.clone();
            hold_back(ctx, &operations);
        }
        let Some(request) = self.waiting.front() else { return };
        // Late assignment: what was handed in before needs its TSNs and numbers first (A3).
        let ready = request.operations.iter().all(|operation| match operation {
            Operation::ResetOutgoing { streams, .. } => ctx.tx.queue.is_sent(streams),
            // C2.
            Operation::ResetAssociation => {
                ctx.tx.queue.is_sent(&[]) && ctx.tx.has_nothing_in_flight()
            }
            _ => true,
        });
        if ready && let Some(request) = self.waiting.pop_front() {
            self.send_request(ctx, request);
        }
    }

    fn send_request(&mut self, ctx: &mut Context<'_>, request: Request) {
        let last = ctx.tx.highest_sent();
        let path = ctx.paths.preferred();
        let mut outstanding = Outstanding {
            id: request.id,
            last,
            operations: Vec::new(),
            params: ParamsBuf::default(),
            path,
            in_progress: false,
            asks_left: None,
        };
        let everything = request.operations.contains(&Operation::ResetAssociation);
        let resets =
            request.operations.iter().any(|p| matches!(p, Operation::ResetOutgoing { .. }));
        for operation in request.operations {
            let seq = self.next;
            self.next = self.next.wrapping_add(1);
            push_operation(&mut outstanding.params, seq, &operation, self.expected, last);
            outstanding.operations.push((seq, operation, None));
        }
        let params = outstanding.params.clone();
        self.outstanding = Some(outstanding);
        if resets {
            ctx.tx.forward.note_reset_point(last);
        }
        ctx.rx.doubt_numbers(everything);
        self.timer = ctx.now + ctx.rto(path);
        send_reconfig(ctx, path, &params);
    }

    /// Whether the re-configuration timer has expired; it is off afterwards.
    pub(crate) fn has_expired(&mut self, now: Time) -> bool {
        let due = self.timer <= now;
        if due {
            self.timer = Time::MAX;
        }
        due
    }

    /// The timer expired: what follows (section 5.1.1).
    pub(crate) fn judge_timeout(&self) -> Timeout {
        let Some(outstanding) = &self.outstanding else { return Timeout::Nothing };
        let asks_left = outstanding.asks_left_for_implied_answer();
        match asks_left {
            Some(0) => Timeout::Answered,
            // Neither a peer that is at work nor one that seems to have answered is silent.
            _ => Timeout::Repeat {
                path: outstanding.path,
                counts: !outstanding.in_progress && asks_left.is_none(),
            },
        }
    }

    /// The timer expired: the same chunk goes out again, on another path if there is one (section 5.1.1).
    pub(crate) fn repeat_after_timeout(&mut self, ctx: &mut Context<'_>) {
        let Some(outstanding) = self.outstanding.as_mut() else { return };
        let asks_left = outstanding.asks_left_for_implied_answer();
        let next = ctx.paths.next_after(outstanding.path);
        outstanding.path = next;
        outstanding.asks_left = asks_left.map(|left| left - 1).or(outstanding.asks_left);
        let params = outstanding.params.clone();
        if ctx.state == State::Closed {
            return;
        }
        self.timer = ctx.now + ctx.rto(next);
        send_reconfig(ctx, next, &params);
    }

    /// Path `p` is removed; `heir` takes over.
    pub(crate) fn redirect(&mut self, p: PathId, heir: PathId) {
        if let Some(outstanding) = self.outstanding.as_mut().filter(|o| o.path == p) {
            outstanding.path = heir;
        }
    }

    /// Sends what is outstanding once more: the peer asked again for what it answers.
    pub(super) fn repeat_request(&self, ctx: &mut Context<'_>, path: PathId) {
        let outstanding = self.outstanding.as_ref();
        if let Some(params) = outstanding.map(|outstanding| outstanding.params.clone()) {
            send_reconfig(ctx, path, &params);
        }
    }

    /// A Re-configuration Response came (H1 to H6).
    pub(super) fn on_reconfig_response(
        &mut self,
        ctx: &mut Context<'_>,
        response: &ReconfigResponse,
    ) {
        if response.result == ReconfigResult::BAD_SEQUENCE_NUMBER
            && self.restart_from_implied(ctx, response.response)
        {
            return;
        }
        if response.result != ReconfigResult::BAD_SEQUENCE_NUMBER {
            self.arrived(response.response);
        }
        let Some(outstanding) = &mut self.outstanding else { return };
        let open = |(seq, _, result): &&mut (u32, Operation, Option<ReconfigResult>)| {
            *seq == response.response && result.is_none()
        };
        let Some((_, operation, result)) = outstanding.operations.iter_mut().find(open) else {
            return;
        };
        if response.result == ReconfigResult::IN_PROGRESS {
            outstanding.in_progress = true;
            let path = outstanding.path;
            if let (Operation::ResetAssociation, Some(tsns)) = (operation, response.next_tsns) {
                ctx.rx.trust_numbers_before(tsns.sender_next);
            }
            self.timer = ctx.now + ctx.rto(path);
            return;
        }
        let (operation, last) = (operation.clone(), outstanding.last);
        // Without TSNs there is nothing that an SSN/TSN reset could continue with.
        let complete = operation != Operation::ResetAssociation || response.next_tsns.is_some();
        let performed = ReconfigOutcome::of(response.result) == ReconfigOutcome::Performed;
        *result = Some(match response.result {
            ReconfigResult::PERFORMED if !complete => ReconfigResult::DENIED,
            result => result,
        });
        if matches!(operation, Operation::ResetOutgoing { .. }) {
            ctx.tx.forward.clear_reset_point(performed.then_some(last));
        }
        if performed && complete {
            self.complete_request(ctx, operation, response);
        } else {
            self.undo_request(ctx, operation);
        }
        self.conclude_outstanding(ctx);
    }

    fn complete_request(
        &mut self,
        ctx: &mut Context<'_>,
        operation: Operation,
        response: &ReconfigResponse,
    ) {
        match operation {
            Operation::ResetOutgoing { streams, .. } => announce_outgoing_reset(ctx, streams),
            Operation::AddOutgoing { count } => {
                ctx.agreed.outbound_streams = ctx.agreed.outbound_streams.saturating_add(count);
                ctx.events.push_back(Event::StreamsAdded { outgoing: count, incoming: 0 });
            }
            Operation::ResetAssociation => match response.next_tsns {
                Some(tsns) if response.result == ReconfigResult::PERFORMED => {
                    ctx.tx.restart_tsns(tsns.receiver_next);
                    ctx.rx.restart_at(ctx.now, tsns.sender_next);
                    self.restart_numbers(ctx, tsns.sender_next);
                }
                _ => self.undo_request(ctx, Operation::ResetAssociation),
            },
            // The peer's own request says what it does.
            Operation::ResetIncoming { .. } | Operation::AddIncoming { .. } => {}
        }
    }

    /// Messages that were held back go on with the old numbers.
    fn undo_request(&mut self, ctx: &mut Context<'_>, operation: Operation) {
        let scheduler = &mut *ctx.scheduler;
        match operation {
            Operation::ResetOutgoing { streams, answers } => {
                ctx.tx.queue.release(&streams, scheduler);
                if let Some(asked) = answers {
                    self.deny_answered_request(ctx, asked);
                }
            }
            Operation::ResetAssociation => ctx.tx.queue.release(&[], scheduler),
            _ => return,
        }
        ctx.may_send = true;
    }

    /// The peer asked for what a request of ours wanted it to: that is its answer (E1).
    pub(super) fn take_as_answered(
        &mut self,
        ctx: &mut Context<'_>,
        answers: impl Fn(u32, &Operation) -> bool,
    ) {
        let outstanding = self.outstanding.as_mut();
        let Some(outstanding) = outstanding else { return };
        for (seq, operation, result) in &mut outstanding.operations {
            if result.is_none() && answers(*seq, operation) {
                *result = Some(ReconfigResult::PERFORMED);
            }
        }
        self.conclude_outstanding(ctx);
    }

    /// Once all operations are answered, the application hears of it, and the next request may go.
    fn conclude_outstanding(&mut self, ctx: &mut Context<'_>) {
        let answered = |f: &Outstanding| f.operations.iter().all(|(_, _, result)| result.is_some());
        if !self.outstanding.as_ref().is_some_and(answered) {
            return;
        }
        let Some(outstanding) = self.outstanding.take() else { return };
        self.timer = Time::MAX;
        ctx.rx.doubt_numbers(false);
        *ctx.errors = 0;
        let results = outstanding.operations.iter().filter_map(|(_, _, result)| *result);
        let failed = results.map(ReconfigOutcome::of).find(|o| *o != ReconfigOutcome::Performed);
        if let Some(request) = outstanding.id {
            let outcome = failed.unwrap_or(ReconfigOutcome::Performed);
            ctx.events.push_back(Event::Reconfigured { request, outcome });
        }
        self.send_next_request(ctx);
    }
}

/// New messages of the streams to be reset wait.
fn hold_back(ctx: &mut Context<'_>, operations: &[Operation]) {
    for operation in operations {
        match operation {
            Operation::ResetOutgoing { streams, .. } => ctx.tx.queue.hold(streams),
            Operation::ResetAssociation => ctx.tx.queue.hold(&[]),
            _ => {}
        }
    }
}

/// Sends RE-CONFIG on `path`, or on a better one where that one may carry nothing.
pub(super) fn send_reconfig(ctx: &mut Context<'_>, path: PathId, params: &ParamsBuf) {
    let usable = ctx.paths.is_confirmed(path);
    let path = if usable { path } else { ctx.paths.preferred() };
    if ctx.paths.is_confirmed(path) {
        let chunk = ReconfigChunk { params: params.as_params() };
        ctx.control.send(path, &chunk, Bundling::Free);
    }
}

/// Outgoing streams start at number 0 again.
fn announce_outgoing_reset(ctx: &mut Context<'_>, streams: Vec<StreamId>) {
    ctx.tx.reset_streams(&streams, &mut *ctx.scheduler);
    let direction = StreamDirection::Outgoing;
    ctx.events.push_back(Event::StreamsReset { direction, streams });
    ctx.may_send = true;
}
