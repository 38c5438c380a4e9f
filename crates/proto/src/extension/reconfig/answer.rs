//! What the peer asks us for (RFC 6525 sections 5.1.7 and 5.2).

use polypath_wire::param::{
    AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ReconfigResult, TsnPair,
};
use polypath_wire::{Parameter, ParamsBuf, ReconfigChunk, Tsn, WireError};

use super::answered::Answered;
use super::error::MAX_WAITING;
use super::operation::{Operation, Request};
use super::request::send_reconfig;
use super::state::Reconfig;
use crate::event::{Event, StreamDirection};
use crate::extension::context::Context;
use crate::ids::{PathId, StreamId};
use crate::receiver::ResetVerdict;
use crate::state::State;
use crate::tsn_map::wire;

/// Events of reconfigurations that wait for the application, at most: a peer that asks for more is denied.
const MAX_EVENTS: usize = 64;

/// The sequence number of a request.
const fn sequence(request: &Parameter<'_>) -> Option<u32> {
    match request {
        Parameter::OutgoingReset(r) => Some(r.request),
        Parameter::IncomingReset(r) => Some(r.request),
        Parameter::SsnTsnReset(request) => Some(*request),
        Parameter::AddOutgoingStreams(r) | Parameter::AddIncomingStreams(r) => Some(r.request),
        _ => None,
    }
}

impl Reconfig {
    /// RE-CONFIG came on `path` (section 5.2.1). Its requests are answered unless others of the same packet were (`answered`): there
    /// is one answer for each packet (RFC 9260 section 12.4).
    ///
    /// # Errors
    /// When a parameter does not decode. What stands before it has been dealt with.
    pub(crate) fn on_chunk(
        &mut self,
        ctx: &mut Context<'_>,
        path: PathId,
        chunk: &ReconfigChunk<'_>,
        answered: &mut bool,
    ) -> Result<(), WireError> {
        let mut requests = Vec::new();
        for param in chunk.params.iter().flatten() {
            match param.decode()? {
                Parameter::ReconfigResponse(response) => self.on_reconfig_response(ctx, &response),
                request => requests.push(request),
            }
        }
        if !requests.is_empty() && !core::mem::replace(answered, true) {
            self.answer_requests(ctx, path, &requests);
        }
        Ok(())
    }

    /// The requests of one RE-CONFIG, one or two.
    pub(super) fn answer_requests(
        &mut self,
        ctx: &mut Context<'_>,
        path: PathId,
        requests: &[Parameter<'_>],
    ) {
        let Some(first) = requests.first().and_then(sequence) else { return };
        // RFC 6525 section 5.2.1: what was lost is repaired the sooner.
        ctx.rx.request_sack();
        if self.answered.as_ref().is_some_and(|a| a.first == first) {
            return self.repeat_answer(ctx, path);
        }
        if first != self.expected {
            let bad = requests.iter().filter_map(sequence);
            let bad = bad.map(|seq| respond(seq, ReconfigResult::BAD_SEQUENCE_NUMBER));
            return send_responses(ctx, path, &bad.collect::<Vec<_>>());
        }
        let mut answered = Answered { first, responses: Vec::new(), by_request: None };
        for (i, request) in (0..).zip(requests) {
            let Some(seq) = sequence(request) else { continue };
            if seq != first.wrapping_add(i) {
                answered.responses.push(respond(seq, ReconfigResult::BAD_SEQUENCE_NUMBER));
                continue;
            }
            self.expected = seq.wrapping_add(1);
            match self.consider(ctx, request) {
                Some(response) => answered.responses.push(response),
                None => answered.by_request = Some(seq),
            }
        }
        send_responses(ctx, path, &answered.responses);
        self.answered = Some(answered);
    }

    /// The peer did not get our answer: it gets the same again, or by now a better one.
    fn repeat_answer(&self, ctx: &mut Context<'_>, path: PathId) {
        let Some(mut answered) = self.answered.clone() else { return };
        if let Some(seq) = self.reset_asked {
            // The peer learns which TSNs are of the time before.
            answered.update(respond_with_tsns(ctx, seq, ReconfigResult::IN_PROGRESS));
        }
        let mut responses = answered.responses;
        match answered.by_request.map(|seq| (seq, self.answering(seq))) {
            Some((_, Some(true))) => self.repeat_request(ctx, path),
            Some((seq, Some(false))) => responses.push(respond(seq, ReconfigResult::IN_PROGRESS)),
            Some((seq, None)) => responses.push(respond(seq, ReconfigResult::PERFORMED)),
            None => {}
        }
        send_responses(ctx, path, &responses);
    }

    /// What we say to a request; `None`: a request of ours is the answer.
    fn consider(
        &mut self,
        ctx: &mut Context<'_>,
        request: &Parameter<'_>,
    ) -> Option<ReconfigResponse> {
        let seq = sequence(request)?;
        let result = match request {
            // What answers a request of ours is taken in any case.
            Parameter::OutgoingReset(reset) => self.on_outgoing_reset(ctx, reset),
            _ if has_many_reconfigurations(ctx) => ReconfigResult::DENIED,
            // Nothing is sent any more that could start anew.
            _ if ctx.state == State::ShutdownSent => ReconfigResult::DENIED,
            Parameter::IncomingReset(reset) => self.on_incoming_reset(ctx, reset)?,
            Parameter::SsnTsnReset(_) => return Some(self.on_association_reset(ctx, seq)),
            Parameter::AddOutgoingStreams(add) => self.on_streams_added(ctx, *add),
            Parameter::AddIncomingStreams(add) => self.on_streams_wanted(ctx, *add),
            _ => return None,
        };
        Some(respond(seq, result))
    }

    /// Streams of the peer start anew (section 5.2.2).
    fn on_outgoing_reset(
        &mut self,
        ctx: &mut Context<'_>,
        reset: &OutgoingReset<'_>,
    ) -> ReconfigResult {
        let answers = |seq, operation: &Operation| {
            matches!(operation, Operation::ResetIncoming { .. }) && seq == reset.response
        };
        self.arrived(reset.response);
        self.take_as_answered(ctx, answers);
        let streams: Vec<StreamId> = reset.streams.iter().collect();
        if !ctx.config.reconfiguration.allow_resets || has_many_reconfigurations(ctx) {
            return ReconfigResult::DENIED;
        }
        if streams.iter().any(|s| s.0 >= ctx.agreed.inbound_streams) {
            return ReconfigResult::WRONG_SSN;
        }
        match ctx.rx.reset_streams(reset.request, reset.last_tsn, streams) {
            ResetVerdict::Performed(streams) => {
                let direction = StreamDirection::Incoming;
                ctx.events.push_back(Event::StreamsReset { direction, streams });
                ReconfigResult::PERFORMED
            }
            ResetVerdict::Deferred => ReconfigResult::IN_PROGRESS,
            ResetVerdict::Busy => ReconfigResult::REQUEST_IN_PROGRESS,
            ResetVerdict::TooFar => ReconfigResult::DENIED,
        }
    }

    /// Data that the peer sent before it reset `streams` has arrived: request number `seq` is performed (E3 to E6).
    pub(crate) fn complete_deferred_reset(
        &mut self,
        ctx: &mut Context<'_>,
        path: PathId,
        seq: u32,
        streams: Vec<StreamId>,
    ) {
        let direction = StreamDirection::Incoming;
        ctx.events.push_back(Event::StreamsReset { direction, streams });
        self.finish_answer(ctx, path, respond(seq, ReconfigResult::PERFORMED));
    }

    /// What was "in progress" is done.
    fn finish_answer(&mut self, ctx: &mut Context<'_>, path: PathId, response: ReconfigResponse) {
        if let Some(answered) = self.answered.as_mut() {
            answered.update(response);
        }
        send_responses(ctx, path, &[response]);
    }

    /// The peer refused the very request that answers its number `asked`: so that one came to nothing, and must not be "in progress"
    /// for ever.
    pub(super) fn deny_answered_request(&mut self, ctx: &mut Context<'_>, asked: u32) {
        self.finish_answer(ctx, ctx.paths.preferred(), respond(asked, ReconfigResult::DENIED));
    }

    /// The peer wants streams of ours to start anew (section 5.2.3): that takes a request of our own.
    fn on_incoming_reset(
        &mut self,
        ctx: &mut Context<'_>,
        reset: &IncomingReset<'_>,
    ) -> Option<ReconfigResult> {
        let streams: Vec<StreamId> = reset.streams.iter().collect();
        let outbound = ctx.agreed.outbound_streams;
        let allowed = ctx.config.reconfiguration.allow_resets;
        let at_zero = ctx.tx.queue.are_at_zero(&streams);
        if !allowed || self.waiting.len() >= MAX_WAITING {
            return Some(ReconfigResult::DENIED);
        }
        if streams.iter().any(|s| s.0 >= outbound) {
            return Some(ReconfigResult::WRONG_SSN);
        }
        if at_zero || self.is_resetting(&streams) {
            return Some(ReconfigResult::NOTHING_TO_DO);
        }
        // Both ends would wait for each other's next request for ever.
        let crossed = self.awaits_reset();
        let operation = Operation::ResetOutgoing { streams, answers: Some(reset.request) };
        self.queue_request(ctx, Request::new(None, vec![operation]));
        match self.answering(reset.request) {
            Some(true) => None,
            _ if crossed => Some(ReconfigResult::PERFORMED),
            _ => Some(ReconfigResult::IN_PROGRESS),
        }
    }

    /// Everything starts anew (section 5.2.4), once what we sent is acknowledged: G3 would count it as acknowledged otherwise.
    fn on_association_reset(&mut self, ctx: &mut Context<'_>, seq: u32) -> ReconfigResponse {
        let allowed = ctx.config.reconfiguration.allow_association_resets;
        if !allowed || self.was_reset_lately(ctx.now) {
            return respond_with_tsns(ctx, seq, ReconfigResult::DENIED);
        }
        if self.is_busy() || self.reset_asked.is_some() {
            return respond_with_tsns(ctx, seq, ReconfigResult::REQUEST_IN_PROGRESS);
        }
        ctx.tx.queue.hold(&[]);
        if !is_between_messages(ctx) {
            self.reset_asked = Some(seq);
            return respond_with_tsns(ctx, seq, ReconfigResult::IN_PROGRESS);
        }
        self.perform_association_reset(ctx, seq)
    }

    fn perform_association_reset(&mut self, ctx: &mut Context<'_>, seq: u32) -> ReconfigResponse {
        let sender_next = next_tsn(ctx);
        let receiver_next = ctx.rx.restart_far(ctx.now);
        self.restart_numbers(ctx, receiver_next);
        let next_tsns = Some(TsnPair { sender_next, receiver_next });
        ReconfigResponse { response: seq, result: ReconfigResult::PERFORMED, next_tsns }
    }

    /// A reset of the association that the peer asked for may have become possible.
    pub(super) fn advance_association_reset(&mut self, ctx: &mut Context<'_>) {
        let asked = self.reset_asked;
        let Some(seq) = asked.filter(|_| is_between_messages(ctx)) else { return };
        self.reset_asked = None;
        let response = self.perform_association_reset(ctx, seq);
        self.finish_answer(ctx, ctx.paths.preferred(), response);
    }

    /// TSNs have changed: numbers start anew, and the application hears of it. `next_received`: the peer's next TSN.
    pub(super) fn restart_numbers(&mut self, ctx: &mut Context<'_>, next_received: Tsn) {
        let scheduler = &mut *ctx.scheduler;
        ctx.tx.reset_streams(&[], scheduler);
        self.reset_at = Some(ctx.now);
        ctx.events.push_back(Event::AssociationReset { next_sent: next_tsn(ctx), next_received });
        if ctx.rx.readable() > 0 && !ctx.events.contains(&Event::Readable) {
            ctx.events.push_back(Event::Readable);
        }
        ctx.may_send = true;
    }

    /// The peer adds streams of its own (section 5.2.5).
    fn on_streams_added(&mut self, ctx: &mut Context<'_>, add: AddStreams) -> ReconfigResult {
        self.note_possible_answer(ctx, add.count);
        let limit = ctx.config.reconfiguration.max_inbound_streams;
        let total = ctx.agreed.inbound_streams.checked_add(add.count);
        match total.filter(|total| *total <= limit) {
            _ if add.count == 0 => ReconfigResult::NOTHING_TO_DO,
            None => ReconfigResult::DENIED,
            Some(total) => {
                ctx.agreed.inbound_streams = total;
                ctx.rx.set_inbound_streams(total);
                ctx.events.push_back(Event::StreamsAdded { outgoing: 0, incoming: add.count });
                ReconfigResult::PERFORMED
            }
        }
    }

    /// The peer wants more streams of ours (section 5.2.6): that takes a request of our own.
    fn on_streams_wanted(&mut self, ctx: &mut Context<'_>, add: AddStreams) -> ReconfigResult {
        let limit = ctx.config.reconfiguration.max_outbound_streams;
        let to_come = self.outgoing_to_come();
        let total = ctx.agreed.outbound_streams.saturating_add(to_come).checked_add(add.count);
        let busy = self.waiting.len() >= MAX_WAITING;
        if total.is_none_or(|total| total > limit) || busy {
            return ReconfigResult::DENIED;
        }
        if add.count == 0 {
            return ReconfigResult::NOTHING_TO_DO;
        }
        let operation = Operation::AddOutgoing { count: add.count };
        self.queue_request(ctx, Request::new(None, vec![operation]));
        ReconfigResult::PERFORMED
    }
}

const fn respond(seq: u32, result: ReconfigResult) -> ReconfigResponse {
    ReconfigResponse { response: seq, result, next_tsns: None }
}

fn send_responses(ctx: &mut Context<'_>, path: PathId, responses: &[ReconfigResponse]) {
    if responses.is_empty() {
        return;
    }
    let params: ParamsBuf = responses.iter().map(|r| Parameter::ReconfigResponse(*r)).collect();
    send_reconfig(ctx, path, &params);
}

/// Nothing is outstanding, and no message is half sent.
fn is_between_messages(ctx: &Context<'_>) -> bool {
    ctx.tx.queue.is_sent(&[]) && ctx.tx.has_nothing_in_flight()
}

fn next_tsn(ctx: &Context<'_>) -> Tsn {
    wire(ctx.tx.highest_sent() + 1)
}

/// D3 and D4: the TSNs are always told.
fn respond_with_tsns(ctx: &Context<'_>, seq: u32, result: ReconfigResult) -> ReconfigResponse {
    let receiver_next = ctx.rx.cumulative_tsn().next();
    let next_tsns = Some(TsnPair { sender_next: next_tsn(ctx), receiver_next });
    ReconfigResponse { response: seq, result, next_tsns }
}

/// Whether the application has so many reconfigurations to take note of that the peer must wait with more.
fn has_many_reconfigurations(ctx: &Context<'_>) -> bool {
    let about = |e: &&Event| {
        matches!(
            e,
            Event::StreamsReset { .. }
                | Event::AssociationReset { .. }
                | Event::StreamsAdded { .. }
        )
    };
    ctx.events.iter().filter(about).count() >= MAX_EVENTS
}
