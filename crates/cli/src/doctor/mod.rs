//! `polypath doctor`.

mod args;
mod identity;
mod report;

use std::net::IpAddr;
use std::sync::Arc;

use polypath_apps::doctor::{
    NamedPath, PathReport, Setup, State, advise, advise_host, examine, named_paths,
};
use polypath_apps::place::{self, PlaceError};
use polypath_net::{DEFAULT_PORT, Profile};
use tokio::task::JoinSet;

pub(crate) use self::args::{DOCTOR_HELP, DoctorArgs};
use self::identity::{advise_identity, explain};
pub(crate) use self::report::DoctorJson;
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::keys::{self, ClientKeyArgs, ClientKeys, LOCAL, UNTRUSTED};
use crate::quantity::to_duration;
use crate::reach::{RouteArgs, UNREACHABLE};
use crate::talk::Talk;

pub(crate) fn doctor(mut args: DoctorArgs, talk: Talk) -> Result<(), Failure> {
    let called = args.to.clone();
    apply_named_host(&mut args)?;
    let peer = ClientKeyArgs { peer: args.peer, code: None };
    let keys = Arc::new(ClientKeys::new(&args.keys, &peer, &args.to, talk)?);
    let RouteArgs { local, paths, mesh } = &args.route;
    let named = named_paths(local, paths, *mesh, &args.to).map_err(place_failure)?;
    let setup = Arc::new(prepare(&args, &named, &keys, talk)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::run_failed)?;
    let report = runtime.block_on(async {
        tokio::select! {
            report = look(called, named, &setup, &keys) => Ok(report),
            () = interrupt::wait_for_interrupt() => Err(Failure::from_status(INTERRUPTED)),
        }
    });
    runtime.shutdown_background();
    let report = report?;
    report.print(args.json)?;
    judge(&report.paths)
}

/// Fills in what config.toml says of the host that `--to` names, if it names one.
fn apply_named_host(args: &mut DoctorArgs) -> Result<(), Failure> {
    let hosts = keys::named_hosts()?;
    let Some(host) = hosts.find(&args.to) else { return Ok(()) };
    args.route.apply(host);
    if args.port == DEFAULT_PORT {
        args.port = host.port.unwrap_or(args.port);
    }
    if !args.keys.insecure && args.keys.psk.is_none() {
        args.peer = args.peer.or(host.peer);
    }
    args.to = host.to.clone();
    Ok(())
}

fn place_failure(error: PlaceError) -> Failure {
    match error {
        PlaceError::Unknown { .. } | PlaceError::NoRoute { .. } => {
            Failure::with_code(UNREACHABLE, error)
        }
        PlaceError::Interfaces(_) => Failure::with_code(LOCAL, error),
        _ => Failure::bad_input(error),
    }
}

/// What all paths have in common: the stack as `forward` has it, which finds out how large packets
/// may be.
fn prepare(
    args: &DoctorArgs,
    named: &[NamedPath],
    keys: &Arc<ClientKeys>,
    talk: Talk,
) -> Result<Setup, Failure> {
    let config = keys.config()?;
    let mut assoc = Setup::stack(&config.assoc);
    place::let_addresses_change(Profile::default(), &mut assoc);
    let addresses = named.iter().filter_map(|path| match path {
        NamedPath::Between(_, remote) => Some(remote.ip()),
        NamedPath::Cannot(_) => None,
    });
    let of_errors = keys.clone();
    Ok(Setup {
        config,
        assoc: Arc::new(assoc),
        port: args.port,
        patience: to_duration(args.connect_timeout),
        named: addresses.collect::<Vec<IpAddr>>(),
        longest: args.long,
        explain: Box::new(move |error| explain(&of_errors, error)),
        tell: Box::new(move |line| talk.say(line)),
    })
}

/// Looks at all paths at once, and says what there is to say.
async fn look(
    to: String,
    named: Vec<NamedPath>,
    setup: &Arc<Setup>,
    keys: &ClientKeys,
) -> DoctorJson {
    let first = named.iter().find_map(|path| match path {
        NamedPath::Between(local, _) => Some(local.clone()),
        NamedPath::Cannot(_) => None,
    });
    let paths = examine_all(named, setup).await;
    let heartbeat = setup.assoc.heartbeat_interval;
    let mut findings: Vec<_> =
        paths.iter().flat_map(|path| advise(path, setup.port, heartbeat)).collect();
    findings.extend(advise_identity(keys, &paths));
    findings.extend(first.iter().flat_map(|local| advise_host(&setup.config, local)));
    DoctorJson { to, paths, findings }
}

/// In the order in which they were named.
async fn examine_all(named: Vec<NamedPath>, setup: &Arc<Setup>) -> Vec<PathReport> {
    let mut found: Vec<Option<PathReport>> = Vec::new();
    let mut examining = JoinSet::new();
    for (number, path) in named.into_iter().enumerate() {
        found.push(match path {
            NamedPath::Cannot(report) => Some(*report),
            NamedPath::Between(local, remote) => {
                let setup = setup.clone();
                examining.spawn(async move { (number, examine(&local, remote, &setup).await) });
                None
            }
        });
    }
    for (number, report) in examining.join_all().await {
        if let Some(place) = found.get_mut(number) {
            *place = Some(report);
        }
    }
    found.into_iter().flatten().collect()
}

/// The exit code.
fn judge(paths: &[PathReport]) -> Result<(), Failure> {
    let carrying = paths.iter().filter(|path| path.carries()).count();
    let of_state = |state| paths.iter().any(|path| path.state == state);
    match carrying {
        count if count == paths.len() && count > 0 => Ok(()),
        1.. => Err(Failure::from_status(1)),
        0 if of_state(State::Keys) => Err(Failure::from_status(UNTRUSTED)),
        0 => Err(Failure::from_status(UNREACHABLE)),
    }
}
