//! A received INIT: answered without remembering anything of its sender (RFC 9260 sections 5.1 and
//! 5.2).

use core::net::{IpAddr, SocketAddr};

use polypath_wire::{Chunk, ErrorCause, InitChunk, PacketView, Params, ParamsBuf, RawChunk};

use super::Endpoint;
use super::reply::Address;
use crate::association::{Association, State};
use crate::auth::{AuthOffer, RANDOM_LEN};
use crate::config::AssocConfig;
use crate::handshake::{
    Cookie, Extensions, InitFault, KeyOffer, Offer, PeerInit, Roles, Session, TieTags,
    address_parameter, agree_on_keys, fixed_part, init_ack_checksum, is_unicast, listed_addresses,
    longest_cookie_life, unrecognized,
};
use crate::ids::{AssocHandle, FourTuple, Tsn};
use crate::time::Time;

/// The longest INIT ACK as a multiple of the INIT, as far as it is ours to choose (RFC 5062 section
/// 9), IP headers included.
const MAX_GROWTH: usize = 3;

/// Bytes of the longest INIT ACK chunk in answer to an INIT packet of `len` bytes between `tuple`.
const fn longest_answer(len: usize, tuple: FourTuple) -> usize {
    let ip = if tuple.remote.is_ipv4() { 20 } else { 40 };
    MAX_GROWTH * (ip + len) - ip - polypath_wire::COMMON_HEADER_LEN
}

/// An INIT with where it came from.
#[derive(Clone, Copy)]
struct Request<'a> {
    init: InitChunk<'a>,
    /// Where answers go: with the Initiate Tag of the INIT.
    to: Address,
    /// Bytes of the packet.
    len: usize,
}

/// Who we are in an INIT ACK.
struct Identity {
    tag: u32,
    tsn: Tsn,
    tie_tags: Option<TieTags>,
    /// The RANDOM of our own INIT, if it had one: it goes with the tag (RFC 4895 section 6.1).
    random: Option<[u8; RANDOM_LEN]>,
    /// What our own INIT said of protection, if there is one.
    keys: Option<KeyOffer>,
}

/// How an INIT for an existing association is answered.
enum Verdict {
    /// An INIT ACK with the tag and TSN of our own INIT.
    AsBefore(Option<TieTags>),
    /// An INIT ACK with a new tag: the peer may have restarted.
    Anew(TieTags),
    /// An ABORT that lists the addresses which the INIT would add.
    NewAddresses(Vec<IpAddr>),
    ShutdownAck,
    Discard,
}

impl Endpoint {
    pub(super) fn on_init(
        &mut self,
        now: Time,
        tuple: FourTuple,
        packet: &PacketView<'_>,
        raw: &RawChunk<'_>,
    ) {
        let header = packet.header();
        if header.verification_tag != 0 {
            self.stats.bad_tag += 1;
            return;
        }
        if !is_unicast(tuple.remote.ip()) || !is_unicast(tuple.local.ip()) || !self.is_ours(tuple) {
            self.stats.out_of_the_blue += 1;
            return;
        }
        let (alone, decoded) = (packet.chunks().count() == 1, raw.decode());
        let (true, Ok(Chunk::Init(init))) = (alone, decoded) else {
            self.stats.malformed += 1;
            return;
        };
        let to = Address { tag: init.fixed.initiate_tag, ..self.reflected(tuple, packet) };
        let request = Request { init, to, len: packet.bytes().len() };
        match PeerInit::parse(init.fixed, init.params, tuple.remote.ip()) {
            Ok(peer) => self.on_valid_init(now, &request, peer),
            Err(InitFault::ZeroTag) => self.stats.malformed += 1,
            Err(fault) => self.refuse(now, &request, Some(fault.cause())),
        }
    }

    fn on_valid_init(&mut self, now: Time, request: &Request<'_>, peer: PeerInit) {
        match self.find_peer(request.to.tuple, request.to.peer_port, &peer) {
            Some(h) => self.on_unexpected_init(now, h, request, peer),
            None => self.on_new_init(now, request, peer),
        }
    }

    /// The association that an INIT or cookie is about. Any of the peer's addresses may tell
    /// (section 5.1.2 D), but only one that is proven: nobody is kept out because someone else's
    /// association claims his address (RFC 5062 section 2).
    ///
    /// Behind one address and one SCTP port there may be many hosts, told apart by their UDP ports
    /// (RFC 6951 section 3.2), and lists of addresses have no ports. So where there are UDP ports,
    /// who does not send from where a path was proven is a stranger, whatever it lists: it learns
    /// nothing and takes nothing over. An old life of the same peer ends by its own means.
    pub(super) fn find_peer(
        &self,
        tuple: FourTuple,
        peer_port: u16,
        peer: &PeerInit,
    ) -> Option<AssocHandle> {
        let named = core::iter::once(tuple.remote.ip()).chain(peer.addresses.iter().copied());
        let mut named = named.map(|ip| SocketAddr::new(ip, tuple.remote.port()));
        if tuple.remote.port() == 0 {
            return named.find_map(|at| self.table.find_proven(at, peer_port));
        }
        let here = self.table.find_confirmed(&tuple, peer_port);
        here.or_else(|| {
            // The very INIT or cookie of an association that exists: tag and TSN are known to
            // nobody else.
            let (tag, tsn) = (peer.fixed.initiate_tag, peer.fixed.initial_tsn);
            self.table.find_peer(peer_port, tag, tsn)
        })
        .or_else(|| {
            // Both open at the same time: our own INIT went to one of these addresses (section
            // 5.2.1).
            let opening =
                |h: &AssocHandle| self.table.get(*h).is_some_and(|assoc| assoc.state().is_setup());
            named.find_map(|at| self.table.find_proven(at, peer_port).filter(opening))
        })
    }

    /// Whether the packet is an INIT ACK that lists an address where our INIT went (section 5.1.2
    /// D).
    pub(super) fn answers_from_elsewhere(
        &self,
        h: AssocHandle,
        tuple: FourTuple,
        packet: &PacketView<'_>,
    ) -> bool {
        let Some(assoc) = self.table.get(h) else { return false };
        let first = packet.chunks().next().and_then(Result::ok);
        let Some(Ok(Chunk::InitAck(ack))) = first.map(|raw| raw.decode()) else { return false };
        is_unicast(tuple.remote.ip())
            && self.is_ours(tuple)
            && listed_addresses(ack.params).any(|address| assoc.paths.is_proven(address))
    }

    /// Whether packets are accepted at the local address: any, if none was named.
    pub(super) fn is_ours(&self, tuple: FourTuple) -> bool {
        let addresses = &self.config.addresses;
        addresses.is_empty() || addresses.contains(&tuple.local.ip())
    }

    fn on_new_init(&mut self, now: Time, request: &Request<'_>, peer: PeerInit) {
        if !self.config.accept {
            return self.refuse(now, request, None);
        }
        if self.is_full_for(request.to.tuple.remote.ip()) {
            return self.refuse(now, request, Some(ErrorCause::OutOfResource));
        }
        let config = self.config.clone();
        if let Some(fault) = peer.refusal(&config.assoc) {
            return self.refuse(now, request, Some(fault.cause()));
        }
        let identity = self.new_identity(None);
        self.acknowledge(now, request, peer, identity, &config.assoc, &config.addresses);
    }

    fn on_unexpected_init(
        &mut self,
        now: Time,
        h: AssocHandle,
        request: &Request<'_>,
        peer: PeerInit,
    ) {
        let Some(assoc) = self.table.touch(h) else { return };
        let config = assoc.config.clone();
        if let Some(fault) = peer.refusal(&config) {
            return self.refuse(now, request, Some(fault.cause()));
        }
        match judge(assoc, request, &peer) {
            Verdict::Discard => {}
            Verdict::ShutdownAck => assoc.resend_shutdown_ack(now),
            Verdict::NewAddresses(added) => self.refuse_new_addresses(now, request.to, &added),
            Verdict::AsBefore(tie_tags) => {
                let (tag, tsn) = (assoc.local.tag, assoc.local.initial_tsn);
                let addresses = assoc.announced_addresses();
                let random = assoc.auth.as_ref().map(|auth| auth.ours().random);
                let keys = assoc.own_key_offer().cloned();
                // This cookie is for the association that exists. When that is over nobody else may
                // have its tag.
                self.used.remember(now, tag, now);
                let identity = Identity { tag, tsn, tie_tags, random, keys };
                self.acknowledge(now, request, peer, identity, &config, &addresses);
            }
            Verdict::Anew(tie_tags) => {
                let identity = self.new_identity(Some(tie_tags));
                let endpoint = self.config.clone();
                self.acknowledge(now, request, peer, identity, &config, &endpoint.addresses);
            }
        }
    }

    /// Whether there is no room for another association, or not with a peer at `address`.
    pub(super) fn is_full_for(&self, address: IpAddr) -> bool {
        let full = self.table.len() >= self.config.max_associations;
        full || self.table.count_address(address) >= self.config.max_associations_per_address
    }

    fn new_identity(&mut self, tie_tags: Option<TieTags>) -> Identity {
        let tsn = self.config.assoc.first_tsn(&mut self.rng);
        Identity { tag: self.rng.non_zero_u32(), tsn, tie_tags, random: None, keys: None }
    }

    /// Queues the INIT ACK, to the source of the INIT. Everything needed later is in its cookie.
    fn acknowledge(
        &mut self,
        now: Time,
        request: &Request<'_>,
        peer: PeerInit,
        mut identity: Identity,
        config: &AssocConfig,
        addresses: &[IpAddr],
    ) {
        identity.keys = identity.keys.or_else(|| {
            let keys = config.protection.as_ref()?;
            Some(KeyOffer::ours(&**keys, self.rng.next_u32(), Roles::Server))
        });
        if let (Some(ours), Some(theirs)) = (&identity.keys, &peer.keys)
            && let Err(fault) = agree_on_keys(ours, theirs)
        {
            return self.refuse(now, request, Some(fault.cause()));
        }
        if !self.replies.admits_init_ack(now, request.to, &mut self.stats) {
            return;
        }
        let mut fixed = fixed_part(config, identity.tag, identity.tsn);
        fixed.outbound_streams = fixed.outbound_streams.min(peer.fixed.inbound_streams);
        let said = peer.extensions;
        let mut extensions = Extensions::agreed(config, said);
        // What we accept does not depend on what the peer accepts.
        extensions.zero_checksum = config.zero_checksum.is_some();
        let addresses = if config.minimal_init { &[] } else { addresses };
        let auth = extensions.authentication.then(|| {
            let random = identity.random.unwrap_or_else(|| self.rng.bytes32());
            AuthOffer::ours(config, random)
        });
        identity.random = auth.as_ref().map(|auth| auth.random);
        let keys = identity.keys.clone();
        let cookie = self.cookie(now, request, peer, identity).seal(&mut self.keys);
        // Behind a NAT nobody knows our addresses (RFC 6951 section 4.1).
        let addresses = if self.config.behind_nat { &[] } else { addresses };
        let offer =
            Offer { fixed, addresses, extensions, auth: auth.as_ref(), keys: keys.as_ref() };
        let budget = longest_answer(request.len, request.to.tuple);
        let partial = config.extensions.partial_reliability;
        let unknown = unrecognized(request.init.params, partial);
        let chunk = offer.init_ack(&cookie, unknown, budget);
        let checksum = init_ack_checksum(config, said);
        self.replies.push(request.to, (&Encoded(&chunk), checksum), &mut self.stats);
    }

    fn cookie(
        &self,
        now: Time,
        request: &Request<'_>,
        peer: PeerInit,
        identity: Identity,
    ) -> Cookie {
        let life = self.config.cookie_life.saturating_add(peer.preservative);
        Cookie {
            created: now,
            life: life.min(longest_cookie_life(&self.config)),
            session: Session {
                local_port: request.to.local_port,
                peer_port: request.to.peer_port,
                local_tag: identity.tag,
                local_tsn: identity.tsn,
            },
            tie_tags: identity.tie_tags,
            random: identity.random,
            keys: identity.keys,
            local: request.to.tuple.local.ip(),
            remote: request.to.tuple.remote,
            peer,
        }
    }

    fn refuse(&mut self, now: Time, request: &Request<'_>, cause: Option<ErrorCause<'_>>) {
        self.replies.abort(now, request.to, cause, &mut self.stats);
    }

    /// A restart that adds addresses may be someone who wants to take an association over (section
    /// 5.2.2).
    pub(super) fn refuse_new_addresses(&mut self, now: Time, to: Address, added: &[IpAddr]) {
        let params: ParamsBuf = added.iter().map(address_parameter).collect();
        let cause = ErrorCause::RestartWithNewAddresses(params.as_params());
        self.replies.abort(now, to, Some(cause), &mut self.stats);
    }
}

fn judge(assoc: &Association, request: &Request<'_>, peer: &PeerInit) -> Verdict {
    let tuple = request.to.tuple;
    let tie_tags = TieTags { local: assoc.local.tie_tag, peer: assoc.peer.tie_tag };
    match assoc.state() {
        State::Closed => Verdict::Discard,
        // Only an address that our user named and that the INIT reports may be answered (section
        // 5.2.1).
        State::CookieWait
            if assoc.paths.by_tuple(&tuple).is_none()
                || !reports(request.init.params, tuple.remote.ip()) =>
        {
            Verdict::Discard
        }
        State::CookieWait => Verdict::AsBefore(None),
        State::ShutdownAckSent => Verdict::ShutdownAck,
        // The very INIT that set this association up, again or late on another path: it restarts
        // nothing. Behind a NAT its source is an address that nobody listed; an ABORT would carry
        // the tag of the association that it opened, and end it. The INIT ACK finds nobody who
        // waits for it (section 5.2.3), and its cookie matches no row of Table 12.
        state if !state.is_setup() && is_known(assoc, peer) => Verdict::Anew(tie_tags),
        state => match added_addresses(assoc, peer) {
            // One of several crossing INITs, on a path that our INIT named to nobody: its sender is
            // the one we have echoed the cookie of.
            added if !added.is_empty() && state.is_setup() && is_known(assoc, peer) => {
                Verdict::Discard
            }
            added if !added.is_empty() => Verdict::NewAddresses(added),
            _ if state == State::CookieEchoed => Verdict::AsBefore(Some(tie_tags)),
            _ => Verdict::Anew(tie_tags),
        },
    }
}

/// Whether an INIT reports its `source`: it lists it, or leaves it to the packet to tell the only
/// address.
fn reports(params: Params<'_>, source: IpAddr) -> bool {
    let mut listed = listed_addresses(params).peekable();
    listed.peek().is_none() || listed.any(|address| address == source)
}

/// Whether an INIT is of the peer that the association has, or is being set up with.
const fn is_known(assoc: &Association, peer: &PeerInit) -> bool {
    let (tag, tsn) = (peer.fixed.initiate_tag, peer.fixed.initial_tsn);
    tag == assoc.peer.tag && tsn.0 == assoc.peer.initial_tsn.0
}

/// Addresses of an INIT, or of the cookie made from it, that the association's peer does not have.
pub(super) fn added_addresses(assoc: &Association, peer: &PeerInit) -> Vec<IpAddr> {
    // Where a path is proven is one of the peer's addresses, whoever named it.
    let known = |ip: &IpAddr| assoc.peer.addresses.contains(ip) || assoc.paths.is_proven(*ip);
    peer.addresses.iter().filter(|ip| !known(ip)).copied().collect()
}

/// A chunk that is encoded already.
struct Encoded<'a>(&'a [u8]);

impl polypath_wire::EncodeChunk for Encoded<'_> {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0);
    }
}
