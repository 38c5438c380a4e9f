//! What we ask the peer for (RFC 6525 section 5.1), and its answers (section 5.2.7).

use std::collections::VecDeque;

use polypath_wire::param::{
    AddStreams, IncomingReset, OutgoingReset, ReconfigResponse, ReconfigResult,
};
use polypath_wire::{ItemsBuf, Parameter, ParamsBuf};

use super::{Reconfig, ReconfigOutcome};
use crate::association::Association;
use crate::event::Event;
use crate::ids::{PathId, ReconfigId, StreamId};
use crate::policy::Trigger;
use crate::time::Time;

/// How often a peer is asked again that may have answered already.
const ASK_AGAIN: u8 = 2;

/// One parameter of a request. No streams means all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `answers`: the request of the peer that made us ask.
    ResetOutgoing {
        streams: Vec<StreamId>,
        answers: Option<u32>,
    },
    ResetIncoming {
        streams: Vec<StreamId>,
    },
    ResetAssociation,
    AddOutgoing {
        count: u16,
    },
    AddIncoming {
        count: u16,
    },
}

impl Part {
    fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::ResetAssociation, Self::ResetAssociation | Self::ResetOutgoing { .. })
            | (Self::ResetOutgoing { .. }, Self::ResetAssociation) => true,
            (Self::ResetOutgoing { streams: a, .. }, Self::ResetOutgoing { streams: b, .. }) => {
                a.is_empty() || b.is_empty() || a.iter().any(|stream| b.contains(stream))
            }
            _ => false,
        }
    }
}

/// A request that waits for its turn, or for what must be sent before.
#[derive(Clone, Debug)]
pub(super) struct Request {
    /// The application's; `None`: made for the peer.
    id: Option<ReconfigId>,
    pub(super) parts: Vec<Part>,
    /// It is the next one.
    first: bool,
}

impl Request {
    pub(super) const fn new(id: Option<ReconfigId>, parts: Vec<Part>) -> Self {
        Self { id, parts, first: false }
    }
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    id: Option<ReconfigId>,
    /// Our last TSN then.
    last: u64,
    /// With their sequence numbers and results.
    parts: Vec<(u32, Part, Option<ReconfigResult>)>,
    params: ParamsBuf,
    path: PathId,
    /// The peer said that it is at work: no answer in time is no error (H2).
    in_progress: bool,
    /// What the peer does may be its answer (see [`super::implied`]): how often it is still to be asked again.
    seemingly: Option<u8>,
}

impl Flight {
    /// The peer answered a part of it, or said that it is at work.
    pub(super) fn is_known_to_have_arrived(&self) -> bool {
        self.in_progress || self.parts.iter().any(|(_, _, result)| result.is_some())
    }

    /// The only part, with its number.
    pub(super) fn sole_part(&self) -> Option<(u32, &Part)> {
        match &self.parts[..] {
            [(seq, part, _)] => Some((*seq, part)),
            _ => None,
        }
    }

    /// What the peer does may be all that it says to `part`.
    pub(super) fn seems_answered(&mut self, part: &Part) {
        if self.seemingly.is_none() && self.parts.iter().any(|(_, own, _)| own == part) {
            self.seemingly = Some(ASK_AGAIN);
        }
    }

    /// How often the peer is still to be asked again, if all that is open of it seems to be answered.
    fn only_seemingly_answered(&self) -> Option<u8> {
        let open = |(_, part, result): &(u32, Part, Option<ReconfigResult>)| {
            result.is_none() && !matches!(part, Part::AddIncoming { .. })
        };
        let left = if self.is_known_to_have_arrived() { Some(0) } else { self.seemingly };
        left.filter(|_| self.seemingly.is_some() && !self.parts.iter().any(open))
    }

    /// Whether request number `request` is part of it and has no answer.
    pub(super) fn awaits(&self, request: u32) -> bool {
        self.parts.iter().any(|(seq, _, result)| *seq == request && result.is_none())
    }

    /// To be asked for once more.
    pub(super) fn into_request(self) -> Request {
        Request::new(self.id, self.parts.into_iter().map(|(_, part, _)| part).collect())
    }
}

impl Reconfig {
    /// Whether a reset of the association waits or is under way.
    pub(super) fn resets_association(&self) -> bool {
        let resets = |part: &Part| *part == Part::ResetAssociation;
        self.waiting.iter().any(|r| r.parts.iter().any(resets))
            || self.flight.iter().any(|f| f.parts.iter().any(|(_, part, _)| resets(part)))
    }

    /// Whether requests that wait or are under way concern what `parts` would hold back.
    pub(super) fn is_in_the_way(&self, parts: &[Part]) -> bool {
        let waiting = self.waiting.iter().flat_map(|r| &r.parts);
        let flying = self.flight.iter().flat_map(|f| f.parts.iter().map(|(_, part, _)| part));
        let mut open = waiting.chain(flying);
        let holds =
            |part: &&Part| matches!(part, Part::ResetOutgoing { .. } | Part::ResetAssociation);
        self.reset_asked.is_some() && parts.iter().any(|part| holds(&part))
            || open.any(|part| parts.iter().any(|new| part.overlaps(new)))
    }

    /// Streams of ours that requests add which wait or are under way.
    pub(super) fn outgoing_to_come(&self) -> u16 {
        let waiting = self.waiting.iter().flat_map(|r| &r.parts);
        let open = |(_, part, result): &'_ (u32, Part, Option<ReconfigResult>)| {
            result.is_none().then(|| part.clone())
        };
        let flying = self.flight.iter().flat_map(|f| f.parts.iter().filter_map(open));
        waiting.cloned().chain(flying).fold(0, |sum: u16, part| match part {
            Part::AddOutgoing { count } => sum.saturating_add(count),
            _ => sum,
        })
    }

    /// Whether any request of ours waits or is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.flight.is_some() || !self.waiting.is_empty()
    }

    /// Whether the peer was asked to reset streams of its own, and has not begun to.
    pub(super) fn awaits_reset(&self) -> bool {
        let open = |(_, part, result): &(u32, Part, Option<ReconfigResult>)| {
            matches!(part, Part::ResetIncoming { .. }) && result.is_none()
        };
        self.flight.iter().any(|f| f.parts.iter().any(open))
    }

    /// Whether streams of ours are being reset already that include all of these (section 5.2.3).
    pub(super) fn is_resetting(&self, wanted: &[StreamId]) -> bool {
        let covers = |part: &Part| match part {
            Part::ResetOutgoing { streams, .. } => {
                streams.is_empty()
                    || !wanted.is_empty() && wanted.iter().all(|s| streams.contains(s))
            }
            _ => false,
        };
        self.flight.iter().any(|f| f.parts.iter().any(|(_, part, _)| covers(part)))
    }

    /// Whether a request that answers `request` waits (`Some(false)`) or is in flight (`Some(true)`).
    pub(super) fn answering(&self, request: u32) -> Option<bool> {
        let answers = |part: &Part| matches!(part, Part::ResetOutgoing { answers, .. } if *answers == Some(request));
        if self.flight.iter().any(|f| f.parts.iter().any(|(_, part, _)| answers(part))) {
            return Some(true);
        }
        self.waiting.iter().any(|r| r.parts.iter().any(answers)).then_some(false)
    }
}

impl Association {
    pub(super) fn queue_request(&mut self, now: Time, request: Request) {
        self.hold_back(&request.parts);
        self.reconfig_mut().waiting.push_back(request);
        self.advance_requests(now);
    }

    /// Sends the next request once nothing stands in its way. To be called whenever something was sent or acknowledged; costs
    /// nothing while no request waits.
    #[inline]
    pub(in crate::association) fn advance_requests(&mut self, now: Time) {
        if self.reconfig.is_some() {
            self.launch_next(now);
        }
    }

    #[inline(never)]
    fn launch_next(&mut self, now: Time) {
        let Some(reconfig) = &mut self.reconfig else { return };
        if reconfig.reset_asked.is_some() {
            return self.advance_association_reset(now);
        }
        if reconfig.flight.is_some() {
            return;
        }
        let Some(request) = reconfig.waiting.front_mut() else { return };
        if !core::mem::replace(&mut request.first, true) {
            // A request before it may have let them go.
            let parts = request.parts.clone();
            self.hold_back(&parts);
        }
        let Some(reconfig) = &mut self.reconfig else { return };
        let Some(request) = reconfig.waiting.front() else { return };
        // Late assignment: what was handed in before needs its TSNs and numbers first (A3).
        let ready = request.parts.iter().all(|part| match part {
            Part::ResetOutgoing { streams, .. } => self.tx.queue.is_sent(streams),
            // C2.
            Part::ResetAssociation => self.tx.queue.is_sent(&[]) && self.tx.has_nothing_in_flight(),
            _ => true,
        });
        if ready && let Some(request) = reconfig.waiting.pop_front() {
            self.launch(now, request);
        }
    }

    /// New messages of the streams to be reset wait.
    fn hold_back(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::ResetOutgoing { streams, .. } => self.tx.queue.hold(streams),
                Part::ResetAssociation => self.tx.queue.hold(&[]),
                _ => {}
            }
        }
    }

    fn launch(&mut self, now: Time, request: Request) {
        let last = self.tx.highest_sent();
        let path = self.paths.preferred();
        let Some(reconfig) = &mut self.reconfig else { return };
        let mut flight = Flight {
            id: request.id,
            last,
            parts: Vec::new(),
            params: ParamsBuf::default(),
            path,
            in_progress: false,
            seemingly: None,
        };
        let everything = request.parts.contains(&Part::ResetAssociation);
        let resets = request.parts.iter().any(|p| matches!(p, Part::ResetOutgoing { .. }));
        for part in request.parts {
            let seq = reconfig.next;
            reconfig.next = reconfig.next.wrapping_add(1);
            push_part(&mut flight.params, seq, &part, reconfig.expected, last);
            flight.parts.push((seq, part, None));
        }
        let params = flight.params.clone();
        reconfig.flight = Some(flight);
        if resets {
            self.tx.forward.note_reset_point(last);
        }
        self.rx.doubt_numbers(everything);
        self.timers.reconfig = now + self.rto(path);
        self.send_reconfig(path, &params);
    }

    /// The re-configuration timer expired: the same chunk goes out again, on another path if there is one (section 5.1.1).
    pub(in crate::association) fn on_reconfig_timer(&mut self, now: Time) {
        let Some(flight) = self.reconfig.as_ref().and_then(|r| r.flight.as_ref()) else { return };
        let seemingly = flight.only_seemingly_answered();
        if seemingly == Some(0) {
            return self.believe_answer(now);
        }
        let (path, count) = (flight.path, !flight.in_progress && seemingly.is_none());
        self.count_failure(now, path, count, true);
        let next = self.paths.next_after(path);
        let rto = self.rto(next);
        let Some(flight) = self.reconfig.as_mut().and_then(|r| r.flight.as_mut()) else { return };
        flight.path = next;
        flight.seemingly = seemingly.map(|left| left - 1).or(flight.seemingly);
        let params = flight.params.clone();
        if self.state == crate::association::State::Closed {
            return;
        }
        self.timers.reconfig = now + rto;
        self.send_reconfig(next, &params);
    }

    /// `p` is removed.
    pub(in crate::association) fn reconfig_path_gone(&mut self, p: PathId, heir: PathId) {
        let flight = self.reconfig.as_mut().and_then(|r| r.flight.as_mut());
        if let Some(flight) = flight.filter(|flight| flight.path == p) {
            flight.path = heir;
        }
    }

    /// Sends what is in flight once more: the peer asked again for what it answers.
    pub(super) fn repeat_request(&mut self, path: PathId) {
        let flight = self.reconfig.as_ref().and_then(|r| r.flight.as_ref());
        if let Some(params) = flight.map(|flight| flight.params.clone()) {
            self.send_reconfig(path, &params);
        }
    }

    /// A Re-configuration Response came (H1 to H6).
    pub(super) fn on_reconfig_response(&mut self, now: Time, response: &ReconfigResponse) {
        if response.result == ReconfigResult::BAD_SEQUENCE_NUMBER
            && self.goes_back(now, response.response)
        {
            return;
        }
        let Some(reconfig) = &mut self.reconfig else { return };
        if response.result != ReconfigResult::BAD_SEQUENCE_NUMBER {
            reconfig.arrived(response.response);
        }
        let Some(flight) = &mut reconfig.flight else { return };
        let open = |(seq, _, result): &&mut (u32, Part, Option<ReconfigResult>)| {
            *seq == response.response && result.is_none()
        };
        let Some((_, part, result)) = flight.parts.iter_mut().find(open) else { return };
        if response.result == ReconfigResult::IN_PROGRESS {
            flight.in_progress = true;
            let path = flight.path;
            if let (Part::ResetAssociation, Some(tsns)) = (part, response.next_tsns) {
                self.rx.trust_numbers_before(tsns.sender_next);
            }
            self.timers.reconfig = now + self.rto(path);
            return;
        }
        let (part, last) = (part.clone(), flight.last);
        // Without TSNs there is nothing that an SSN/TSN reset could continue with.
        let complete = part != Part::ResetAssociation || response.next_tsns.is_some();
        let performed = ReconfigOutcome::of(response.result) == ReconfigOutcome::Performed;
        *result = Some(match response.result {
            ReconfigResult::PERFORMED if !complete => ReconfigResult::DENIED,
            result => result,
        });
        if matches!(part, Part::ResetOutgoing { .. }) {
            self.tx.forward.clear_reset_point(performed.then_some(last));
        }
        if performed && complete {
            self.request_performed(now, part, response);
        } else {
            self.request_refused(part);
        }
        self.finish_flight(now);
    }

    fn request_performed(&mut self, now: Time, part: Part, response: &ReconfigResponse) {
        match part {
            Part::ResetOutgoing { streams, .. } => self.outgoing_streams_reset(streams),
            Part::AddOutgoing { count } => {
                self.caps.outbound_streams = self.caps.outbound_streams.saturating_add(count);
                self.events.push_back(Event::StreamsAdded { outgoing: count, incoming: 0 });
            }
            Part::ResetAssociation => match response.next_tsns {
                Some(tsns) if response.result == ReconfigResult::PERFORMED => {
                    self.tx.restart_tsns(tsns.receiver_next);
                    self.rx.restart_at(now, tsns.sender_next);
                    self.association_reset(now, tsns.sender_next);
                }
                _ => self.request_refused(Part::ResetAssociation),
            },
            // The peer's own request says what it does.
            Part::ResetIncoming { .. } | Part::AddIncoming { .. } => {}
        }
    }

    /// Messages that were held back go on with the old numbers.
    fn request_refused(&mut self, part: Part) {
        let scheduler = &mut *self.policies.stream_scheduler;
        match part {
            Part::ResetOutgoing { streams, answers } => {
                self.tx.queue.release(&streams, scheduler);
                if let Some(asked) = answers {
                    self.answer_was_refused(asked);
                }
            }
            Part::ResetAssociation => self.tx.queue.release(&[], scheduler),
            _ => return,
        }
        self.trigger(Trigger::Write);
    }

    /// The peer asked for what a request of ours wanted it to: that is its answer (E1).
    pub(super) fn request_answered(&mut self, now: Time, answers: impl Fn(u32, &Part) -> bool) {
        let flight = self.reconfig.as_mut().and_then(|r| r.flight.as_mut());
        let Some(flight) = flight else { return };
        for (seq, part, result) in &mut flight.parts {
            if result.is_none() && answers(*seq, part) {
                *result = Some(ReconfigResult::PERFORMED);
            }
        }
        self.finish_flight(now);
    }

    /// Once all parts are answered, the application hears of it, and the next request may go.
    fn finish_flight(&mut self, now: Time) {
        let Some(reconfig) = &mut self.reconfig else { return };
        let answered = |f: &Flight| f.parts.iter().all(|(_, _, result)| result.is_some());
        if !reconfig.flight.as_ref().is_some_and(answered) {
            return;
        }
        let Some(flight) = reconfig.flight.take() else { return };
        self.timers.reconfig = Time::MAX;
        self.rx.doubt_numbers(false);
        self.errors = 0;
        let results = flight.parts.iter().filter_map(|(_, _, result)| *result);
        let failed = results.map(ReconfigOutcome::of).find(|o| *o != ReconfigOutcome::Performed);
        if let Some(request) = flight.id {
            let outcome = failed.unwrap_or(ReconfigOutcome::Performed);
            self.events.push_back(Event::Reconfigured { request, outcome });
        }
        self.advance_requests(now);
    }
}

/// Appends a request parameter. `expected`: the peer's next request; `last`: our last TSN.
fn push_part(params: &mut ParamsBuf, request: u32, part: &Part, expected: u32, last: u64) {
    let list = |streams: &[StreamId]| streams.iter().copied().collect::<ItemsBuf<StreamId, 2>>();
    match part {
        Part::ResetOutgoing { streams, answers } => {
            let streams = list(streams);
            let response = answers.unwrap_or(expected.wrapping_sub(1));
            let last_tsn = crate::tsn_map::wire(last);
            let reset = OutgoingReset { request, response, last_tsn, streams: streams.as_items() };
            params.push(&Parameter::OutgoingReset(reset));
        }
        Part::ResetIncoming { streams } => {
            let streams = list(streams);
            let reset = IncomingReset { request, streams: streams.as_items() };
            params.push(&Parameter::IncomingReset(reset));
        }
        Part::ResetAssociation => params.push(&Parameter::SsnTsnReset(request)),
        Part::AddOutgoing { count } => {
            params.push(&Parameter::AddOutgoingStreams(AddStreams { request, count: *count }));
        }
        Part::AddIncoming { count } => {
            params.push(&Parameter::AddIncomingStreams(AddStreams { request, count: *count }));
        }
    }
}

impl Reconfig {
    /// Requests that wait for their turn.
    pub(super) const fn waiting(&self) -> &VecDeque<Request> {
        &self.waiting
    }
}
