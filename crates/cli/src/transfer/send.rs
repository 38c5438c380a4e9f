//! `polypath send`.

use std::net::SocketAddr;
use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "a transfer takes the user's time")]
use std::time::Instant;

use polypath_apps::paths;
use polypath_apps::perf::LimitShare;
use polypath_apps::place::{self, Ends, PlaceError};
use polypath_apps::transfer::{self, SendFilesOptions, Sources};
use polypath_net::{
    AssocConfig, Association, Capture, Config, ConnectError, Endpoint, LimitStats, Pairing,
};

use super::args::{SendArgs, time};
use super::display::Display;
use super::outcome::{Outcome, Role};
use super::{LOCAL, UNREACHABLE};
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};

pub(crate) fn send(args: &SendArgs) -> Result<(), Failure> {
    let sources = Sources::new(&args.files).map_err(|error| Failure::with(LOCAL, error))?;
    let capture = super::capture(&args.common)?;
    let done = super::runtime()?.block_on(run(args, &sources, capture.clone()));
    done.and(super::finish(capture))
}

fn interruption() -> Failure {
    Failure::with(INTERRUPTED, "interrupted; send again to go on")
}

async fn run(args: &SendArgs, sources: &Sources, capture: Option<Capture>) -> Result<(), Failure> {
    let stack = super::stack(&args.common)?;
    let Ends { local, remote, follow } = ends(args)?;
    let config = Config { local, assoc: stack.clone(), capture, follow, ..Config::client([]) };
    let endpoint = Endpoint::bind(config).map_err(super::bind_failure)?;
    super::warn(&endpoint, args.common.quiet);
    let association = tokio::select! {
        association = connect(args, &endpoint, &remote, &stack) => association?,
        () = interrupt::interrupted() => return Err(interruption()),
    };
    transfer(args, sources, association, &stack).await
}

fn ends(args: &SendArgs) -> Result<Ends, Failure> {
    let failure = |error: PlaceError| match error {
        PlaceError::Unknown { .. } | PlaceError::NoRoute { .. } => {
            Failure::with(UNREACHABLE, error)
        }
        PlaceError::Interfaces(_) => Failure::with(LOCAL, error),
        _ => Failure::input(error),
    };
    place::ends(&args.local, &args.paths, &args.to).map_err(failure)
}

async fn connect(
    args: &SendArgs,
    endpoint: &Endpoint,
    remote: &[SocketAddr],
    stack: &Arc<AssocConfig>,
) -> Result<Arc<Association>, Failure> {
    let pairing = if args.mesh { Pairing::Mesh } else { Pairing::Auto };
    let connecting = endpoint.connect_with(remote, args.common.port, pairing, stack.clone());
    match tokio::time::timeout(time(args.connect_timeout), connecting).await {
        Ok(Ok(association)) => {
            if !args.common.quiet {
                let paths = association.paths();
                let ends: Vec<_> =
                    paths.iter().map(|p| (p.stats.local.ip(), p.stats.remote.ip())).collect();
                let left_out = paths::left_out(endpoint.named(), &args.to, &ends);
                left_out.iter().for_each(|line| eprintln!("{line}"));
            }
            Ok(Arc::new(association))
        }
        Ok(Err(error @ (ConnectError::NoPath { .. } | ConnectError::Refused(_)))) => {
            Err(Failure::input(error))
        }
        Ok(Err(error)) => Err(Failure::with(UNREACHABLE, error)),
        Err(_) => {
            let to = &args.to;
            let text = format!(
                "no answer from {to} within {}: is `polypath receive` running there, and do firewalls let UDP through?",
                args.connect_timeout
            );
            Err(Failure::with(UNREACHABLE, text))
        }
    }
}

#[expect(clippy::disallowed_types, reason = "as above")]
async fn transfer(
    args: &SendArgs,
    sources: &Sources,
    association: Arc<Association>,
    stack: &AssocConfig,
) -> Result<(), Failure> {
    let common = &args.common;
    let display = Display::new(Role::Send, common.quiet, !common.quiet && !common.json);
    let watcher = display.follow(association.clone());
    let options = SendFilesOptions { silence: common.silence(), buffer: stack.send_buffer };
    let start = Instant::now();
    let result = tokio::select! {
        result = transfer::send(&association, sources, options, &*display) => Some(result),
        () = interrupt::interrupted() => {
            super::give_up(&association).await;
            None
        }
    };
    let time = start.elapsed();
    display.end(watcher);
    let Some(result) = result else { return Err(interruption()) };
    let (travelled, paths) = (display.travelled(), association.paths());
    let limits = LimitShare::between(&LimitStats::default(), &association.limits());
    let outcome = Outcome { role: Role::Send, result, travelled, time, paths, limits };
    outcome.print(common.json)?;
    outcome.failure().map_or(Ok(()), Err)
}
