//! One path, looked at by an association over it alone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{Association, BindError, ConnectError, Endpoint, FourTuple, LocalAddress};

use tokio::time::Instant;

use super::directly::try_directly;
use super::echo::{Question, ask_all};
use super::report::{Mtu, Nat, PathReport, State};
use super::setup::Setup;
use super::visit::Visit;
use super::{ecn, lifetime, mtu, nat};
use crate::keys::peer_fingerprint;
use crate::mirror::ear::{self, Ear};
use crate::mirror::words::DOORS;
use crate::paths;

/// A mirror is asked for so many seconds, and for the longest wait beside.
const SECONDS: u16 = 25;
/// How long a mirror may take for all, whatever the server does.
const REFLECTION: Duration = Duration::from_secs(18);
/// A server that does not understand us says so at once; with one that takes longer, nothing is
/// tried again.
const SOON: Duration = Duration::from_secs(4);
/// How long an association may take to say goodbye.
const GOODBYE: Duration = Duration::from_millis(500);

/// Looks at the path from `local` to `remote`. It takes 20 s at most beside [`Setup::patience`] and
/// [`Setup::longest`], and two where nothing is lost.
pub async fn examine(local: &LocalAddress, remote: SocketAddr, setup: &Setup) -> PathReport {
    let from = SocketAddr::new(local.address, 0);
    let name = paths::name_path(local.device.as_deref(), from, remote);
    let name = name.strip_prefix("path ").unwrap_or(&name).to_owned();
    let failed = |state, why: String| PathReport::new(name.clone(), state, Some(why));
    if let Err(error) = ear::connect(local, remote) {
        let state = match error.kind() {
            std::io::ErrorKind::PermissionDenied => State::Local,
            _ => State::NoRoute,
        };
        return failed(state, error.to_string());
    }
    let way = Way { local, remote, device: mtu::device_mtu(local, remote) };
    match connect(way, setup).await {
        Ok((association, _endpoint)) => {
            let mut report = PathReport::new(name, State::Carries, None);
            let began = Instant::now();
            look_around(&mut report, &association, way, setup).await;
            let is_gone = association.is_closed();
            leave(&association).await;
            if is_gone && report.mtu.is_none() && began.elapsed() < SOON {
                report.mtu = look_mutely(way, setup).await;
            }
            report
        }
        Err((state @ (State::NoAnswer | State::Refused), why)) => {
            let directly = try_directly(setup, local, remote).await;
            PathReport { directly, ..failed(state, why) }
        }
        Err((state, why)) => failed(state, why),
    }
}

/// Between where, and what the device here sends.
#[derive(Clone, Copy, Debug)]
struct Way<'a> {
    local: &'a LocalAddress,
    remote: SocketAddr,
    device: Option<u32>,
}

async fn connect(
    Way { local, remote, device }: Way<'_>,
    setup: &Setup,
) -> Result<(Arc<Association>, Endpoint), (State, String)> {
    let bound: Result<Endpoint, BindError> =
        Endpoint::bind(setup.config.clone().local([local.clone()]));
    let endpoint = bound.map_err(|error| (State::Local, error.to_string()))?;
    let from = endpoint.local_addresses();
    let path = from.first().map(|&local| FourTuple { local, remote });
    let paths: Vec<FourTuple> = path.into_iter().collect();
    let assoc = Arc::new(mtu::bounded(&setup.assoc, device));
    let connecting = endpoint.connect_paths(&paths, setup.port, assoc);
    match tokio::time::timeout(setup.patience, connecting).await {
        Ok(Ok(association)) => Ok((Arc::new(association), endpoint)),
        Ok(Err(error)) => Err(explain(&error, setup)),
        Err(_) => {
            let why = format!("no answer within {:.1} s", setup.patience.as_secs_f64());
            Err((State::NoAnswer, why))
        }
    }
}

fn explain(error: &ConnectError, setup: &Setup) -> (State, String) {
    if let Some(fault) = (setup.explain)(error) {
        return (State::Keys, fault);
    }
    match error {
        ConnectError::NoAnswer { .. } => (State::NoAnswer, "no answer".to_owned()),
        // Of one path: its ends are known.
        ConnectError::Unreachable { why, .. } => {
            let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
            (State::Refused, why.to_owned())
        }
        // It may quote what the peer said.
        other => (State::NotServed, crate::shown::escape_remark(&other.to_string())),
    }
}

/// What is on the way, and how wide it is.
async fn look_around(
    report: &mut PathReport,
    association: &Arc<Association>,
    way: Way<'_>,
    setup: &Setup,
) {
    report.peer = peer_fingerprint(association).map(|key| key.to_string());
    let width = mtu::watch(association, way.local.address, way.device);
    let mut found = Reflected::default();
    let limit = REFLECTION + setup.longest.unwrap_or_default();
    let reflection = tokio::time::timeout(limit, found.reflect(association, way, setup));
    let (mtu, reflected) = tokio::join!(width, reflection);
    if reflected.is_err() {
        found.no_mirror = Some("it took too long".to_owned());
    }
    report.mtu = mtu;
    (report.nat, report.ecn, report.no_mirror) = (found.nat, found.ecn, found.no_mirror);
    let paths = association.paths();
    let srtt = paths.iter().filter_map(|path| path.stats.srtt).min();
    report.rtt_ms = srtt.map(|srtt| srtt.as_secs_f64() * 1e3);
}

/// How wide the way is to a server of another kind, which ends the association as soon as
/// something is said that it does not understand.
async fn look_mutely(way: Way<'_>, setup: &Setup) -> Option<Mtu> {
    let (association, _endpoint) = connect(way, setup).await.ok()?;
    let mtu = mtu::watch(&association, way.local.address, way.device).await;
    leave(&association).await;
    mtu
}

/// What a mirror told.
#[derive(Debug, Default)]
struct Reflected {
    nat: Option<Nat>,
    ecn: Option<super::report::Ecn>,
    no_mirror: Option<String>,
}

impl Reflected {
    async fn reflect(&mut self, association: &Arc<Association>, way: Way<'_>, setup: &Setup) {
        let longest = setup.longest.map_or(0, |longest| longest.as_secs_f64().ceil() as u16);
        let seconds = SECONDS + longest.min(lifetime::LONGEST);
        let visit = Visit::begin(association, way.remote.ip(), &setup.named, seconds).await;
        let visit = match visit {
            Ok(visit) => visit,
            Err(error) => return self.no_mirror = Some(error.to_string()),
        };
        let from = association.paths().first().map(|path| path.stats.local);
        let translated = from.is_some_and(|from| from != visit.seen);
        let mut nat =
            Nat { seen: visit.seen, translated, mapping: None, filtering: None, lifetime: None };
        match self.ask(&visit, way.local).await {
            Some(seen) => {
                nat.mapping = nat::judge_mapping(seen);
                let works = seen.map(|seen| seen.is_some());
                nat.filtering = nat::try_filtering(&visit, way.local, works).await;
                if let Some(longest) = setup.longest {
                    nat.lifetime =
                        lifetime::measure(&visit, way.local, longest, &*setup.tell).await;
                }
            }
            None => self.no_mirror = Some("its sockets did not answer".to_owned()),
        }
        self.nat = Some(nat);
        visit.end().await;
    }

    /// How the mirror's sockets see a new one of ours; `None`: the first does not answer.
    async fn ask(
        &mut self,
        visit: &Visit,
        local: &LocalAddress,
    ) -> Option<[Option<SocketAddr>; DOORS]> {
        let ear = Ear::bind(local).ok()?;
        let [first, second, third] = visit.doors;
        let first = first?;
        // A socket that is not there is asked for nothing: the first stands in, unheard.
        let doors = [Some(first), second, third].map(|door| Question::plain(door.unwrap_or(first)));
        let questions: Vec<_> = doors.into_iter().chain(ecn::questions(first)).collect();
        let echoes = ask_all(&ear, visit.token, &questions).await;
        let echoes: [_; DOORS + 4] = echoes.try_into().ok()?;
        let [here, other_port, other_address, marks @ ..] = echoes;
        here?;
        self.ecn = Some(ecn::judge(marks));
        let seen = |door: Option<SocketAddr>, echo: Option<super::echo::Echo>| {
            door.and(echo).map(|echo| echo.answer.from)
        };
        Some([seen(Some(first), here), seen(second, other_port), seen(third, other_address)])
    }
}

async fn leave(association: &Association) {
    association.begin_shutdown();
    if tokio::time::timeout(GOODBYE, association.closed()).await.is_err() {
        association.abort("the doctor has seen enough");
    }
}
