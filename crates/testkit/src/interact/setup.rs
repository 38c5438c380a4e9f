//! Random settings: both ends, links, policies.

use core::fmt;
use std::sync::Arc;

use polypath_proto::config::{
    AssocConfig, BurstRule, CcConfig, CmtConfig, Cuc, CwndUnit, EndpointConfig, ExtensionConfig,
    Handshake, InitialCwnd, InitialSsthresh, NrSack, PathPairing, PfConfig, RateReduction,
    ReconfigConfig, RecoveryConfig, ReproductionConfig, Rescheduling, RtoConfig, SackConfig,
    SackPath, T3Marks,
};
use polypath_proto::ids::Tsn;
use polypath_proto::policy::PolicyFactory;
use polypath_proto::rng::Rng;
use polypath_proto::time::Duration;

use super::options;
use crate::world::{HostId, Link, Oversize};

/// Policies with the name under which to report them.
#[derive(Clone)]
pub struct Policies {
    /// For people.
    pub name: String,
    /// Makes them.
    pub factory: Arc<dyn PolicyFactory>,
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Chooses policies at random.
pub type PolicyChoice<'a> = dyn Fn(&mut Rng) -> Policies + Sync + 'a;

/// One path, both directions alike to begin with.
#[derive(Clone, Copy, Debug)]
pub struct LinkSetup {
    /// Milliseconds.
    pub delay: u64,
    /// Milliseconds.
    pub jitter: u64,
    /// Probability.
    pub loss: f64,
    /// Probability.
    pub duplicate: f64,
    /// Probability.
    pub corrupt: f64,
    /// The largest IP packet that passes whole, bytes.
    pub mtu: u32,
    /// What becomes of larger ones.
    pub oversize: Oversize,
}

impl LinkSetup {
    pub(super) const fn link(&self) -> Link {
        let mut link = Link::new(Duration::from_millis(self.delay));
        link.jitter = Duration::from_millis(self.jitter);
        link.loss = self.loss;
        link.duplicate = self.duplicate;
        link.corrupt = self.corrupt;
        (link.mtu, link.oversize) = (self.mtu, self.oversize);
        link
    }

    fn random(rng: &mut Rng, worst: f64) -> Self {
        let mut chance = |of: usize, most: f64| {
            if rng.below(of) == 0 { rng.unit() * most * worst } else { 0.0 }
        };
        let (loss, duplicate, corrupt) = (chance(2, 0.1), chance(3, 0.1), chance(4, 0.05));
        let jitter = if rng.below(2) == 0 { 0 } else { rng.below(30) as u64 };
        let delay = 1 + rng.below(80) as u64;
        let (mtu, oversize) = (options::link_mtu(rng), options::draw_oversize(rng));
        Self { delay, jitter, loss, duplicate, corrupt, mtu, oversize }
    }
}

/// The longest message of any script, bytes.
pub(super) const LONGEST: usize = 20 << 10;
/// The longest that is handed in part by part.
pub(super) const LONGEST_IN_PARTS: usize = 60 << 10;

/// The world of a script.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of the world: links and endpoints.
    pub seed: u64,
    /// The paths.
    pub links: Vec<LinkSetup>,
    /// How addresses become paths.
    pub pairing: PathPairing,
    /// Both ends connect at the same time.
    pub both_connect: bool,
    /// Applications remove associations as soon as they hear of their end, before the last packet
    /// went out.
    pub hasty: bool,
    /// A third host connects to the server, too, with the settings of the first.
    pub guest: bool,
    /// The two ends.
    pub ends: [EndSetup; 2],
}

/// One end.
#[derive(Clone, Debug)]
pub struct EndSetup {
    /// Its settings, the policies in it.
    pub assoc: AssocConfig,
    /// The policies' names.
    pub policies: Policies,
    /// Valid.Cookie.Life.
    pub cookie_life: Duration,
}

impl Setup {
    /// Random settings.
    pub fn random(rng: &mut Rng, choose: &PolicyChoice<'_>) -> Self {
        let worst = [0.0, 0.3, 1.0, 1.0][rng.below(4)];
        let paths = 1 + rng.below(4);
        let pairing = [PathPairing::Index, PathPairing::Mesh, PathPairing::Learned][rng.below(3)];
        let end = |rng: &mut Rng| {
            let policies = choose(rng);
            let cookie_life = Duration::from_secs([60, 60, 2][rng.below(3)]);
            EndSetup { assoc: random_assoc(rng, &policies), policies, cookie_life }
        };
        let mut setup = Self {
            seed: rng.next_u64(),
            links: (0..paths).map(|_| LinkSetup::random(rng, worst)).collect(),
            pairing,
            both_connect: rng.below(10) == 0,
            hasty: rng.below(8) == 0,
            guest: rng.below(6) == 0,
            ends: [end(rng), end(rng)],
        };
        // Both ends must agree where message numbers begin.
        let first_mid = options::first_mid(rng);
        setup.ends.iter_mut().for_each(|end| end.assoc.reproduction.first_mid = first_mid);
        setup
    }

    /// Whether packets may be larger than a link carries without that anybody looks for it.
    pub(super) fn has_narrow_links(&self) -> bool {
        let discovers = self.ends.iter().all(|end| end.assoc.path_mtu_discovery.is_some());
        !discovers && self.links.iter().any(|link| link.mtu < u32::MAX)
    }

    /// Whether both ends protect their packets.
    pub(super) fn is_protected(&self) -> bool {
        self.ends.iter().all(|end| end.assoc.protection.is_some())
    }

    /// The settings of a host.
    pub(super) const fn end(&self, host: usize) -> &EndSetup {
        &self.ends[(host == HostId::SERVER.0) as usize]
    }

    pub(super) fn endpoint(&self, host: usize) -> EndpointConfig {
        let end = self.end(host);
        EndpointConfig {
            port: 5000 + host as u16,
            pairing: self.pairing,
            cookie_life: end.cookie_life,
            assoc: Arc::new(end.assoc.clone()),
            ..EndpointConfig::default()
        }
    }

    /// The longest message that `host` can send and its peer can hold, beside what it charges for
    /// chunks.
    pub fn longest_message(&self, host: HostId) -> usize {
        let (own, peer) = (&self.end(host.0).assoc, &self.end(host.peer().0).assoc);
        let fits = own.send_buffer.min(u64::from(peer.receive_buffer) / 2);
        fits.clamp(1, LONGEST as u64) as usize
    }

    /// The longest that `host` can send in parts of so many bytes: its own buffer need not hold it,
    /// nor the peer's if that delivers in parts.
    pub fn longest_in_parts_of(&self, host: HostId, part: usize) -> usize {
        let peer = &self.end(host.peer().0).assoc;
        if peer.partial_delivery.is_some() {
            return LONGEST_IN_PARTS;
        }
        // A part may take two chunks, and the peer charges for each.
        let charged = part + 2 * peer.reproduction.chunk_charge as usize;
        (peer.receive_buffer as usize / 8 * part / charged).clamp(1, LONGEST_IN_PARTS)
    }
}

fn random_assoc(rng: &mut Rng, policies: &Policies) -> AssocConfig {
    let mut pick = |of: &[u64]| of[rng.below(of.len())];
    let outbound_streams = pick(&[1, 2, 8, 40]) as u16;
    let inbound_streams = pick(&[1, 8, 40, 2048]) as u16;
    let receive_buffer = pick(&[1500, 4000, 16 << 10, 64 << 10, 256 << 10]) as u32;
    let send_buffer = pick(&[1000, 4000, 16 << 10, 64 << 10, 256 << 10, u64::MAX]);
    let chunk_charge = pick(&[0, 0, 16, 256]) as u32;
    let path_mtu = pick(&[576, 1280, 1500, 1500, 9000]) as u32;
    let path_max_retrans = pick(&[0, 1, 3, 5]) as u32;
    let assoc_max_retrans = pick(&[4, 10]) as u32;
    let fast_retransmit_after = pick(&[3, 3, 4]) as u32;
    let max_burst = [Some(4), Some(1), None][pick(&[0, 0, 1, 2]) as usize];
    let mut assoc = AssocConfig {
        outbound_streams,
        inbound_streams,
        receive_buffer,
        send_buffer,
        max_message: 1 << 20,
        path_mtu,
        path_mtu_discovery: options::path_mtu_discovery(rng),
        receive_buffer_max: options::buffer_max(rng, receive_buffer.into()).map(|max| max as u32),
        send_buffer_max: options::buffer_max(rng, send_buffer),
        partial_delivery: options::partial_delivery(rng),
        minimal_init: rng.below(10) == 0,
        stall_detection: options::draw_stall_detection(rng),
        rto: random_rto(rng),
        heartbeat_interval: [Some(30), Some(30), Some(2), None][rng.below(4)]
            .map(Duration::from_secs),
        path_max_retrans,
        assoc_max_retrans,
        max_init_retrans: 8,
        handshake: [Handshake::OnePath, Handshake::AllPaths][rng.below(2)],
        max_burst,
        reproduction: ReproductionConfig {
            chunk_charge,
            max_burst_rule: [
                BurstRule::Always,
                BurstRule::AfterFastRetransmit,
                BurstRule::PerAcked,
            ][rng.below(3)],
            limit_to_one_packet_after_t3: rng.below(2) == 0,
            fast_retransmit_after,
            ..ReproductionConfig::default()
        },
        sack: random_sack(rng),
        cmt: random_cmt(rng),
        potentially_failed: random_pf(rng),
        congestion: random_cc(rng),
        recovery: random_recovery(rng),
        pacing: rng.below(2) == 0,
        policies: policies.factory.clone(),
        auth: polypath_proto::config::AuthConfig::default(),
        reconfiguration: ReconfigConfig::default(),
        extensions: random_extensions(rng),
        // What has no dice of its own yet.
        ..AssocConfig::default()
    };
    // Half of all associations wrap their TSNs soon.
    assoc.reproduction.initial_tsn =
        [None, Some(Tsn(u32::MAX - rng.below(60) as u32))][rng.below(2)];
    assoc.trace = rng.below(8) == 0;
    assoc
}

fn random_rto(rng: &mut Rng) -> RtoConfig {
    if rng.below(2) == 0 {
        return RtoConfig::default();
    }
    let ms = Duration::from_millis;
    RtoConfig { initial: ms(300), min: ms(50 + rng.below(200) as u64), max: ms(2000) }
}

fn random_pf(rng: &mut Rng) -> Option<PfConfig> {
    let probe = [None, Some(Duration::from_secs(1))][rng.below(2)];
    [None, Some(PfConfig { probe, ..PfConfig::default() })][rng.below(2)]
}

fn random_sack(rng: &mut Rng) -> SackConfig {
    let path =
        [SackPath::LastData, SackPath::Primary, SackPath::RoundRobin, SackPath::SmallestSrtt];
    SackConfig {
        delay: Duration::from_millis([0, 40, 200, 500][rng.below(4)]),
        every: 1 + rng.below(3) as u32,
        path: path[rng.below(4)],
        window_updates: rng.below(8) != 0,
        sack_when_gap_fills: true,
        dac_count_in_timer_sack: true,
        max_gap_blocks: None,
        thinning: false,
    }
}

fn random_cmt(rng: &mut Rng) -> CmtConfig {
    let mut coin = || rng.below(2) == 0;
    let (sfr, dac, rtt_same_path) = (coin(), coin(), coin());
    CmtConfig {
        sfr,
        cuc: [Cuc::Off, Cuc::V1, Cuc::V2][rng.below(3)],
        dac,
        dac_unannounced: false,
        nr_sack: [NrSack::Off, NrSack::Delivered, NrSack::Received][rng.below(3)],
        t3_marks: [T3Marks::All, T3Marks::OlderThanSrtt][rng.below(2)],
        rtt_same_path,
    }
}

fn random_recovery(rng: &mut Rng) -> RecoveryConfig {
    let mut coin = || rng.below(2) == 0;
    let (rack, tail_probe, f_rto) = (coin(), coin(), coin());
    let reductions = [RateReduction::Off, RateReduction::Conservative, RateReduction::SlowStart];
    let rate_reduction = reductions[rng.below(3)];
    let when = [Rescheduling::Off, Rescheduling::Blocked, Rescheduling::Silent, Rescheduling::Both];
    let rescheduling = when[rng.below(4)];
    RecoveryConfig { rack, tail_probe, rate_reduction, f_rto, rescheduling }
}

fn random_cc(rng: &mut Rng) -> CcConfig {
    CcConfig {
        unit: [CwndUnit::Pmdcs, CwndUnit::PathMtu][rng.below(2)],
        initial_cwnd: [InitialCwnd::Rfc9260, InitialCwnd::Mtus(10), InitialCwnd::Bytes(500)]
            [rng.below(3)],
        initial_ssthresh: [InitialSsthresh::PeerWindow, InitialSsthresh::Bytes(8000)][rng.below(2)],
        loss_floor_mtus: [4, 2][rng.below(2)],
        abc_limit: 1 + rng.below(2) as u32,
        abc_per_acked: false,
        full_for_round_trip: false,
        idle_halves_alone: false,
    }
}

/// Each end has its own: what only one offers is not used.
fn random_extensions(rng: &mut Rng) -> ExtensionConfig {
    match rng.below(3) {
        0 => return ExtensionConfig::NONE,
        1 => return ExtensionConfig::ALL,
        _ => {}
    }
    let mut coin = || rng.below(2) == 0;
    ExtensionConfig {
        authentication: coin(),
        dynamic_addresses: coin(),
        interleaving: coin(),
        partial_reliability: coin(),
        stream_reconfiguration: coin(),
    }
}
