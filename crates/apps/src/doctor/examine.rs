//! One path, looked at by an association over it alone.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use polypath_net::{
    Association, BindError, Closed, ConnectError, Endpoint, FourTuple, LocalAddress,
};
use tokio::time::{Instant, timeout};

use super::directly::try_directly;
use super::mtu;
use super::opened::Opened;
use super::reflected::Reflected;
use super::report::{Mtu, PathReport, State};
use super::route::{self, Way};
use super::setup::Setup;
use crate::keys::peer_fingerprint;
use crate::{paths, shown};

/// A server that does not understand us says so at once; with one that takes longer, nothing is
/// tried again.
const SOON: Duration = Duration::from_secs(4);
/// How long an association may take to say goodbye.
const GOODBYE: Duration = Duration::from_millis(500);

/// Looks at the path from `local` to `remote`. It takes 20 s at most beside [`Setup::patience`] and
/// [`Setup::longest`], and two where nothing is lost. After [`Setup::stop`] it ends within a
/// second, and what it tells is of no use.
pub async fn examine(local: &LocalAddress, remote: SocketAddr, setup: &Setup) -> PathReport {
    let from = SocketAddr::new(local.address, 0);
    let name = paths::name_path(local.device.as_deref(), from, remote);
    let name = name.strip_prefix("path ").unwrap_or(&name).to_owned();
    let way = Way { local, remote, device: mtu::device_mtu(local, remote) };
    let opened = Opened::default();
    let found = tokio::select! {
        found = look(way, &name, &opened, setup) => found,
        () = setup.stopped() => Err(Trouble::new(State::NoAnswer, "it was stopped")),
    };
    opened.close().await;
    found.unwrap_or_else(|trouble| {
        let Trouble { state, why, remedy } = trouble;
        PathReport { remedy, ..PathReport::new(name, state, Some(why)) }
    })
}

/// Why there is no association.
#[derive(Debug)]
struct Trouble {
    state: State,
    why: String,
    remedy: Option<String>,
}

impl Trouble {
    fn new(state: State, why: impl Into<String>) -> Self {
        Self { state, why: why.into(), remedy: None }
    }
}

async fn look(
    way: Way<'_>,
    name: &str,
    opened: &Opened,
    setup: &Setup,
) -> Result<PathReport, Trouble> {
    let endpoint = bind(way, opened, setup)?;
    let Way { local, remote, .. } = way;
    route::connect(local, remote).map_err(|error| explain_no_route(&error))?;
    match connect(way, &endpoint, setup).await {
        Ok(association) => {
            let mut report = PathReport::new(name.to_owned(), State::Carries, None);
            let began = Instant::now();
            look_around(&mut report, &association, way, setup).await;
            let is_gone = association.is_closed();
            leave(&association).await;
            if is_gone && report.mtu.is_none() && began.elapsed() < SOON {
                report.mtu = look_mutely(way, opened, setup).await;
            }
            Ok(report)
        }
        Err(Trouble { state: state @ (State::NoAnswer | State::Refused), why, .. }) => {
            let directly = try_directly(opened, setup, local, remote).await;
            Ok(PathReport { directly, ..PathReport::new(name.to_owned(), state, Some(why)) })
        }
        Err(other) => Err(other),
    }
}

fn bind(way: Way<'_>, opened: &Opened, setup: &Setup) -> Result<Arc<Endpoint>, Trouble> {
    opened.bind(setup.config.clone().local([way.local.clone()])).map_err(explain_bind)
}

/// What to do is in the error's own words, where it has some.
fn explain_bind(error: BindError) -> Trouble {
    let local = |why: String, remedy: &str| {
        let remedy = Some(remedy.to_owned()).filter(|remedy| !remedy.is_empty());
        Trouble { state: State::Local, why, remedy }
    };
    match error {
        BindError::NotOurs(_) | BindError::NoDevice { .. } | BindError::NotUnicast(_) => {
            Trouble::new(State::NotOurs, error.to_string())
        }
        BindError::Permission { address, what, hint } => {
            local(format!("{what} at {address}: permission denied"), hint)
        }
        BindError::Socket { ref source, .. } | BindError::Thread(ref source) => {
            local(error.to_string(), if is_full(source) { MORE_FILES } else { "" })
        }
        other => {
            let text = other.to_string();
            let (why, remedy) = text.rsplit_once(": ").unwrap_or((&text, ""));
            local(why.to_owned(), remedy)
        }
    }
}

fn explain_no_route(error: &io::Error) -> Trouble {
    let why = error.to_string();
    match error.kind() {
        _ if is_full(error) => {
            Trouble { state: State::Local, why, remedy: Some(MORE_FILES.to_owned()) }
        }
        ErrorKind::PermissionDenied => Trouble::new(State::Local, why),
        _ => Trouble::new(State::NoRoute, why),
    }
}

/// What helps where [`is_full`].
const MORE_FILES: &str = "raise the limit of open files (ulimit -n)";

fn is_full(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EMFILE | Errno::ENFILE))
}

async fn connect(
    Way { remote, device, .. }: Way<'_>,
    endpoint: &Endpoint,
    setup: &Setup,
) -> Result<Arc<Association>, Trouble> {
    let from = endpoint.local_addresses();
    let path = from.first().map(|&local| FourTuple { local, remote });
    let paths: Vec<FourTuple> = path.into_iter().collect();
    let assoc = Arc::new(mtu::bounded(&setup.assoc, device));
    let connecting = endpoint.connect_paths(&paths, setup.port, assoc);
    match timeout(setup.patience, connecting).await {
        Ok(Ok(association)) => Ok(Arc::new(association)),
        Ok(Err(error)) => Err(explain(&error, setup)),
        Err(_) => {
            let (seconds, silence) = (setup.patience.as_secs_f64(), setup.silence);
            let why = format!("no answer within {seconds:.1} s{silence}");
            Err(Trouble::new(State::NoAnswer, why))
        }
    }
}

fn explain(error: &ConnectError, setup: &Setup) -> Trouble {
    if let Some(fault) = (setup.explain)(error) {
        return Trouble::new(State::Keys, fault);
    }
    match error {
        ConnectError::NoAnswer { .. }
        | ConnectError::Closed(Closed::HandshakeTimeout | Closed::Unreachable) => {
            Trouble::new(State::NoAnswer, format!("no answer{}", setup.silence))
        }
        // Of one path: its ends are known.
        ConnectError::Unreachable { why, .. } => {
            let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
            Trouble::new(State::Refused, why)
        }
        ConnectError::NoPath { .. } => Trouble::new(State::NoPath, error.to_string()),
        // This end did not even ask.
        ConnectError::Refused(_) => Trouble::new(State::Local, error.to_string()),
        // It may quote what the peer said.
        other => Trouble::new(State::NotServed, shown::escape_remark(&other.to_string())),
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
    let name = report.path.clone();
    let tell = |line: &str| (setup.tell)(&format!("{name}: {line}"));
    let width = mtu::watch(association, way.local.address, way.device);
    let mut found = Reflected::default();
    let (mtu, ()) = tokio::join!(width, found.reflect(association, way, setup, &tell));
    report.mtu = mtu;
    (report.nat, report.ecn, report.no_mirror) = (found.nat, found.ecn, found.no_mirror);
    let paths = association.paths();
    let srtt = paths.iter().filter_map(|path| path.stats.srtt).min();
    report.rtt_ms = srtt.map(|srtt| srtt.as_secs_f64() * 1e3);
}

/// How wide the way is to a server of another kind, which ends the association as soon as
/// something is said that it does not understand.
async fn look_mutely(way: Way<'_>, opened: &Opened, setup: &Setup) -> Option<Mtu> {
    let endpoint = bind(way, opened, setup).ok()?;
    let association = connect(way, &endpoint, setup).await.ok()?;
    let mtu = mtu::watch(&association, way.local.address, way.device).await;
    leave(&association).await;
    mtu
}

async fn leave(association: &Association) {
    association.begin_shutdown();
    if timeout(GOODBYE, association.closed()).await.is_err() {
        association.abort("the doctor has seen enough");
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn what_this_host_does_not_let_us_open_comes_with_its_own_remedy() {
        let address = IpAddr::from([127, 0, 0, 1]);
        let full = io::Error::from_raw_os_error(Errno::EMFILE as i32);
        let odd = io::Error::from_raw_os_error(Errno::EINVAL as i32);
        for (error, state, remedy) in [
            (BindError::NotOurs(address), State::NotOurs, None),
            (BindError::NoDevice { address, device: "x".into() }, State::NotOurs, None),
            (BindError::Socket { address, source: full }, State::Local, Some("ulimit -n")),
            (BindError::Socket { address, source: odd }, State::Local, None),
            (BindError::Thread(Errno::EMFILE.into()), State::Local, Some("ulimit -n")),
            (BindError::InUse { address, port: 7 }, State::Local, Some("stop the other program")),
            (
                BindError::Permission { address, what: "device wan0", hint: "run it as root" },
                State::Local,
                Some("run it as root"),
            ),
        ] {
            let found = explain_bind(error);
            assert_eq!(
                (found.state, found.remedy.is_some()),
                (state, remedy.is_some()),
                "{found:?}"
            );
            let told = found.remedy.unwrap_or_default();
            assert!(told.contains(remedy.unwrap_or_default()), "{told}");
        }
    }

    #[test]
    fn a_host_without_descriptors_is_no_host_without_a_route() {
        for (errno, state) in [
            (Errno::EMFILE, State::Local),
            (Errno::EACCES, State::Local),
            (Errno::ENETUNREACH, State::NoRoute),
        ] {
            let found = explain_no_route(&io::Error::from_raw_os_error(errno as i32));
            assert_eq!(found.state, state, "{found:?}");
        }
    }
}
