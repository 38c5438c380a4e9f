//! Stream reconfiguration (RFC 6525): streams start at number 0 again, TSNs start elsewhere, streams are added. Here is what
//! the application can ask for; [`request`] brings it to the peer, [`answer`] deals with what the peer asks for, [`implied`]
//! with what may be an answer.

mod answer;
mod implied;
mod request;

use std::collections::VecDeque;

use polypath_wire::{Parameter, ParamsBuf, ReconfigChunk, Tsn};

use super::{Association, Bundling, State};
use crate::event::{Event, StreamDirection};
use crate::ids::{PathId, ReconfigId, StreamId};
use crate::time::{Duration, Time};
use answer::Answered;
use implied::Implied;
use request::{Flight, Part, Request};

/// Requests of the application that wait, at most.
const MAX_WAITING: usize = 16;

/// Events of reconfigurations that wait for the application, at most: a peer that asks for more is denied.
const MAX_EVENTS: usize = 64;

/// SSN/TSN resets have this distance at least: a maximum segment lifetime (section 5.1.4).
const BETWEEN_RESETS: Duration = Duration::from_secs(30);

/// Why a reconfiguration cannot be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconfigError {
    /// The peer does not know RE-CONFIG, or we do not offer it.
    #[error("stream reconfiguration was not agreed on at set-up")]
    Unsupported,
    /// The association is not set up, or is ending.
    #[error("the association is not established")]
    NotEstablished,
    /// A stream that is not there.
    #[error("stream {} does not exist: there are {streams}", stream.0)]
    InvalidStream {
        /// The stream asked for.
        stream: StreamId,
        /// Streams there are.
        streams: u16,
    },
    /// More streams than a request can name.
    #[error("{streams} streams: a request names at most {limit}, or all by naming none")]
    TooManyStreams {
        /// Streams named.
        streams: usize,
        /// What fits.
        limit: usize,
    },
    /// Streams that cannot be added.
    #[error("{streams} streams: at least 1 more and at most {limit} in all are allowed")]
    TooManyAdded {
        /// Streams there would be.
        streams: u32,
        /// The largest number allowed.
        limit: u16,
    },
    /// The last reset of TSNs was less than 30 s ago.
    #[error("the last reset of the association was less than 30 s ago")]
    TooSoon,
    /// Too many requests wait, or a stream named is being reset already.
    #[error("a reset of the same streams is under way, or {MAX_WAITING} requests wait")]
    Busy,
}

/// What is going on. Made when it is first needed.
#[derive(Debug)]
pub(crate) struct Reconfig {
    /// Our next request sequence number.
    next: u32,
    /// The one of the peer that is expected.
    expected: u32,
    ids: u64,
    waiting: VecDeque<Request>,
    /// What waits for the peer's answer: one chunk at a time (section 5.1.1).
    flight: Option<Flight>,
    /// Answered as it seems, but perhaps never received.
    implied: Implied,
    /// Our answer to the peer's latest request, for repetitions of it.
    answered: Option<Answered>,
    /// When TSNs were last reset, by either side's request.
    reset_at: Option<Time>,
    /// The peer's request to reset them, while data of ours is outstanding.
    reset_asked: Option<u32>,
}

impl Reconfig {
    fn new(own: Tsn, peer: Tsn) -> Self {
        Self {
            next: own.0,
            expected: peer.0,
            ids: 0,
            waiting: VecDeque::new(),
            flight: None,
            implied: Implied::default(),
            answered: None,
            reset_at: None,
            reset_asked: None,
        }
    }

    fn reset_lately(&self, now: Time) -> bool {
        self.reset_at.is_some_and(|at| now.since(at) < BETWEEN_RESETS)
    }
}

impl Association {
    /// Lets streams start at number 0 again, `streams` or, if there are none, all. Messages already handed in to
    /// outgoing streams are sent before, with their old numbers; those that follow wait for the peer's answer. Incoming streams are
    /// reset by the peer, if it wants to. [`Event::Reconfigured`] tells the outcome, [`Event::StreamsReset`] what was reset.
    ///
    /// # Errors
    /// See [`ReconfigError`].
    pub fn reset_streams(
        &mut self,
        now: Time,
        direction: StreamDirection,
        streams: &[StreamId],
    ) -> Result<ReconfigId, ReconfigError> {
        self.check_reconfigurable()?;
        let mut streams = streams.to_vec();
        streams.sort_unstable();
        streams.dedup();
        self.check_streams(direction, &streams)?;
        let outgoing = || Part::ResetOutgoing { streams: streams.clone(), answers: None };
        let incoming = || Part::ResetIncoming { streams: streams.clone() };
        let parts = match direction {
            StreamDirection::Outgoing => vec![outgoing()],
            StreamDirection::Incoming => vec![incoming()],
            StreamDirection::Both => vec![outgoing(), incoming()],
        };
        self.ask(now, parts)
    }

    /// Lets TSNs and all streams' numbers start anew, once all that was handed in is acknowledged. What follows waits for
    /// the peer's answer.
    ///
    /// # Errors
    /// See [`ReconfigError`].
    pub fn reset_association(&mut self, now: Time) -> Result<ReconfigId, ReconfigError> {
        self.check_reconfigurable()?;
        if self.reconfig.as_ref().is_some_and(|r| r.reset_lately(now) || r.resets_association()) {
            return Err(ReconfigError::TooSoon);
        }
        self.ask(now, vec![Part::ResetAssociation])
    }

    /// Adds streams behind those that there are. They can be used once [`Event::StreamsAdded`] says so.
    ///
    /// # Errors
    /// See [`ReconfigError`].
    pub fn add_streams(
        &mut self,
        now: Time,
        outgoing: u16,
        incoming: u16,
    ) -> Result<ReconfigId, ReconfigError> {
        self.check_reconfigurable()?;
        let limits = self.config.reconfiguration;
        let to_come = self.reconfig.as_ref().map_or(0, |r| r.outgoing_to_come());
        let sides = [
            (
                self.caps.outbound_streams.saturating_add(to_come),
                outgoing,
                limits.max_outbound_streams,
            ),
            (self.caps.inbound_streams, incoming, limits.max_inbound_streams),
        ];
        for (have, more, limit) in sides {
            let streams = u32::from(have) + u32::from(more);
            if more > 0 && streams > u32::from(limit) || outgoing == 0 && incoming == 0 {
                return Err(ReconfigError::TooManyAdded { streams, limit });
            }
        }
        let parts = [Part::AddOutgoing { count: outgoing }, Part::AddIncoming { count: incoming }];
        let wanted = |part: &Part| {
            !matches!(part, Part::AddOutgoing { count: 0 } | Part::AddIncoming { count: 0 })
        };
        self.ask(now, parts.into_iter().filter(wanted).collect())
    }

    const fn check_reconfigurable(&self) -> Result<(), ReconfigError> {
        if !matches!(self.state, State::Established) {
            return Err(ReconfigError::NotEstablished);
        }
        if !self.caps.agreed.stream_reconfiguration {
            return Err(ReconfigError::Unsupported);
        }
        Ok(())
    }

    fn check_streams(
        &self,
        direction: StreamDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigError> {
        let mut count = u16::MAX;
        if direction != StreamDirection::Incoming {
            count = count.min(self.caps.outbound_streams);
        }
        if direction != StreamDirection::Outgoing {
            count = count.min(self.caps.inbound_streams);
        }
        if let Some(&stream) = streams.iter().find(|s| s.0 >= count) {
            return Err(ReconfigError::InvalidStream { stream, streams: count });
        }
        let lists = if direction == StreamDirection::Both { 2 } else { 1 };
        let limit = self.nameable_streams() / lists;
        if streams.len() > limit {
            return Err(ReconfigError::TooManyStreams { streams: streams.len(), limit });
        }
        Ok(())
    }

    /// Streams that the requests of one packet can name.
    fn nameable_streams(&self) -> usize {
        // Packet, chunk, and two requests with their padding.
        const OVERHEAD: usize = polypath_wire::COMMON_HEADER_LEN + 4 + 2 * 20;
        let limit = self.paths.views.iter().map(|v| self.paths.packet_limit(v.id)).min();
        limit.unwrap_or(0).saturating_sub(OVERHEAD) / 2
    }

    /// Queues a request of the application.
    fn ask(&mut self, now: Time, parts: Vec<Part>) -> Result<ReconfigId, ReconfigError> {
        let reconfig = self.reconfig_mut();
        if reconfig.waiting.len() >= MAX_WAITING || reconfig.is_in_the_way(&parts) {
            return Err(ReconfigError::Busy);
        }
        reconfig.ids += 1;
        let id = ReconfigId(reconfig.ids);
        self.queue_request(now, Request::new(Some(id), parts));
        Ok(id)
    }

    fn reconfig_mut(&mut self) -> &mut Reconfig {
        let (own, peer) = (self.local.initial_tsn, self.peer.initial_tsn);
        self.reconfig.get_or_insert_with(|| Box::new(Reconfig::new(own, peer)))
    }

    /// The association begins anew: so do the sequence numbers.
    pub(super) fn forget_reconfigurations(&mut self) {
        self.reconfig = None;
        self.timers.reconfig = Time::MAX;
    }

    /// RE-CONFIG came (section 5.2.1). In SHUTDOWN-SENT, too, it is answered: the peer holds back what it has still to send until it knows
    /// whether its streams start anew.
    pub(super) fn on_reconfig(
        &mut self,
        now: Time,
        path: PathId,
        chunk: &ReconfigChunk<'_>,
        answered: &mut bool,
    ) {
        if !matches!(
            self.state,
            State::Established
                | State::ShutdownPending
                | State::ShutdownReceived
                | State::ShutdownSent
        ) {
            return;
        }
        let mut requests = Vec::new();
        for param in chunk.params.iter().flatten() {
            let Ok(param) = param.decode() else {
                self.stats.malformed_chunks += 1;
                return;
            };
            match param {
                Parameter::ReconfigResponse(response) => self.on_reconfig_response(now, &response),
                request => requests.push(request),
            }
        }
        // One answer per packet (RFC 9260 section 12.4).
        if !requests.is_empty() && !core::mem::replace(answered, true) {
            self.on_reconfig_requests(now, path, &requests);
        }
    }

    /// Whether the application has so many reconfigurations to take note of that the peer must wait with more.
    fn has_many_reconfigurations(&self) -> bool {
        let about = |e: &&Event| {
            matches!(
                e,
                Event::StreamsReset { .. }
                    | Event::AssociationReset { .. }
                    | Event::StreamsAdded { .. }
            )
        };
        self.events.iter().filter(about).count() >= MAX_EVENTS
    }

    fn send_reconfig(&mut self, path: PathId, params: &ParamsBuf) {
        let path = if self.may_carry_control(path) { path } else { self.paths.preferred() };
        if self.may_carry_control(path) {
            let chunk = ReconfigChunk { params: params.as_params() };
            self.send_control(path, &chunk, Bundling::Free);
        }
    }

    /// Streams of ours start at 0 again.
    fn outgoing_streams_reset(&mut self, streams: Vec<StreamId>) {
        let scheduler = &mut *self.policies.stream_scheduler;
        self.tx.reset_streams(&streams, scheduler);
        let direction = StreamDirection::Outgoing;
        self.events.push_back(Event::StreamsReset { direction, streams });
        self.trigger(crate::policy::Trigger::Write);
    }
}
