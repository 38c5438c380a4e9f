//! One association: owns its parts and offers the public calls. The algorithms live in the parts.

mod arrival;
mod asconf;
mod auth;
mod chunk_rescheduling;
mod congestion_windows;
mod errors;
mod explicit_eor;
mod held_packets;
mod input;
mod limits;
mod mtu;
mod nagle;
mod output;
mod packet_builder;
mod packet_state;
mod partial_reliability;
mod path_silence;
mod paths;
mod protection;
mod rate_probe;
mod reconfiguration;
mod redundant_copies;
mod sack;
mod sack_path;
mod send_attempt;
mod send_decision;
mod settings;
mod setup;
mod shutdown;
mod stall_detection;
mod tail_copies;
mod tail_loss_probe;
mod timeout;
mod timers;
mod tracing;

pub use crate::extension::asconf::AddressError;
pub use crate::extension::reconfig::ReconfigError;
pub use crate::state::State;
pub(crate) use packet_builder::PacketSize;

use core::net::IpAddr;
use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use polypath_wire::{ChecksumMode, EncodeChunk};

use crate::auth::{Auth, RANDOM_LEN};
use crate::config::{AgreedExtensions, AssocConfig, EndpointConfig, NrSack};
use crate::control::{self, Bundling, ControlQueue};
use crate::event::{CloseReason, Event, Message, SenderQueueInfo};
use crate::extension::asconf::Asconf;
use crate::extension::buffer_tuning::{BufferTuning, congestion_config};
use crate::extension::protection::ProtectionState;
use crate::extension::reconfig::Reconfig;
use crate::handshake::Capabilities;
use crate::ids::{MessageId, PathId, StreamId, Tsn};
use crate::needs::StreamNeeds;
use crate::path::{Pacers, PathSet};
use crate::policy::{PolicySet, StreamParam, Trigger};
use crate::receiver::{Receiver, ReceiverSettings, RecvFrom};
use crate::rng::{Rng, StoredRng};
use crate::sender::{SendError, SendOptions, Sender};
use crate::stats::{AssocStats, PathStats, RecoveryStats, StreamWait};
use crate::time::{Duration, Time};
use crate::trace::{TraceRecord, Tracer};
use crate::view::AssocView;
use held_packets::HeldPackets;
use timers::Timers;

/// An SCTP association with all its paths.
#[derive(Debug)]
pub struct Association {
    pub(crate) config: Arc<AssocConfig>,
    pub(crate) endpoint: Arc<EndpointConfig>,
    pub(crate) state: State,
    pub(crate) local: LocalSide,
    pub(crate) peer: PeerSide,
    pub(crate) caps: Capabilities,
    /// Present where authentication is switched on.
    pub(crate) auth: Option<Box<Auth>>,
    /// Present where packets are protected, or will be.
    protection: Option<Box<ProtectionState>>,
    /// Present while addresses may change.
    asconf: Option<Box<Asconf>>,
    /// Counts changes of the peer's addresses, by which packets find the association.
    pub(crate) address_generation: u32,
    pub(crate) paths: PathSet,
    pub(crate) policies: PolicySet,
    pub(crate) tx: Sender,
    pub(crate) rx: Receiver,
    pub(crate) setup: setup::Setup,
    pub(crate) timers: Timers,
    /// Present once a packet was paced.
    pacers: Option<Box<Pacers>>,
    /// Present while packets wait for their time.
    held: Option<Box<HeldPackets>>,
    /// The peer says that it spaces its SACKs, for its way back has a queue.
    sacks_are_spaced: bool,
    pub(crate) control: ControlQueue,
    pub(crate) events: VecDeque<Event>,
    rng: StoredRng,
    pub(crate) tracer: Tracer,
    pub(crate) stats: AssocStats,
    /// Association error counter (RFC 9260 section 8.1).
    pub(crate) errors: u32,
    /// When an unanswered heartbeat last counted against the association.
    unanswered_at: Time,
    attempt: send_attempt::SendAttempt,
    /// Small messages wait for company (see [`nagle`]).
    nagle: bool,
    /// The path of the SACK that brought the latest news (see [`sack`]).
    newest_sack_path: PathId,
    /// What the peer said in its ABORT (see [`errors`]).
    abort_reason: Option<Box<Bytes>>,
    close_reason: Option<Box<CloseReason>>,
    /// Present once streams were to be reconfigured.
    reconfig: Option<Box<Reconfig>>,
    limits: limits::Limits,
    /// Present where buffers grow.
    tuning: Option<Box<BufferTuning>>,
}

/// Our half of the association's identity.
#[derive(Clone, Debug)]
pub(crate) struct LocalSide {
    pub(crate) port: u16,
    /// The verification tag that packets to us carry.
    pub(crate) tag: u32,
    pub(crate) initial_tsn: Tsn,
    /// A random number that stands for `tag` in cookies, so that a cookie does not reveal it (RFC
    /// 5062 section 3).
    pub(crate) tie_tag: u32,
    /// Our RANDOM, where we offer or accept authentication (RFC 4895).
    pub(crate) random: Option<Box<[u8; RANDOM_LEN]>>,
}

/// The peer's half.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerSide {
    pub(crate) port: u16,
    /// The verification tag that packets to the peer carry; 0 while unknown.
    pub(crate) tag: u32,
    pub(crate) initial_tsn: Tsn,
    /// The receive window that the peer announced in INIT or INIT ACK.
    pub(crate) a_rwnd: u32,
    /// All addresses of the peer: those of its INIT or INIT ACK and their source.
    pub(crate) addresses: Vec<IpAddr>,
    /// Stands for `tag` in cookies.
    pub(crate) tie_tag: u32,
}

impl Association {
    /// An association in no state yet, with no path; [`setup`] gives it one.
    pub(crate) fn new(
        config: Arc<AssocConfig>,
        endpoint: Arc<EndpointConfig>,
        local: LocalSide,
        mut rng: Rng,
    ) -> Self {
        let policies = config.policies.build(&congestion_config(&config), &mut rng);
        let tx = Sender::new(local.initial_tsn, &config);
        let rx = Receiver::new(receiver_settings(&config, Capabilities::default()), Tsn(0));
        Self {
            paths: PathSet::new(endpoint.encapsulation),
            tracer: Tracer::new(config.trace),
            state: State::Closed,
            peer: PeerSide::default(),
            caps: Capabilities::default(),
            auth: Self::new_auth(&config, &local),
            protection: None,
            asconf: None,
            address_generation: 0,
            setup: setup::Setup::default(),
            timers: Timers::default(),
            pacers: None,
            held: None,
            sacks_are_spaced: false,
            control: ControlQueue::default(),
            events: VecDeque::new(),
            stats: AssocStats::default(),
            errors: 0,
            unanswered_at: Time::ZERO,
            attempt: send_attempt::SendAttempt::default(),
            nagle: config.nagle,
            newest_sack_path: PathId(0),
            abort_reason: None,
            close_reason: None,
            reconfig: None,
            limits: limits::Limits::new(config.stall_detection),
            tuning: BufferTuning::new(&config),
            config,
            endpoint,
            local,
            policies,
            tx,
            rx,
            rng: StoredRng::new(&rng),
        }
    }

    /// Hands in a message. It is copied nowhere: `data` is kept until the peer acknowledged it.
    ///
    /// # Errors
    /// [`SendError::WouldBlock`] when the send buffer is full: wait for [`Event::Writable`].
    pub fn send(
        &mut self,
        now: Time,
        stream: StreamId,
        data: Bytes,
        options: SendOptions,
    ) -> Result<MessageId, SendError> {
        self.check_send(stream, options.ppid)?;
        self.make_room(now, stream, data.len(), options.reliability);
        let scheduler = &mut *self.policies.stream_scheduler;
        let sent = self.tx.enqueue(now, stream, data, options, scheduler);
        self.limits.refused = matches!(sent, Err(SendError::WouldBlock));
        if sent.is_ok() {
            self.stats.messages_sent += 1;
            self.trigger(Trigger::Write);
        }
        sent
    }

    /// Takes the next received message, if there is one.
    pub fn recv(&mut self, now: Time, want: RecvFrom) -> Option<Message> {
        if self.is_exchanging_keys() {
            return None;
        }
        let message = self.rx.recv(want)?;
        self.stats.messages_delivered += u64::from(message.part.last);
        self.stats.bytes_delivered += message.data.len() as u64;
        self.trace_taken(now, &message);
        Some(message)
    }

    /// Ends the association once all that was handed in is acknowledged (RFC 9260 section 9.2).
    pub fn shutdown(&mut self, now: Time) {
        self.user_shutdown(now);
        if self.nagle {
            // What waited for company does so no more.
            self.trigger(Trigger::Write);
        }
    }

    /// Ends the association at once, telling the peer `reason` (RFC 9260 section 9.1).
    pub fn abort(&mut self, now: Time, reason: Bytes) {
        self.user_abort(now, &reason);
    }

    /// What the peer said when it aborted (User-Initiated Abort, RFC 9260 section 3.3.10.12; or the
    /// text of a Protocol Violation), at most 256 bytes of it; empty if it said nothing. It is the
    /// peer's: neither text nor harmless by itself.
    pub fn abort_reason(&self) -> Bytes {
        self.abort_reason.as_deref().cloned().unwrap_or_default()
    }

    /// Why it is over, if it is; known before [`Event::Closed`] is polled.
    pub fn close_reason(&self) -> Option<&CloseReason> {
        self.close_reason.as_deref()
    }

    /// The association's state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Everything that policies see.
    pub fn view(&self, now: Time) -> AssocView<'_> {
        self.tx.view(now, &self.paths)
    }

    /// Outbound and inbound streams, as agreed at set-up; 0 before.
    pub const fn streams(&self) -> (u16, u16) {
        (self.caps.outbound_streams, self.caps.inbound_streams)
    }

    /// The extensions that both ends agreed on at set-up; none before.
    pub const fn agreed(&self) -> AgreedExtensions {
        let agreed = self.caps.agreed;
        AgreedExtensions {
            authentication: agreed.authentication,
            dynamic_addresses: agreed.dynamic_addresses,
            interleaving: agreed.interleaving,
            partial_reliability: agreed.partial_reliability,
            stream_reconfiguration: agreed.stream_reconfiguration,
            nr_sack: agreed.nr_sack,
            dac: agreed.dac,
            zero_checksum: agreed.zero_checksum,
            sack_thinning: agreed.sack_thinning,
        }
    }

    /// The peer's SCTP port.
    pub const fn peer_port(&self) -> u16 {
        self.peer.port
    }

    /// What waits in the send buffer (SQINFO).
    pub fn sender_queue_info(&self) -> SenderQueueInfo {
        self.tx.queue_info()
    }

    /// The oldest data of each outbound stream that is not acknowledged, and what it waits for: the
    /// `most` streams that wait longest. Of what is in flight only the oldest chunks are looked at.
    pub fn stream_waits(&self, now: Time, most: usize) -> Vec<StreamWait> {
        self.tx.stream_waits(now, most)
    }

    /// For how long the oldest data in flight on each path waits for an acknowledgement, in the
    /// order of their numbers; `None` where there is none. Only the oldest chunks are looked at.
    pub fn path_waits(&self, now: Time) -> Vec<Option<Duration>> {
        self.tx.path_waits(now, self.paths.views.len())
    }

    /// Free bytes of the send buffer: the largest message that it takes now. 0 while small messages
    /// fill the memory that goes with it.
    pub fn writable(&self) -> u64 {
        self.tx.free()
    }

    /// Free bytes of the send buffer that a stream may fill: some are kept from others once a
    /// stream needs low delay.
    pub fn writable_on(&self, stream: StreamId) -> u64 {
        self.tx.room_on(stream)
    }

    /// Sets a parameter of an outbound stream for the stream scheduler.
    pub fn set_stream_param(&mut self, stream: StreamId, param: StreamParam) {
        self.policies.stream_scheduler.set_param(stream, param);
    }

    /// Declares what an outbound stream needs of the paths, for schedulers that heed it. While a
    /// stream needs low delay, a sixteenth of either buffer is kept free for such streams.
    ///
    /// # Errors
    /// [`SendError::InvalidStream`] if there is no such stream.
    pub fn set_stream_needs(
        &mut self,
        stream: StreamId,
        needs: StreamNeeds,
    ) -> Result<(), SendError> {
        self.check_stream(stream)?;
        self.tx.queue.set_needs(stream, needs);
        Ok(())
    }

    /// Refuses streams that do not exist: during set-up those that will not be asked for.
    fn check_stream(&self, stream: StreamId) -> Result<(), SendError> {
        let streams = if self.state.is_setup() {
            self.config.outbound_streams
        } else {
            self.caps.outbound_streams
        };
        if stream.0 < streams { Ok(()) } else { Err(SendError::InvalidStream { stream, streams }) }
    }

    /// Bytes held in the receive buffer, and those of them above the cum-ack.
    pub fn receive_buffer(&self) -> (u32, u32) {
        (self.rx.held(), self.rx.out_of_order())
    }

    /// Sizes of the receive and the send buffer at present, bytes.
    pub fn buffer_sizes(&self) -> (u32, u64) {
        (self.rx.buffer_size(), self.tx.buffer_view().limit)
    }

    /// Counters of the paths alone, in the order of their numbers.
    pub fn path_stats(&self) -> Vec<PathStats> {
        self.paths.iter().map(|(v, p)| p.stats.stats(p.tuple, v)).collect()
    }

    /// Counters.
    pub fn stats(&self) -> AssocStats {
        let rx = self.rx.stats();
        AssocStats {
            paths: self.path_stats(),
            sacks_sent: rx.sacks,
            data_chunks_received: rx.chunks,
            duplicates_received: rx.duplicates,
            dropped_no_room: rx.dropped_window,
            streams_out: self.tx.stream_stats(),
            streams_in: self.rx.stream_stats().collect(),
            ..self.stats.clone()
        }
    }

    /// Counters of the loss recovery beyond RFC 9260 on path `p`.
    pub fn recovery_stats(&self, p: PathId) -> RecoveryStats {
        self.tx.recovery.stats(p)
    }

    /// Whether it records what happens.
    #[inline]
    pub(crate) const fn is_tracing(&self) -> bool {
        self.tracer.is_on()
    }

    /// Trace records since the last call, when tracing is on.
    pub fn take_trace(&mut self) -> Vec<TraceRecord> {
        self.tracer.take()
    }

    /// The next event for the application.
    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        if self.is_exchanging_keys() && !self.tells_before_keys() {
            return None;
        }
        let event = self.events.pop_front()?;
        release(&mut self.events);
        if matches!(event, Event::Established { .. }) && self.events.is_empty() {
            // Often the only one for long.
            self.events = VecDeque::new();
        }
        Some(event)
    }

    /// Something happened that may allow sending.
    pub(crate) fn trigger(&mut self, why: Trigger) {
        self.attempt.request(why);
    }

    /// Queues `chunk` for `path`.
    pub(crate) fn send_control(
        &mut self,
        path: PathId,
        chunk: &impl EncodeChunk,
        bundling: Bundling,
    ) {
        self.control.send(path, chunk, bundling);
    }

    /// Whether a packet with these chunks goes without checksum: where both ends said so, and no
    /// chunk of it asks for one (RFC 9653 section 5.2).
    #[inline]
    fn checksum(&self, chunks: &[u8]) -> ChecksumMode {
        if !self.caps.agreed.zero_checksum || control::any_needs_checksum(chunks) {
            return ChecksumMode::Crc32c;
        }
        ChecksumMode::Zero
    }

    /// Data came in: the receive buffer may have to grow.
    #[inline]
    fn tune_receive_buffer(&mut self, now: Time) {
        let Some(tuning) = &mut self.tuning else { return };
        let delivered = self.stats.bytes_delivered;
        if tuning.tunes_receive_buffer()
            && tuning.on_data(now, &mut self.rx, delivered, &self.paths)
        {
            self.measure_idle_paths(now);
        }
    }

    /// A SACK came: the send buffer may have to grow.
    #[inline]
    fn tune_send_buffer(&mut self) {
        if let Some(tuning) = &self.tuning {
            tuning.on_sack(&mut self.tx, &self.paths);
        }
    }

    /// Copies the congestion windows into the views.
    pub(crate) fn refresh_windows(&mut self, now: Time) {
        let congestion = &*self.policies.congestion;
        congestion_windows::refresh(now, congestion, &mut self.paths, &self.tx, &mut self.tracer);
    }

    /// The association is over: everything unsent or unproven is reported, timers stop.
    pub(crate) fn close(&mut self, reason: CloseReason) {
        if self.state == State::Closed && !self.timers.any() {
            return;
        }
        let reason = self.with_failure_of_keys(reason);
        for (message, stream, sent) in self.tx.drain_undelivered() {
            self.events.push_back(Event::SendFailed { message, stream, sent });
        }
        self.rx.abort_parts();
        self.report_aborted_parts();
        self.state = State::Closed;
        self.held = None;
        self.timers = Timers::default();
        for (_, path) in self.paths.iter_mut() {
            path.t3 = Time::MAX;
            path.heartbeat_at = Time::MAX;
        }
        self.close_reason = Some(Box::new(reason.clone()));
        self.events.push_back(Event::Closed(reason));
    }

    /// The peer's old life is over: what it began and did not end is said to be aborted before
    /// anything of the new one is told.
    pub(crate) fn end_receiver(&mut self) {
        self.rx.abort_unread();
        self.rx.abort_parts();
        self.report_aborted_parts();
        let settings = receiver_settings(&self.config, self.caps);
        self.rx = Receiver::new(settings, self.peer.initial_tsn);
        self.rx.keep_log(self.tracer.is_on());
    }

    /// The agreed capabilities take effect in both halves: the receiving one starts at the peer's
    /// initial TSN.
    pub(crate) fn start_receiver(&mut self) {
        let mut settings = receiver_settings(&self.config, self.caps);
        if self.is_exchanging_keys() {
            // A part that is delivered holds up what is behind it: key management's messages, too.
            settings.partial_delivery = None;
        }
        self.rx = Receiver::new(settings, self.peer.initial_tsn);
        self.rx.keep_log(self.tracer.is_on());
        self.tx.set_interleaving(self.caps.agreed.interleaving);
        self.tx.agree_on_abandoning(self.skips_messages());
        // The association begins anew: so do the sequence numbers.
        self.reconfig = None;
    }
}

fn receiver_settings(config: &AssocConfig, caps: Capabilities) -> ReceiverSettings {
    ReceiverSettings {
        buffer: config.receive_buffer,
        chunk_charge: config.reproduction.chunk_charge,
        max_message: config.max_message,
        partial_delivery: config.partial_delivery,
        interleaving: caps.agreed.interleaving,
        skips: caps.agreed.partial_reliability,
        first_mid: config.reproduction.first_mid,
        inbound_streams: caps.inbound_streams,
        sack: config.sack,
        dac: caps.agreed.dac,
        thins_sacks: caps.agreed.sack_thinning,
        nr_sack: if caps.agreed.nr_sack { config.cmt.nr_sack } else { NrSack::Off },
    }
}

/// Gives back what a burst needed, once the queue is empty: idle associations are many. A queue
/// that holds a few at a time keeps its room.
#[inline]
fn release<T>(queue: &mut VecDeque<T>) {
    const FEW: usize = 4;
    if queue.is_empty() && queue.capacity() > FEW {
        *queue = VecDeque::new();
    }
}
