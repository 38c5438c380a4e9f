//! Plays a script, then restores everything and demands an end.

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::AssocConfig;
use polypath_proto::endpoint::IcmpReport;
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathAdmin;
use polypath_proto::{CloseReason, PathId, State};

use super::app::{Aftermath, App, Books, Job};
use super::flood::Flood;
use super::script::{Op, Reconfigure, Script};
use super::setup::Setup;
use super::trouble::Trouble;
use crate::fingerprint::Digest;
use crate::invariants;
use crate::world::{HostId, Step, World, address, translated_address};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Every association was shut down gracefully, and everything was delivered.
    Graceful,
    /// Some association ended otherwise, and said so.
    Reported,
    /// Nobody had an association any more, and nobody was told: hosts restarted.
    Forgotten,
}

/// What happened in a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// How each association ended, host by host.
    pub reasons: Vec<CloseReason>,
    /// What applications were told, by kind.
    pub heard: BTreeMap<&'static str, u64>,
    /// Packets sent.
    pub packets: u64,
    /// Packets lost because their link was cut.
    pub cut: u64,
    /// Messages accepted.
    pub sent: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// How often ends replaced the keys of protected associations.
    pub rekeys: u64,
    /// Virtual time that passed.
    pub time: Time,
    /// The last packets, where it did not end gracefully.
    pub log: String,
}

/// Virtual time after which what was not done never will be: RTO.Max times Association.Max.Retrans
/// several times over.
const PATIENCE: Duration = Duration::from_secs(2 * 3600);
/// Packets and timeouts of one run, at most.
const MAX_STEPS: u64 = 2_000_000;

/// Plays a script.
///
/// # Errors
/// What went wrong, and the packets that went before it.
pub fn run_script(script: &Script) -> Result<Report, (Trouble, String)> {
    let mut run = Run::new(script);
    match run.play_script(script) {
        Ok(report) => Ok(report),
        Err(trouble) => Err((trouble, run.world.log.describe_tail(60))),
    }
}

/// Plays a script and hashes its end and every packet: bytes, time, addresses, fate.
pub fn packet_hash(script: &Script) -> String {
    let mut run = Run::new(script);
    run.world.log.hash_packets();
    let report = run.play_script(script);
    let packets = run.world.log.digest().map(Digest::to_hex).unwrap_or_default();
    let end = report.map(|report| (report.ending as u64, report.sent, report.delivered));
    let (ending, sent, delivered) = end.unwrap_or((u64::MAX, 0, 0));
    let mut digest = Digest::new();
    digest.add_bytes(packets.as_bytes());
    [ending, sent, delivered].into_iter().for_each(|number| digest.add_number(number));
    digest.to_hex()
}

/// Resets streams or all, or adds some. It may be too soon, or not agreed upon.
fn reconfigure_streams(
    now: Time,
    assoc: &mut polypath_proto::Association,
    what: Reconfigure,
    stream: u16,
) {
    let _cannot = match what {
        Reconfigure::Streams(direction) => {
            assoc.reset_streams(now, direction, &[StreamId(stream)]).map(drop)
        }
        Reconfigure::AllStreams(direction) => assoc.reset_streams(now, direction, &[]).map(drop),
        Reconfigure::Association => assoc.reset_association(now).map(drop),
        Reconfigure::More => assoc.add_streams(now, stream, 1).map(drop),
    };
}

fn make_app(setup: &Setup, host: HostId) -> App {
    let peer = &setup.end(host.peer().0).assoc;
    App::new(host, setup.hasty, peer.partial_delivery.is_some())
}

struct Run {
    world: World,
    apps: Vec<App>,
    books: Books,
    configs: Vec<Arc<AssocConfig>>,
    rng: Rng,
    paths: usize,
    steps: u64,
}

impl Run {
    fn new(script: &Script) -> Self {
        let setup = &script.setup;
        let delays: Vec<_> = setup.links.iter().map(|l| Duration::from_millis(l.delay)).collect();
        let hosts = if setup.guest { 3 } else { 2 };
        let configs = (0..hosts).map(|host| setup.endpoint(host));
        let mut world = World::new(configs, &delays, setup.seed);
        if setup.is_protected() {
            world.demand_protection();
        }
        for (i, link) in setup.links.iter().enumerate() {
            for host in [HostId::CLIENT, HostId::SERVER] {
                *world.link_mut(i, host) = link.link();
            }
        }
        Self {
            world,
            apps: (0..hosts).map(|host| make_app(setup, HostId(host))).collect(),
            books: Books::new(script),
            configs: (0..hosts).map(|host| Arc::new(setup.end(host).assoc.clone())).collect(),
            rng: Rng::from_u64(setup.seed ^ 1),
            paths: setup.links.len(),
            steps: 0,
        }
    }

    fn play_script(&mut self, script: &Script) -> Result<Report, Trouble> {
        self.connect_host(HostId::CLIENT);
        if script.setup.both_connect {
            self.connect_host(HostId::SERVER);
        }
        self.connect_host(HostId::GUEST);
        for op in &script.ops {
            self.perform_op(*op)?;
        }
        self.settle_world()?;
        self.close_gracefully(script.seed % 3)?;
        self.check_end(script)
    }

    fn connect_host(&mut self, host: HostId) {
        let Some(app) = self.apps.get_mut(host.0).filter(|app| app.is_alone()) else { return };
        let config = self.configs[host.0].clone();
        if let Some(handle) = self.world.try_connect(host, self.paths, config) {
            app.add_association(handle, &mut self.books);
        }
    }

    fn perform_op(&mut self, op: Op) -> Result<(), Trouble> {
        match op {
            Op::Advance(ms) => return self.advance_time(Duration::from_millis(ms)),
            Op::Send { host, count, bytes, stream, unordered, reliability, part } => {
                let stream = StreamId(stream);
                let job = Job { left: count, bytes, stream, unordered, reliability, part };
                self.apps[host.0].jobs.push_back(job);
            }
            Op::Read { host, on } => self.apps[host.0].reading = on,
            Op::Up { link, from, up } => self.world.link_mut(link, from).up = up,
            Op::Worsen { link, from, loss, duplicate, corrupt } => {
                let link = self.world.link_mut(link, from);
                (link.loss, link.duplicate, link.corrupt) = (loss, duplicate, corrupt);
            }
            Op::Narrow { link, from, mtu, oversize } => {
                let link = self.world.link_mut(link, from);
                (link.mtu, link.oversize) = (mtu, oversize);
            }
            Op::Icmp { host, link, report } => self.report_icmp(host, link, report),
            Op::Next { link, from, drop, late, twice } => {
                let link = self.world.link_mut(link, from);
                link.drop_next += drop;
                link.late_next += late;
                link.twice_next += twice;
            }
            Op::Admin { host, path, admin } => {
                self.with_current(host, |now, assoc| {
                    assoc.set_path_admin(now, PathId(path), admin);
                });
            }
            Op::Primary { host, path } => {
                self.with_current(host, |now, assoc| {
                    // There may be no such path, or it may be unconfirmed.
                    let _ = assoc.set_primary(now, PathId(path));
                });
            }
            Op::Shutdown(host) => self.with_current(host, |now, assoc| assoc.shutdown(now)),
            Op::Abort(host) => {
                self.with_current(host, |now, assoc| {
                    assoc.abort(now, Bytes::from_static(b"bye"));
                });
            }
            Op::Restart { host, connect } => self.restart_host(host, connect),
            Op::Connect(host) => self.connect_host(host),
            Op::Flood { host, link, kind, count } => self.flood_host(host, link, kind, count),
            Op::Rebind { link, number, port } => {
                self.world.rebind_nat(link, translated_address(link, number, port));
            }
            Op::Address { host, link, there } => self.renumber_host(host, link, there),
            Op::Reconfigure { host, what, stream } => {
                self.with_current(host, |now, assoc| reconfigure_streams(now, assoc, what, stream));
            }
            Op::Jump { host, ms, back } => {
                self.world.jump_clock(host, Duration::from_millis(ms), back);
            }
        }
        self.pump_apps()
    }

    fn with_current(
        &mut self,
        host: HostId,
        act: impl FnOnce(Time, &mut polypath_proto::Association),
    ) {
        let now = self.world.clock(host);
        let handle = self.apps[host.0].current();
        if let Some(assoc) = handle.and_then(|handle| self.world.assoc_mut(host, handle)) {
            act(now, assoc);
        }
    }

    fn restart_host(&mut self, host: HostId, connect: bool) {
        // Its TSNs begin elsewhere this time, as RFC 9260 section 3.3.2 wants it: late packets of
        // its former life must not fit.
        let mut config = (*self.configs[host.0]).clone();
        config.reproduction.initial_tsn = None;
        self.configs[host.0] = Arc::new(config);
        self.world.host(host).config.assoc = self.configs[host.0].clone();
        self.world.restart_host(host);
        for side in &self.apps[host.0].sides {
            self.books.ledger.excuse_open(*side);
        }
        self.excuse_peers(host.0);
        self.apps[host.0].forget_all();
        if connect {
            self.connect_host(host);
        }
    }

    /// A host gets an address back, or loses it.
    fn renumber_host(&mut self, host: HostId, link: usize, there: bool) {
        let (now, ip) = (self.world.clock(host), address(host, link));
        let endpoint = &mut self.world.host(host).endpoint;
        if there {
            endpoint.add_address(now, SocketAddr::new(ip, 0));
        } else {
            endpoint.remove_address(now, ip);
        }
    }

    /// What the peers of a host sent it, nobody can know any more.
    fn excuse_peers(&mut self, host: usize) {
        let talks = |other: usize| (other == HostId::SERVER.0) != (host == HostId::SERVER.0);
        let peers = self.apps.iter().filter(|app| talks(app.host.0));
        for side in peers.flat_map(|app| &app.sides) {
            self.books.ledger.excuse_open(*side);
        }
    }

    fn flood_host(&mut self, host: HostId, link: usize, kind: Flood, count: u32) {
        for _ in 0..count {
            let entries = self.world.log.entries();
            let toward: Vec<_> = entries.iter().filter(|e| e.from == host.peer()).collect();
            let model = toward.get(self.rng.below(toward.len())).copied();
            let packet = kind.forge_packet(model, &mut self.rng);
            let delay = Duration::from_micros(self.rng.below(50_000) as u64);
            self.world.inject_packet(host, link, delay, packet);
        }
    }

    /// About the latest packet that the host sent.
    fn report_icmp(&mut self, host: HostId, link: usize, report: IcmpReport) {
        let sent = self.world.log.entries().iter().rev().find(|entry| entry.from == host);
        if let Some(packet) = sent.map(|entry| entry.bytes.clone()) {
            self.world.report_icmp(host, link, &packet, report);
        }
    }

    fn advance_time(&mut self, time: Duration) -> Result<(), Trouble> {
        let limit = self.world.now() + time;
        self.run_until(limit, |_| false).map(drop)
    }

    fn run_until(&mut self, limit: Time, done: impl Fn(&Self) -> bool) -> Result<bool, Trouble> {
        loop {
            self.pump_apps()?;
            if done(self) {
                return Ok(true);
            }
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return Err(Trouble::Endless(self.steps));
            }
            if self.world.advance_step(limit)? == Step::Idle {
                self.pump_apps()?;
                return Ok(done(self));
            }
        }
    }

    /// Lets both applications act and checks all books.
    fn pump_apps(&mut self) -> Result<(), Trouble> {
        for i in 0..self.apps.len() {
            let aftermath = self.apps[i].pump_once(&mut self.world, &mut self.books)?;
            if aftermath == Aftermath::PeerUnknown {
                self.excuse_peers(i);
            }
            for handle in self.apps[i].handles() {
                let host = self.apps[i].host;
                let Some(assoc) = self.world.assoc(host, handle) else { continue };
                invariants::check_books(assoc, &self.configs[i], self.world.clock(host))
                    .map_err(|what| Trouble::Invariant(i, what))?;
            }
        }
        Ok(())
    }

    /// Everything is well again: what was accepted must arrive, or fail.
    fn settle_world(&mut self) -> Result<(), Trouble> {
        for link in self.world.links_mut() {
            link.heal_faults();
        }
        for i in 0..self.apps.len() {
            (0..self.paths).for_each(|link| self.renumber_host(HostId(i), link, true));
            let now = self.world.clock(HostId(i));
            self.apps[i].reading = true;
            for handle in self.apps[i].handles() {
                let Some(assoc) = self.world.assoc_mut(HostId(i), handle) else { continue };
                for path in 0..16 {
                    assoc.set_path_admin(now, PathId(path), PathAdmin::Active);
                }
            }
        }
        // After forgeries the two ends may disagree about what was acknowledged, for ever.
        let patience = if self.books.promised() { PATIENCE } else { Duration::from_secs(300) };
        let limit = self.world.now() + patience;
        let settled = |run: &Self| run.apps.iter().all(|app| app.is_settled(&run.books.ledger));
        if self.run_until(limit, settled)? || !self.books.promised() {
            return Ok(());
        }
        Err(Trouble::Stuck("before the shutdown", self.describe_state()))
    }

    /// Closes gracefully: from one end, from the other, or from both at once; then whatever is
    /// left.
    fn close_gracefully(&mut self, manner: u64) -> Result<(), Trouble> {
        let mut turns: Vec<usize> = (0..self.apps.len()).collect();
        match manner {
            0 => {}
            1 => turns.swap(0, 1),
            _ => turns.drain(..).for_each(|host| self.shut_down(host)),
        }
        for host in turns {
            self.shut_down(host);
            let limit = self.world.now() + PATIENCE;
            self.run_until(limit, |run| run.apps[host].is_alone())?;
        }
        // A COOKIE ECHO that was still under way may have opened another association meanwhile.
        for _ in 0..2 {
            let limit = self.world.now() + PATIENCE;
            if self.run_until(limit, |run| run.apps.iter().all(App::is_alone))? {
                return Ok(());
            }
            (0..self.apps.len()).for_each(|host| self.shut_down(host));
        }
        Err(Trouble::Stuck("in the shutdown", self.describe_state()))
    }

    fn shut_down(&mut self, host: usize) {
        let now = self.world.clock(HostId(host));
        for handle in self.apps[host].handles() {
            if let Some(assoc) = self.world.assoc_mut(HostId(host), handle) {
                assoc.shutdown(now);
            }
        }
    }

    fn check_end(&mut self, script: &Script) -> Result<Report, Trouble> {
        let sides = self.apps.iter().flat_map(|app| app.sides.iter());
        for side in sides.filter(|_| self.books.keeps_messages()) {
            self.books.ledger.check_closed(*side)?;
        }
        if self.books.promised() && self.world.strays() > 0 {
            return Err(Trouble::Strays(self.world.strays()));
        }
        let reasons: Vec<_> = self.apps.iter().flat_map(|app| app.endings.clone()).collect();
        let graceful = reasons.iter().all(|r| *r == CloseReason::Shutdown);
        // What was still under way on a slow path when one end was done is answered with ABORT: the
        // other end, which waits for SHUTDOWN COMPLETE, may get that first (RFC 9260 section 8.4).
        let fair = |r: &CloseReason| {
            matches!(r, CloseReason::Shutdown | CloseReason::PeerAbort { cause: None })
        };
        let done = reasons.len() >= 2 && reasons.contains(&CloseReason::Shutdown);
        let guarded = self.books.filled || self.apps.iter().any(|app| app.guarded);
        if script.is_gentle() && !guarded && !(done && reasons.iter().all(fair)) {
            return Err(Trouble::Unprovoked(reasons));
        }
        let (sent, delivered) = self.books.ledger.counts();
        let mut heard = BTreeMap::new();
        for (name, count) in self.apps.iter().flat_map(|app| &app.heard) {
            *heard.entry(*name).or_default() += count;
        }
        let ending = match (reasons.is_empty(), graceful) {
            (true, _) => Ending::Forgotten,
            (false, true) => Ending::Graceful,
            (false, false) => Ending::Reported,
        };
        let log = match ending {
            Ending::Graceful => String::new(),
            Ending::Reported | Ending::Forgotten => self.world.log.describe_tail(60),
        };
        Ok(Report {
            ending,
            log,
            reasons,
            heard,
            packets: self.world.packets(),
            cut: self.world.cut(),
            sent,
            delivered,
            rekeys: self.apps.iter().map(|app| app.rekeys).sum(),
            time: self.world.now(),
        })
    }

    fn describe_state(&self) -> String {
        let mut text = String::new();
        for app in &self.apps {
            for handle in app.handles() {
                let Some(assoc) = self.world.assoc(app.host, handle) else { continue };
                let state: State = assoc.state();
                let now = self.world.clock(app.host);
                let (view, held) = (assoc.view(now), assoc.receive_buffer());
                let jobs = app.jobs.len();
                text += &format!(
                    "\n  host {} {handle:?} {state:?}, {jobs} jobs, held {held:?}, {view:?}",
                    app.host.0
                );
            }
        }
        text
    }
}
