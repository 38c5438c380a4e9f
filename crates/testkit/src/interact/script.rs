//! What happens in a run, in order.

use std::sync::Arc;

use polypath_proto::config::PathPairing;
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::protection::KeyManagement;
use polypath_proto::rng::Rng;
use polypath_proto::time::Duration;
use polypath_proto::view::PathAdmin;
use polypath_proto::{Reliability, StreamDirection};

use super::flood::Flood;
use super::options;
use super::setup::{LONGEST_IN_PARTS, PolicyChoice, Setup};
use crate::world::{HostId, Oversize};

/// What becomes of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconfigure {
    /// One is reset.
    Streams(StreamDirection),
    /// All are.
    AllStreams(StreamDirection),
    /// And TSNs, too.
    Association,
    /// There are more.
    More,
}

impl Reconfigure {
    fn random(rng: &mut Rng) -> Self {
        let directions =
            [StreamDirection::Outgoing, StreamDirection::Incoming, StreamDirection::Both];
        let direction = directions[rng.below(3)];
        match rng.below(4) {
            0 => Self::Streams(direction),
            1 => Self::AllStreams(direction),
            2 => Self::Association,
            _ => Self::More,
        }
    }
}

/// One thing that happens. Times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// Time passes.
    Advance(u64),
    /// The application hands in messages, as fast as they are accepted.
    Send {
        /// Whose.
        host: HostId,
        /// How many.
        count: u32,
        /// Of which size.
        bytes: usize,
        /// On which stream.
        stream: u16,
        /// To be delivered without regard to order.
        unordered: bool,
        /// When they may be given up.
        reliability: Reliability,
        /// Each is handed in by so many bytes at a time; 0: as a whole.
        part: usize,
    },
    /// The application stops reading, or goes on.
    Read {
        /// Whose.
        host: HostId,
        /// It goes on.
        on: bool,
    },
    /// A link is cut or restored in one direction.
    Up {
        /// Which link.
        link: usize,
        /// The direction in which this host sends.
        from: HostId,
        /// Restored.
        up: bool,
    },
    /// A link gets worse in one direction.
    Worsen {
        /// Which link.
        link: usize,
        /// The direction in which this host sends.
        from: HostId,
        /// Probability.
        loss: f64,
        /// Probability.
        duplicate: f64,
        /// Probability.
        corrupt: f64,
    },
    /// A link carries smaller packets from now on in one direction.
    Narrow {
        /// Which link.
        link: usize,
        /// The direction in which this host sends.
        from: HostId,
        /// The largest IP packet, bytes.
        mtu: u32,
        /// What becomes of larger ones.
        oversize: Oversize,
    },
    /// A router, or somebody who saw a packet of the host, says something about it.
    Icmp {
        /// Whom.
        host: HostId,
        /// Which link's router.
        link: usize,
        /// What.
        report: IcmpReport,
    },
    /// Something happens to the next packets of one direction for certain.
    Next {
        /// Which link.
        link: usize,
        /// The direction in which this host sends.
        from: HostId,
        /// So many are lost.
        drop: u32,
        /// So many come late.
        late: u32,
        /// So many come twice.
        twice: u32,
    },
    /// The user says what a path may be used for.
    Admin {
        /// Whose user.
        host: HostId,
        /// Its number; there may be none of that number.
        path: u8,
        /// The wish.
        admin: PathAdmin,
    },
    /// The user chooses a primary path.
    Primary {
        /// Whose user.
        host: HostId,
        /// Its number; there may be none of that number.
        path: u8,
    },
    /// Graceful close.
    Shutdown(HostId),
    /// Abortive close.
    Abort(HostId),
    /// A host loses all it knew.
    Restart {
        /// Which.
        host: HostId,
        /// It connects again at once.
        connect: bool,
    },
    /// The application connects, if it has no association.
    Connect(HostId),
    /// The NAT of a link knows the client by another address and port from now on.
    Rebind {
        /// Which link.
        link: usize,
        /// The public address; 0: the client's own.
        number: u8,
        /// The public port.
        port: u16,
    },
    /// A host gets an address back, or loses it.
    Address {
        /// Which.
        host: HostId,
        /// The link whose address it is.
        link: usize,
        /// It is there again.
        there: bool,
    },
    /// Streams are reset or added.
    Reconfigure {
        /// Whose user asks.
        host: HostId,
        /// For what.
        what: Reconfigure,
        /// Which stream, or how many.
        stream: u16,
    },
    /// The clock of a host jumps.
    Jump {
        /// Whose.
        host: HostId,
        /// By how much.
        ms: u64,
        /// Backward, as far as it was ahead.
        back: bool,
    },
    /// Packets from elsewhere reach a host.
    Flood {
        /// Which host.
        host: HostId,
        /// Over which link.
        link: usize,
        /// What they are.
        kind: Flood,
        /// How many.
        count: u32,
    },
}

impl Op {
    /// Its kind, for counting.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Advance(_) => "advance",
            Self::Send { part: 0, .. } => "send",
            Self::Send { .. } => "send in parts",
            Self::Narrow { .. } => "narrow",
            Self::Icmp { .. } => "icmp",
            Self::Read { .. } => "read",
            Self::Up { up: true, .. } => "restore",
            Self::Up { up: false, .. } => "cut",
            Self::Worsen { .. } => "worsen",
            Self::Next { .. } => "drop/late/twice",
            Self::Admin { .. } => "admin",
            Self::Primary { .. } => "primary",
            Self::Shutdown(_) => "shutdown",
            Self::Abort(_) => "abort",
            Self::Restart { .. } => "restart",
            Self::Connect(_) => "connect",
            Self::Rebind { number: 0, .. } => "rebind port",
            Self::Rebind { .. } => "rebind address",
            Self::Address { there: true, .. } => "address comes",
            Self::Address { there: false, .. } => "address goes",
            Self::Reconfigure { .. } => "reconfigure",
            Self::Jump { back: false, .. } => "clock forward",
            Self::Jump { back: true, .. } => "clock back",
            Self::Flood { kind: Flood::Forged, .. } => "forge",
            Self::Flood { .. } => "flood",
        }
    }

    /// Whether it can end an association other than gracefully, or break what the application was
    /// promised.
    pub(super) const fn is_violent(&self) -> bool {
        matches!(
            self,
            Self::Abort(_)
                | Self::Restart { .. }
                | Self::Up { .. }
                | Self::Worsen { .. }
                | Self::Flood { .. }
                | Self::Rebind { .. }
                | Self::Jump { .. }
                | Self::Address { .. }
                | Self::Narrow { .. }
                | Self::Icmp { .. }
        )
    }

    /// Packets that it loses for certain.
    const fn certain_drops(&self) -> u32 {
        match self {
            Self::Next { drop, .. } => *drop,
            _ => 0,
        }
    }

    fn random(rng: &mut Rng, setup: &Setup) -> Self {
        let host = HostId(rng.below(if setup.guest { 3 } else { 2 }));
        let link = rng.below(setup.links.len());
        match rng.below(121) {
            0..28 => Self::random_send(rng, setup, host),
            28..56 => Self::Advance(random_time(rng)),
            56..60 => Self::Read { host, on: rng.below(2) == 0 },
            60..69 => Self::Up { link, from: host, up: rng.below(2) == 0 },
            69..72 => {
                let mut chance = |most: f64| rng.unit() * most;
                let (loss, duplicate, corrupt) = (chance(0.3), chance(0.3), chance(0.1));
                Self::Worsen { link, from: host, loss, duplicate, corrupt }
            }
            72..80 => {
                let mut few = || rng.below(6) as u32;
                Self::Next { link, from: host, drop: few(), late: few(), twice: few() }
            }
            80..83 => {
                let admins = [PathAdmin::Active, PathAdmin::Backup, PathAdmin::Disabled];
                let admin = admins[rng.below(3)];
                Self::Admin { host, path: rng.below(5) as u8, admin }
            }
            83..86 => Self::Primary { host, path: rng.below(5) as u8 },
            86 => Self::Shutdown(host),
            87 => Self::Abort(host),
            88 => Self::Restart { host, connect: rng.below(2) == 0 },
            89..92 => Self::Connect(host),
            92..95 => {
                let number = if rng.below(3) == 0 { 1 + rng.below(3) as u8 } else { 0 };
                Self::Rebind { link, number, port: [0, 4000, 4001][rng.below(3)] }
            }
            97..102 => Self::Address { host, link, there: rng.below(3) == 0 },
            102..107 => {
                let (what, stream) = (Reconfigure::random(rng), rng.below(8) as u16);
                Self::Reconfigure { host, what, stream }
            }
            95..97 => {
                // Seconds, or hours; few go back further than a timer could bear to wait.
                let scale = [10_000, 10_000, 5 * 3600 * 1000][rng.below(3)];
                let (ms, back) = (1 + rng.below(scale) as u64, rng.below(3) == 0);
                Self::Jump { host, ms: if back { ms % 10_000 } else { ms }, back }
            }
            115..119 => {
                let (mtu, oversize) = (options::draw_narrow_mtu(rng), options::draw_oversize(rng));
                Self::Narrow { link, from: host, mtu, oversize }
            }
            119..121 => Self::Icmp { host, link, report: random_report(rng) },
            _ => {
                let kind = Flood::ALL[rng.below(Flood::ALL.len())];
                Self::Flood { host, link, kind, count: 1 + rng.below(20) as u32 }
            }
        }
    }

    fn random_send(rng: &mut Rng, setup: &Setup, host: HostId) -> Self {
        let longest = [100, 1500, 20 << 10][rng.below(3)].min(setup.longest_message(host));
        Self::Send {
            host,
            count: 1 + rng.below(20) as u32,
            bytes: 1 + rng.below(longest),
            stream: rng.below(8) as u16,
            unordered: rng.below(4) == 0,
            reliability: match rng.below(12) {
                0 => Reliability::Limited(rng.below(3) as u32),
                1 => Reliability::Timed(Duration::from_millis(rng.below(2000) as u64)),
                2 => Reliability::Priority(rng.below(3) as u32),
                3 => return Self::random_parts(rng, setup, host),
                _ => Reliability::Full,
            },
            part: 0,
        }
    }

    /// Few messages, each in at most 64 parts.
    fn random_parts(rng: &mut Rng, setup: &Setup, host: HostId) -> Self {
        let bytes = 1 + rng.below(LONGEST_IN_PARTS);
        let held = setup.end(host.0).assoc.send_buffer.min(LARGEST_PART) as usize;
        let part = (bytes / 64 + 1 + rng.below(LARGEST_PART as usize)).min(held);
        Self::Send {
            host,
            count: 1 + rng.below(3) as u32,
            bytes: bytes.min(setup.longest_in_parts_of(host, part)),
            stream: rng.below(8) as u16,
            unordered: rng.below(4) == 0,
            reliability: Reliability::Full,
            part,
        }
    }
}

/// Mostly round trips, sometimes timeouts, rarely hours.
fn random_time(rng: &mut Rng) -> u64 {
    let scale = [5, 100, 100, 1000, 5000, 60_000][rng.below(6)];
    match rng.below(60) {
        0 => 1 + rng.below(4 * 3600 * 1000) as u64,
        _ => 1 + rng.below(scale) as u64,
    }
}

/// Bytes of a part that is handed in, at most.
const LARGEST_PART: u64 = 4000;

/// Of sizes, true or not; or that there is no way.
fn random_report(rng: &mut Rng) -> IcmpReport {
    match rng.below(8) {
        0 => IcmpReport::Unreachable,
        1 => IcmpReport::ProtocolUnreachable,
        2 => IcmpReport::PortUnreachable,
        _ => IcmpReport::PacketTooBig { mtu: [0, 67, 68, 576, 1000, 1400][rng.below(6)] },
    }
}

/// A run as data.
#[derive(Clone, Debug)]
pub struct Script {
    /// The seed it was made from.
    pub seed: u64,
    /// The world.
    pub setup: Setup,
    /// What happens in it.
    pub ops: Vec<Op>,
}

impl Script {
    /// The script of a seed.
    pub fn random(seed: u64, choose: &PolicyChoice<'_>) -> Self {
        let mut rng = Rng::from_u64(seed);
        let setup = Setup::random(&mut rng, choose);
        let count = 2 + rng.below(30);
        let mut ops: Vec<Op> = (0..count).map(|_| Op::random(&mut rng, &setup)).collect();
        // Half of the scripts keep to what an application can be promised something in.
        if rng.below(2) == 0 {
            ops.retain(|op| !matches!(op, Op::Flood { kind: Flood::Forged, .. }));
        }
        if rng.below(4) == 0 {
            ops.retain(|op| !op.is_violent());
        }
        Self { seed, setup, ops }
    }

    /// The same where both ends protect their packets.
    #[must_use]
    pub fn protected_by(mut self, keys: &Arc<dyn KeyManagement>) -> Self {
        for end in &mut self.setup.ends {
            end.assoc.protection = Some(keys.clone());
        }
        self
    }

    /// Whether somebody on the path forges packets: then applications are promised nothing but an
    /// end.
    pub fn is_forged(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Flood { kind: Flood::Forged, .. }))
    }

    /// Whether a host ever restarts with an address that its peer does not know (any more): a NAT
    /// gave it one, it was taken back, or the answer to a bare INIT was too short to name it (RFC
    /// 5062's bound). Where both open, an attempt that begins anew, because losses or a clock made
    /// its cookie stale, is like a restart to the other: its INIT has another tag (section 5.2.1).
    pub(super) fn is_renumbered(&self) -> bool {
        let renumbers = |op: &Op| {
            matches!(op, Op::Rebind { number: 1.., .. } | Op::Address { there: false, .. })
        };
        let bare = self.setup.ends.iter().any(|end| end.assoc.minimal_init);
        let anew = |op: &Op| matches!(op, Op::Restart { .. } | Op::Connect(_));
        let restarts = |op: &Op| bare && anew(op);
        bare && self.setup.both_connect || self.ops.iter().any(|op| renumbers(op) || restarts(op))
    }

    /// Whether nothing happens that could end an association other than gracefully.
    pub fn is_gentle(&self) -> bool {
        let mild = self.setup.links.iter().all(|l| l.loss + l.corrupt < 0.02);
        let patient = self.setup.ends.iter().all(|e| e.assoc.assoc_max_retrans >= 10);
        let dropped: u32 = self.ops.iter().map(Op::certain_drops).sum();
        // Who closes and does not read keeps the peer's data from arriving until T5-shutdown-guard
        // strikes.
        let any = |wanted: fn(&Op) -> bool| self.ops.iter().any(wanted);
        // So does who forbids its own only path.
        let deaf = |op: &Op| {
            matches!(op, Op::Read { on: false, .. } | Op::Admin { admin: PathAdmin::Disabled, .. })
        };
        let deaf = any(deaf);
        let patient = patient && !(deaf && any(|op| matches!(op, Op::Shutdown(_))));
        let passes = !self.setup.has_narrow_links();
        // Each of 16 paths that loses its data counts against Association.Max.Retrans (RFC 9260
        // section 8.1), and what overtakes the answer to a reset of the association is dropped: one
        // round trip may be one too many.
        let crowd = self.setup.pairing == PathPairing::Mesh && self.setup.links.len() > 3;
        let reset = |op: &Op| matches!(op, Op::Reconfigure { what: Reconfigure::Association, .. });
        let passes = passes && !(crowd && self.ops.iter().any(reset));
        // Where both open, the COOKIE ECHO of the one finds the other in COOKIE-WAIT and is
        // discarded (RFC 9260 section 5.2.4) for as long as that one's INITs are lost: five in a
        // row take longer than the patience of the first.
        let both = self.setup.both_connect || any(|op| matches!(op, Op::Connect(_)));
        let bound = if both { 4 } else { 6 };
        mild && patient && passes && dropped < bound && !self.ops.iter().any(Op::is_violent)
    }
}
