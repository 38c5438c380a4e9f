//! `polypath doctor`.

mod args;
mod identity;
mod report;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::doctor::{
    NamedPath, PathReport, Setup, State, advise, advise_host, examine, named_paths,
};
use polypath_apps::place;
use polypath_apps::runtime::build_runtime;
use polypath_net::{DEFAULT_PORT, Profile};
use tokio::sync::watch;
use tokio::task::JoinSet;

pub(crate) use self::args::{DOCTOR_HELP, DoctorArgs};
use self::identity::{advise_identity, explain};
pub(crate) use self::report::DoctorJson;
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::keys::{self, ClientKeyArgs, ClientKeys, LOCAL, UNTRUSTED};
use crate::quantity::to_duration;
use crate::reach::{RouteArgs, UNREACHABLE, place_failure};
use crate::talk::Talk;

/// How long peers may take to hear that we go; each path waits for a second of its own.
const GOODBYE: Duration = Duration::from_secs(2);

pub(crate) fn doctor(mut args: DoctorArgs, talk: Talk) -> Result<(), Failure> {
    let called = args.to.clone();
    apply_named_host(&mut args)?;
    let peer = ClientKeyArgs { peer: args.peer, code: None };
    let keys = Arc::new(ClientKeys::new(&args.keys, &peer, &args.to, talk)?);
    let RouteArgs { local, paths, mesh } = &args.route;
    let named = named_paths(local, paths, *mesh, &args.to).map_err(place_failure)?;
    let (stop, stopped) = watch::channel(false);
    let setup = Arc::new(prepare(&args, &named, &keys, (stopped, talk))?);
    let runtime = build_runtime().map_err(|error| Failure::with_code(LOCAL, error))?;
    let report = runtime.block_on(async {
        let mut looking = core::pin::pin!(look(called, named, &setup, &keys));
        tokio::select! {
            report = &mut looking => return Ok(report),
            () = interrupt::wait_for_interrupt() => {}
        }
        // Servers hear of it, so that what we had there is free.
        stop.send_replace(true);
        let _ = tokio::time::timeout(GOODBYE, looking).await;
        Err(Failure::from_status(INTERRUPTED))
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

/// What all paths have in common: the stack as `forward` has it, which finds out how large packets
/// may be.
fn prepare(
    args: &DoctorArgs,
    named: &[NamedPath],
    keys: &Arc<ClientKeys>,
    (stop, talk): (watch::Receiver<bool>, Talk),
) -> Result<Setup, Failure> {
    let config = keys.config()?;
    let mut assoc = Setup::stack(&config.assoc);
    place::let_addresses_change(Profile::default(), &mut assoc);
    let mut addresses: Vec<IpAddr> = Vec::new();
    for path in named {
        if let NamedPath::Between(_, remote) = path
            && !addresses.contains(&remote.ip())
        {
            addresses.push(remote.ip());
        }
    }
    let of_errors = keys.clone();
    Ok(Setup {
        config,
        assoc: Arc::new(assoc),
        port: args.port,
        patience: to_duration(args.connect_timeout),
        named: addresses,
        longest: args.long,
        silence: keys.silence(),
        stop,
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
    let any = |state| paths.iter().any(|path| path.state == state);
    let all = |state| paths.iter().all(|path| path.state == state);
    let code = match carrying {
        0 if any(State::Keys) => UNTRUSTED,
        0 if any(State::Local) => LOCAL,
        0 if all(State::NotOurs) && !paths.is_empty() => 2,
        0 => UNREACHABLE,
        count if count == paths.len() => return Ok(()),
        _ => 1,
    };
    Err(Failure::from_status(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(states: &[State]) -> u8 {
        let report = |state: &State| PathReport::new("a -> b".into(), *state, None);
        let paths: Vec<_> = states.iter().map(report).collect();
        judge(&paths).err().map_or(0, |failure| failure.code())
    }

    /// As the help says.
    #[test]
    fn the_exit_code_tells_whose_fault_it_is() {
        use State::{Carries, Keys, Local, NoAnswer, NoPath, NotOurs};
        for (states, expected) in [
            (&[Carries, Carries][..], 0),
            (&[Carries, Keys], 1),
            (&[NoAnswer, NoPath], 3),
            (&[NoAnswer, Local], 5),
            (&[Keys, Local], 6),
            (&[NotOurs], 2),
            (&[NotOurs, NoAnswer], 3),
            (&[], 3),
        ] {
            assert_eq!(code(states), expected, "{states:?}");
        }
    }
}
