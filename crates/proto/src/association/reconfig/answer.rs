//! What the peer asks us for (RFC 6525 sections 5.1.7 and 5.2).

use polypath_wire::param::{
    AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ReconfigResult, TsnPair,
};
use polypath_wire::{Parameter, ParamsBuf, Tsn};

use super::request::{Part, Request};
use super::{Association, MAX_WAITING, State};
use crate::event::{Event, StreamDirection};
use crate::ids::{PathId, StreamId};
use crate::policy::Trigger;
use crate::receiver::ResetVerdict;
use crate::time::Time;

/// What the peer's latest requests were, and what we said to them.
#[derive(Clone, Debug)]
pub(super) struct Answered {
    /// Sequence number of the first.
    first: u32,
    responses: Vec<ReconfigResponse>,
    /// One that a request of ours answers.
    by_request: Option<u32>,
}

impl Answered {
    fn update(&mut self, response: ReconfigResponse) {
        let same = |r: &&mut ReconfigResponse| r.response == response.response;
        if let Some(old) = self.responses.iter_mut().find(same) {
            *old = response;
        } else if self.by_request == Some(response.response) {
            self.by_request = None;
            self.responses.push(response);
        }
    }
}

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

impl Association {
    /// The requests of one RE-CONFIG, one or two.
    pub(super) fn on_reconfig_requests(
        &mut self,
        now: Time,
        path: PathId,
        requests: &[Parameter<'_>],
    ) {
        let Some(first) = requests.first().and_then(sequence) else { return };
        // RFC 6525 section 5.2.1: what was lost is repaired the sooner.
        self.rx.request_sack();
        let reconfig = self.reconfig_mut();
        if reconfig.answered.as_ref().is_some_and(|a| a.first == first) {
            return self.repeat_answer(path);
        }
        if first != reconfig.expected {
            let bad = requests.iter().filter_map(sequence);
            let bad = bad.map(|seq| respond(seq, ReconfigResult::BAD_SEQUENCE_NUMBER));
            return self.send_responses(path, &bad.collect::<Vec<_>>());
        }
        let mut answered = Answered { first, responses: Vec::new(), by_request: None };
        for (i, request) in (0..).zip(requests) {
            let Some(seq) = sequence(request) else { continue };
            if seq != first.wrapping_add(i) {
                answered.responses.push(respond(seq, ReconfigResult::BAD_SEQUENCE_NUMBER));
                continue;
            }
            self.reconfig_mut().expected = seq.wrapping_add(1);
            match self.consider(now, request) {
                Some(response) => answered.responses.push(response),
                None => answered.by_request = Some(seq),
            }
        }
        self.send_responses(path, &answered.responses);
        self.reconfig_mut().answered = Some(answered);
    }

    /// The peer did not get our answer: it gets the same again, or by now a better one.
    fn repeat_answer(&mut self, path: PathId) {
        let Some(reconfig) = &self.reconfig else { return };
        let Some(mut answered) = reconfig.answered.clone() else { return };
        if let Some(seq) = reconfig.reset_asked {
            // The peer learns which TSNs are of the time before.
            answered.update(self.respond_with_tsns(seq, ReconfigResult::IN_PROGRESS));
        }
        let mut responses = answered.responses;
        match answered.by_request.map(|seq| (seq, reconfig.answering(seq))) {
            Some((_, Some(true))) => self.repeat_request(path),
            Some((seq, Some(false))) => responses.push(respond(seq, ReconfigResult::IN_PROGRESS)),
            Some((seq, None)) => responses.push(respond(seq, ReconfigResult::PERFORMED)),
            None => {}
        }
        self.send_responses(path, &responses);
    }

    fn send_responses(&mut self, path: PathId, responses: &[ReconfigResponse]) {
        if responses.is_empty() {
            return;
        }
        let params: ParamsBuf = responses.iter().map(|r| Parameter::ReconfigResponse(*r)).collect();
        self.send_reconfig(path, &params);
    }

    /// What we say to a request; `None`: a request of ours is the answer.
    fn consider(&mut self, now: Time, request: &Parameter<'_>) -> Option<ReconfigResponse> {
        let seq = sequence(request)?;
        let result = match request {
            // What answers a request of ours is taken in any case.
            Parameter::OutgoingReset(reset) => self.on_outgoing_reset(now, reset),
            _ if self.has_many_reconfigurations() => ReconfigResult::DENIED,
            // Nothing is sent any more that could start anew.
            _ if self.state == State::ShutdownSent => ReconfigResult::DENIED,
            Parameter::IncomingReset(reset) => self.on_incoming_reset(now, reset)?,
            Parameter::SsnTsnReset(_) => return Some(self.on_association_reset(now, seq)),
            Parameter::AddOutgoingStreams(add) => self.on_streams_added(now, *add),
            Parameter::AddIncomingStreams(add) => self.on_streams_wanted(now, *add),
            _ => return None,
        };
        Some(respond(seq, result))
    }

    /// Streams of the peer start anew (section 5.2.2).
    fn on_outgoing_reset(&mut self, now: Time, reset: &OutgoingReset<'_>) -> ReconfigResult {
        let answers =
            |seq, part: &Part| matches!(part, Part::ResetIncoming { .. }) && seq == reset.response;
        self.reconfig_mut().arrived(reset.response);
        self.request_answered(now, answers);
        let streams: Vec<StreamId> = reset.streams.iter().collect();
        if !self.config.reconfiguration.allow_resets || self.has_many_reconfigurations() {
            return ReconfigResult::DENIED;
        }
        if streams.iter().any(|s| s.0 >= self.caps.inbound_streams) {
            return ReconfigResult::WRONG_SSN;
        }
        match self.rx.reset_streams(reset.request, reset.last_tsn, streams) {
            ResetVerdict::Performed(streams) => {
                let direction = StreamDirection::Incoming;
                self.events.push_back(Event::StreamsReset { direction, streams });
                ReconfigResult::PERFORMED
            }
            ResetVerdict::Deferred => ReconfigResult::IN_PROGRESS,
            ResetVerdict::Busy => ReconfigResult::REQUEST_IN_PROGRESS,
            ResetVerdict::TooFar => ReconfigResult::DENIED,
        }
    }

    /// Data that the peer sent before it reset its streams has arrived (E3 to E6).
    pub(in crate::association) fn finish_deferred_reset(&mut self, now: Time, path: PathId) {
        let Some(finished) = self.rx.take_finished_reset(now) else { return };
        match finished {
            Ok((seq, streams)) => {
                let direction = StreamDirection::Incoming;
                self.events.push_back(Event::StreamsReset { direction, streams });
                self.finish_answer(path, respond(seq, ReconfigResult::PERFORMED));
            }
            Err(why) => self.protocol_violation(now, 13, why),
        }
    }

    /// What was "in progress" is done.
    fn finish_answer(&mut self, path: PathId, response: ReconfigResponse) {
        if let Some(answered) = self.reconfig.as_mut().and_then(|r| r.answered.as_mut()) {
            answered.update(response);
        }
        self.send_responses(path, &[response]);
    }

    /// The peer refused the very request that answers its number `asked`: so that one came to nothing, and must not be "in progress"
    /// for ever.
    pub(super) fn answer_was_refused(&mut self, asked: u32) {
        self.finish_answer(self.paths.preferred(), respond(asked, ReconfigResult::DENIED));
    }

    /// The peer wants streams of ours to start anew (section 5.2.3): that takes a request of our own.
    fn on_incoming_reset(
        &mut self,
        now: Time,
        reset: &IncomingReset<'_>,
    ) -> Option<ReconfigResult> {
        let streams: Vec<StreamId> = reset.streams.iter().collect();
        let outbound = self.caps.outbound_streams;
        let allowed = self.config.reconfiguration.allow_resets;
        let at_zero = self.tx.queue.are_at_zero(&streams);
        let reconfig = self.reconfig_mut();
        if !allowed || reconfig.waiting().len() >= MAX_WAITING {
            return Some(ReconfigResult::DENIED);
        }
        if streams.iter().any(|s| s.0 >= outbound) {
            return Some(ReconfigResult::WRONG_SSN);
        }
        if at_zero || reconfig.is_resetting(&streams) {
            return Some(ReconfigResult::NOTHING_TO_DO);
        }
        // Both ends would wait for each other's next request for ever.
        let crossed = reconfig.awaits_reset();
        let part = Part::ResetOutgoing { streams, answers: Some(reset.request) };
        self.queue_request(now, Request::new(None, vec![part]));
        match self.reconfig_mut().answering(reset.request) {
            Some(true) => None,
            _ if crossed => Some(ReconfigResult::PERFORMED),
            _ => Some(ReconfigResult::IN_PROGRESS),
        }
    }

    /// Everything starts anew (section 5.2.4), once what we sent is acknowledged: G3 would count it as acknowledged otherwise.
    fn on_association_reset(&mut self, now: Time, seq: u32) -> ReconfigResponse {
        let allowed = self.config.reconfiguration.allow_association_resets;
        let reconfig = self.reconfig_mut();
        if !allowed || reconfig.reset_lately(now) {
            return self.respond_with_tsns(seq, ReconfigResult::DENIED);
        }
        if reconfig.is_busy() || reconfig.reset_asked.is_some() {
            return self.respond_with_tsns(seq, ReconfigResult::REQUEST_IN_PROGRESS);
        }
        self.tx.queue.hold(&[]);
        if !self.is_between_messages() {
            self.reconfig_mut().reset_asked = Some(seq);
            return self.respond_with_tsns(seq, ReconfigResult::IN_PROGRESS);
        }
        self.perform_association_reset(now, seq)
    }

    fn perform_association_reset(&mut self, now: Time, seq: u32) -> ReconfigResponse {
        let sender_next = self.next_tsn();
        let receiver_next = self.rx.restart_far(now);
        self.association_reset(now, receiver_next);
        let next_tsns = Some(TsnPair { sender_next, receiver_next });
        ReconfigResponse { response: seq, result: ReconfigResult::PERFORMED, next_tsns }
    }

    /// A reset of the association that the peer asked for may have become possible.
    pub(super) fn advance_association_reset(&mut self, now: Time) {
        let asked = self.reconfig.as_ref().and_then(|r| r.reset_asked);
        let Some(seq) = asked.filter(|_| self.is_between_messages()) else { return };
        self.reconfig_mut().reset_asked = None;
        let response = self.perform_association_reset(now, seq);
        self.finish_answer(self.paths.preferred(), response);
    }

    /// TSNs have changed: numbers start anew, and the application hears of it. `next_received`: the peer's next TSN.
    pub(super) fn association_reset(&mut self, now: Time, next_received: Tsn) {
        let scheduler = &mut *self.policies.stream_scheduler;
        self.tx.reset_streams(&[], scheduler);
        self.reconfig_mut().reset_at = Some(now);
        self.events
            .push_back(Event::AssociationReset { next_sent: self.next_tsn(), next_received });
        if self.rx.readable() > 0 && !self.events.contains(&Event::Readable) {
            self.events.push_back(Event::Readable);
        }
        self.trigger(Trigger::Write);
    }

    /// Nothing is outstanding, and no message is half sent.
    fn is_between_messages(&self) -> bool {
        self.tx.queue.is_sent(&[]) && self.tx.has_nothing_in_flight()
    }

    fn next_tsn(&self) -> Tsn {
        crate::tsn_map::wire(self.tx.highest_sent() + 1)
    }

    /// D3 and D4: the TSNs are always told.
    fn respond_with_tsns(&self, seq: u32, result: ReconfigResult) -> ReconfigResponse {
        let receiver_next = self.rx.cumulative_tsn().next();
        let next_tsns = Some(TsnPair { sender_next: self.next_tsn(), receiver_next });
        ReconfigResponse { response: seq, result, next_tsns }
    }

    /// The peer adds streams of its own (section 5.2.5).
    fn on_streams_added(&mut self, now: Time, add: AddStreams) -> ReconfigResult {
        self.streams_may_be_the_answer(now, add.count);
        let limit = self.config.reconfiguration.max_inbound_streams;
        let total = self.caps.inbound_streams.checked_add(add.count);
        match total.filter(|total| *total <= limit) {
            _ if add.count == 0 => ReconfigResult::NOTHING_TO_DO,
            None => ReconfigResult::DENIED,
            Some(total) => {
                self.caps.inbound_streams = total;
                self.rx.set_inbound_streams(total);
                self.events.push_back(Event::StreamsAdded { outgoing: 0, incoming: add.count });
                ReconfigResult::PERFORMED
            }
        }
    }

    /// The peer wants more streams of ours (section 5.2.6): that takes a request of our own.
    fn on_streams_wanted(&mut self, now: Time, add: AddStreams) -> ReconfigResult {
        let limit = self.config.reconfiguration.max_outbound_streams;
        let to_come = self.reconfig_mut().outgoing_to_come();
        let total = self.caps.outbound_streams.saturating_add(to_come).checked_add(add.count);
        let busy = self.reconfig_mut().waiting().len() >= MAX_WAITING;
        if total.is_none_or(|total| total > limit) || busy {
            return ReconfigResult::DENIED;
        }
        if add.count == 0 {
            return ReconfigResult::NOTHING_TO_DO;
        }
        let part = Part::AddOutgoing { count: add.count };
        self.queue_request(now, Request::new(None, vec![part]));
        ReconfigResult::PERFORMED
    }
}

const fn respond(seq: u32, result: ReconfigResult) -> ReconfigResponse {
    ReconfigResponse { response: seq, result, next_tsns: None }
}
