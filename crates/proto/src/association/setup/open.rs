//! Set-up as the side that opens: INIT, COOKIE ECHO, and what both sides do once it is done (RFC
//! 9260 section 5.1).

use core::net::IpAddr;
use std::sync::Arc;

use polypath_wire::param::kind as param_kind;
use polypath_wire::{
    AbortChunk, CausesBuf, Chunk, CookieEchoChunk, ErrorCause, InitAckChunk, ItemsBuf, PacketView,
    Parameter, ParamsBuf,
};

use crate::association::{Association, LocalSide, PeerSide, State};
use crate::config::{AssocConfig, EndpointConfig, Handshake};
use crate::control::{Bundling, Encoded};
use crate::event::{CloseReason, Event};
use crate::handshake::{
    Capabilities, Extensions, InitFault, Offer, PeerInit, fixed_part, state_cookie, unrecognized,
};
use crate::ids::{FourTuple, PathId};
use crate::policy::Trigger;
use crate::rng::Rng;
use crate::time::{Duration, Time};

impl Association {
    /// An association that opens over the paths `tuples`, which the user vouches for; its INIT
    /// waits to be sent.
    pub(crate) fn connect(
        now: Time,
        config: Arc<AssocConfig>,
        endpoint: Arc<EndpointConfig>,
        tuples: &[FourTuple],
        peer_port: u16,
        mut rng: Rng,
    ) -> Self {
        let local = LocalSide {
            port: endpoint.port,
            tag: rng.non_zero_u32(),
            initial_tsn: config.first_tsn(&mut rng),
            tie_tag: rng.non_zero_u32(),
            random: Extensions::of(&config).authentication.then(|| Box::new(rng.bytes32())),
        };
        let mut assoc = Self::new(config, endpoint, local, rng);
        assoc.peer.port = peer_port;
        assoc.setup.opened = true;
        assoc.offer_protection();
        for tuple in tuples {
            assoc.add_path(now, *tuple, true);
        }
        assoc.start_handshake(now, None);
        assoc
    }

    /// The answer to our INIT came from an address that we did not know. The association goes on
    /// along the path of the INIT, which our user vouches for; the source is one more address of
    /// the peer.
    pub(in crate::association) fn init_ack_from_elsewhere(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &PacketView<'_>,
    ) {
        let Some(Ok(raw)) = packet.chunks().next() else { return };
        if let Ok(Chunk::InitAck(ack)) = raw.decode() {
            self.on_init_ack_from(now, self.setup.path, tuple.remote.ip(), &ack);
        }
    }

    /// The answer to our INIT came.
    pub(crate) fn on_init_ack(&mut self, now: Time, path: PathId, ack: &InitAckChunk<'_>) {
        if let Some(tuple) = self.path_tuple(path) {
            self.on_init_ack_from(now, path, tuple.remote.ip(), ack);
        }
    }

    fn on_init_ack_from(
        &mut self,
        now: Time,
        path: PathId,
        source: IpAddr,
        ack: &InitAckChunk<'_>,
    ) {
        if self.state != State::CookieWait {
            return;
        }
        let peer = match PeerInit::parse(ack.fixed, ack.params, source) {
            Ok(peer) => peer,
            Err(fault) => return self.refuse_init_ack(path, ack, fault),
        };
        if let Some(fault) = peer.refusal(&self.config) {
            return self.refuse_init_ack(path, ack, fault);
        }
        let Some(cookie) = state_cookie(ack.params) else {
            self.peer.tag = ack.fixed.initiate_tag;
            let missing: ItemsBuf<u16, 2> = [param_kind::STATE_COOKIE].into_iter().collect();
            return self.abort_with(&ErrorCause::MissingMandatory(missing.as_items()));
        };
        self.control.clear();
        self.adopt_peer(&peer);
        if let Err(fault) = self.agree_on_protection(now, peer.keys.as_ref()) {
            return self.refuse_init_ack(path, ack, InitFault::Keys(fault));
        }
        self.prefer_path(path);
        self.state = State::CookieEchoed;
        self.prepare_first_message();
        let mut chunk = Vec::new();
        polypath_wire::EncodeChunk::encode(&CookieEchoChunk { cookie }, &mut chunk);
        self.setup.echoed = now;
        self.send_setup_chunk(now, chunk, path);
        self.report_unknown_parameters(path, ack);
    }

    /// Whether we opened it.
    pub(crate) const fn has_opened(&self) -> bool {
        self.setup.opened
    }

    /// Who answered our INIT has an association with us already, and keeps it.
    pub(crate) fn yield_to_existing(&mut self) {
        self.control.clear();
        self.close(CloseReason::AlreadyConnected);
    }

    /// The peer has set up the association.
    pub(crate) fn on_cookie_ack(&mut self, now: Time) {
        if self.state == State::CookieEchoed {
            self.enter_established(now);
            self.apply_pending_address_changes(now);
        }
    }

    /// Our cookie was `staleness` microseconds too old when it arrived: asks, once, for one that
    /// lives longer (RFC 9260 section 5.2.6, alternative 3).
    pub(crate) fn on_stale_cookie(&mut self, now: Time, staleness: u32) {
        if self.state != State::CookieEchoed {
            return;
        }
        if self.setup.stale_before {
            self.control.clear();
            return self.close(CloseReason::StaleCookie);
        }
        self.setup.stale_before = true;
        self.control.clear();
        self.peer = PeerSide { port: self.peer.port, ..PeerSide::default() };
        // A new tag as for any new attempt (section 5.3.1): packets of the one that failed may
        // still be under way.
        self.local.tag = self.rng.with(Rng::non_zero_u32);
        // No more than a second beyond the round trip: long lives invite replays.
        let excess = Duration::from_micros(staleness.into()).min(Duration::from_secs(1));
        self.start_handshake(now, Some(now.since(self.setup.echoed) + excess));
    }

    /// T1-init or T1-cookie expired: the same chunk goes out again, over the next of the user's
    /// paths.
    pub(crate) fn on_t1(&mut self, now: Time) {
        if !self.state.is_setup() {
            return;
        }
        if self.setup.retransmissions >= self.config.max_init_retrans {
            return self.give_up_on_peer(CloseReason::HandshakeTimeout);
        }
        self.setup.retransmissions += 1;
        // Backs the timeout off. No failure of the path yet: that no one answers may have many
        // reasons.
        self.paths.timeout(now, self.setup.path, false, &self.config);
        let paths = self.paths.len().max(1);
        let next = PathId(((self.setup.path.index() + 1) % paths) as u8);
        let chunk = core::mem::take(&mut self.setup.chunk);
        self.transmit_setup_chunk(now, chunk, next);
    }

    /// Both sides: data may flow.
    pub(crate) fn enter_established(&mut self, now: Time) {
        self.state = State::Established;
        self.limits.start(now);
        self.timers.t1 = Time::MAX;
        self.setup.chunk = Vec::new();
        self.errors = 0;
        self.start_receiver();
        self.trace_beginning(now);
        self.tx.set_peer_window(self.peer.a_rwnd);
        self.events.push_back(Event::Established {
            outbound_streams: self.caps.outbound_streams,
            inbound_streams: self.caps.inbound_streams,
        });
        self.announce_auth();
        for (message, stream) in self.tx.limit_streams(self.caps.outbound_streams) {
            self.events.push_back(Event::SendFailed { message, stream, sent: false });
        }
        for p in self.paths.ids() {
            self.start_windows(now, p);
            self.start_heartbeats(now, p);
        }
        if self.is_exchanging_keys() {
            self.start_key_exchange(now);
            self.note_first_message(now);
            self.drive_keys(now);
        } else {
            self.settle(now);
        }
    }

    /// Both sides: set-up is over, with its keys where there are any. The peer may hear of our
    /// addresses, and of what our user asked for meanwhile.
    pub(in crate::association) fn settle(&mut self, now: Time) {
        self.pair_addresses(now);
        self.start_asconf();
        self.announce_paths(now);
        self.trigger(Trigger::Path);
        if let Some(unreported) = self.setup.unreported.take() {
            self.report_parameters(self.paths.preferred(), &unreported);
        }
        if core::mem::take(&mut self.setup.shutdown_wanted) {
            self.user_shutdown(now);
        }
    }

    /// Takes over what the peer said in its INIT or INIT ACK.
    pub(super) fn adopt_peer(&mut self, peer: &PeerInit) {
        let mut addresses = peer.addresses.clone();
        // What our user named is the peer's as well.
        for tuple in self.paths.live().filter_map(|p| self.path_tuple(p)) {
            let remote = tuple.remote.ip();
            if !addresses.contains(&remote) {
                addresses.push(remote);
            }
        }
        self.peer = PeerSide {
            port: self.peer.port,
            tag: peer.fixed.initiate_tag,
            initial_tsn: peer.fixed.initial_tsn,
            a_rwnd: peer.fixed.a_rwnd,
            addresses,
            tie_tag: self.rng.with(Rng::non_zero_u32),
        };
        self.caps = self.caps_with(peer);
        self.adopt_auth(peer);
    }

    /// What we and who offers this agree on.
    pub(super) fn caps_with(&self, peer: &PeerInit) -> Capabilities {
        Capabilities {
            agreed: Extensions::agreed(&self.config, peer.extensions),
            outbound_streams: self.config.outbound_streams.max(1).min(peer.fixed.inbound_streams),
            inbound_streams: self.config.inbound_streams.max(1).min(peer.fixed.outbound_streams),
        }
    }

    /// Sends INIT on the first path.
    fn start_handshake(&mut self, now: Time, preservative: Option<Duration>) {
        self.state = State::CookieWait;
        // Behind a NAT nobody knows our addresses (RFC 6951 section 4.1).
        let addresses =
            if self.endpoint.behind_nat { Vec::new() } else { self.announced_addresses() };
        let offer = Offer {
            fixed: fixed_part(&self.config, self.local.tag, self.local.initial_tsn),
            addresses: &addresses,
            extensions: Extensions::of(&self.config),
            auth: self.auth.as_ref().map(|auth| auth.ours()),
            keys: self.own_key_offer(),
        };
        let chunk = offer.init(preservative);
        self.send_setup_chunk(now, chunk, self.setup.path);
    }

    /// Sends INIT or COOKIE ECHO for the first time.
    fn send_setup_chunk(&mut self, now: Time, chunk: Vec<u8>, path: PathId) {
        self.setup.retransmissions = 0;
        self.transmit_setup_chunk(now, chunk, path);
    }

    fn transmit_setup_chunk(&mut self, now: Time, chunk: Vec<u8>, path: PathId) {
        let first = self.state == State::CookieWait;
        let bundling = if first { Bundling::Init } else { Bundling::First };
        self.send_control(path, &Encoded(&chunk), bundling);
        if first && self.config.handshake == Handshake::AllPaths {
            for other in self.paths.ids().filter(|p| *p != path) {
                self.send_control(other, &Encoded(&chunk), bundling);
            }
        }
        self.setup.chunk = chunk;
        self.setup.path = path;
        self.timers.t1 = now + self.rto(path);
    }

    /// The path that the peer answered on is the best one known.
    pub(super) fn prefer_path(&mut self, path: PathId) {
        if self.paths.primary != path {
            self.paths.primary = path;
            self.events.push_back(Event::PrimaryChanged(path));
        }
    }

    fn refuse_init_ack(&mut self, path: PathId, ack: &InitAckChunk<'_>, fault: InitFault<'_>) {
        match fault {
            // There is no tag to send an ABORT with but our own, reflected (RFC 9260 section
            // 3.3.3).
            InitFault::ZeroTag => {
                self.control.clear();
                let causes = CausesBuf::new();
                let chunk = AbortChunk { reflected: true, causes: causes.as_causes() };
                self.send_control(path, &chunk, Bundling::Reflected(self.local.tag));
                let cause = fault.cause().code();
                self.close(CloseReason::ProtocolViolation { cause });
            }
            // The association goes on waiting for a better answer.
            InitFault::SmallWindow => {
                let causes: CausesBuf = [fault.cause()].into_iter().collect();
                let chunk = AbortChunk { reflected: false, causes: causes.as_causes() };
                let bundling = Bundling::Reflected(ack.fixed.initiate_tag);
                self.send_control(path, &chunk, bundling);
            }
            // RFC 5061 section 6: dropped, and the user told. The peer has no state that an ABORT
            // could end.
            InitFault::NoAuthentication => {
                self.control.clear();
                self.close(CloseReason::NoAuthentication);
            }
            InitFault::Keys(_) => {
                self.peer.tag = ack.fixed.initiate_tag;
                self.send_abort(&fault.cause());
                self.close(CloseReason::NoProtection);
            }
            InitFault::NoStreams
            | InitFault::HostName(_)
            | InitFault::Malformed
            | InitFault::BadRandom => {
                self.peer.tag = ack.fixed.initiate_tag;
                self.abort_with(&fault.cause());
            }
        }
    }

    /// Parameters of the INIT ACK that we do not know, as many as one packet can quote, are
    /// reported behind the COOKIE ECHO; once the association is set up if they do not fit there:
    /// until then no other packet may be sent (RFC 9260 sections 3.2.2 and 5.1 C).
    fn report_unknown_parameters(&mut self, path: PathId, ack: &InitAckChunk<'_>) {
        let room = self.quotable_len();
        let mut params = ParamsBuf::new();
        for raw in unrecognized(ack.params, self.config.extensions.partial_reliability) {
            let len = params.as_params().as_bytes().len().next_multiple_of(4) + raw.bytes().len();
            if len > room {
                break;
            }
            params.push(&Parameter::Unknown(raw));
        }
        let len = params.as_params().as_bytes().len();
        if self.setup.chunk.len().next_multiple_of(4) + len <= room {
            self.report_parameters(path, &params);
        } else {
            self.setup.unreported = Some(Box::new(params));
        }
    }

    fn report_parameters(&mut self, path: PathId, params: &ParamsBuf) {
        if !params.is_empty() {
            self.send_error(path, &ErrorCause::UnrecognizedParameters(params.as_params()));
        }
    }
}
