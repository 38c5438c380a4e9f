//! `polypath receive`.

use std::sync::Arc;
#[expect(clippy::disallowed_types, reason = "a transfer takes the user's time")]
use std::time::Instant;

use polypath_apps::perf::LimitShare;
use polypath_apps::place::{self, PlaceError};
use polypath_apps::transfer::{self, ReceiveOptions, TransferError};
use polypath_net::{Association, Capture, Config, Encapsulation, Endpoint, LimitStats};
use tokio::sync::mpsc;

use super::LOCAL;
use super::args::ReceiveArgs;
use super::display::Display;
use super::outcome::{Outcome, Role};
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};

/// Senders at the same time, at most.
const SENDERS: usize = 16;

pub(crate) fn receive(args: &ReceiveArgs) -> Result<(), Failure> {
    let capture = super::capture(&args.common)?;
    let done = super::runtime()?.block_on(serve(args, capture.clone()));
    done.and(super::finish(capture))
}

async fn serve(args: &ReceiveArgs, capture: Option<Capture>) -> Result<(), Failure> {
    let options = options(args)?;
    let endpoint = listen(args, capture)?;
    let (over, mut ended) = mpsc::unbounded_channel();
    let mut running: Vec<(usize, Arc<Association>)> = Vec::new();
    let mut count = 0;
    loop {
        tokio::select! {
            accepted = endpoint.accept() => {
                let Some(association) = accepted else { return Ok(()) };
                let association = Arc::new(association);
                count += 1;
                running.push((count, association.clone()));
                begin(args, &options, association, count, over.clone())?;
            }
            Some((number, outcome)) = ended.recv() => {
                running.retain(|(other, _)| *other != number);
                if let Some(end) = conclude(args, &outcome)? {
                    return end;
                }
            }
            () = interrupt::interrupted() => {
                return Err(interrupted(&running, &mut ended).await);
            }
        }
    }
}

/// Tells all senders, and lets their threads leave their files in order.
async fn interrupted(
    running: &[(usize, Arc<Association>)],
    ended: &mut mpsc::UnboundedReceiver<(usize, Outcome)>,
) -> Failure {
    let goodbyes = async {
        for (_, association) in running {
            super::give_up(association).await;
            let _ = ended.recv().await;
        }
    };
    let _ = tokio::time::timeout(super::GOODBYE, goodbyes).await;
    let text = match running {
        [] => "interrupted",
        _ => "interrupted; what came is kept for the next attempt",
    };
    Failure::with(INTERRUPTED, text)
}

fn options(args: &ReceiveArgs) -> Result<ReceiveOptions, Failure> {
    transfer::prepare_folder(&args.dir).map_err(|error| Failure::with(LOCAL, error))?;
    let buffer = super::stack(&args.common)?.receive_buffer.into();
    let (folder, overwrite) = (args.dir.clone(), args.overwrite);
    Ok(ReceiveOptions { folder, overwrite, silence: args.common.silence(), buffer })
}

fn listen(args: &ReceiveArgs, capture: Option<Capture>) -> Result<Endpoint, Failure> {
    let (addresses, udp) = place::listen(&args.listen).map_err(|error| match error {
        PlaceError::Interfaces(_) => Failure::with(LOCAL, error),
        _ => Failure::input(error),
    })?;
    let endpoint = Endpoint::bind(Config {
        encapsulation: Encapsulation::Udp(udp),
        max_associations: SENDERS,
        assoc: super::stack(&args.common)?,
        capture,
        ..Config::server(addresses, args.common.port)
    });
    let endpoint = endpoint.map_err(super::bind_failure)?;
    super::warn(&endpoint, args.common.quiet);
    if !args.common.quiet {
        let at: Vec<_> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
        eprintln!("receiving at {} into {}", at.join(" and "), args.dir.display());
        eprintln!(
            "It is not encrypted: whoever sees the packets can read the files, and anybody can send some."
        );
    }
    Ok(endpoint)
}

/// Receives on a thread of its own: disks are waited for, and several may send at the same time.
fn begin(
    args: &ReceiveArgs,
    options: &ReceiveOptions,
    association: Arc<Association>,
    number: usize,
    over: mpsc::UnboundedSender<(usize, Outcome)>,
) -> Result<(), Failure> {
    let quiet = args.common.quiet;
    // Bars of several senders at once would be mixed up.
    let bars = !quiet && !args.common.json && args.once;
    let display = Display::new(Role::Receive, quiet, bars);
    let from = association.paths().first().map(|path| path.stats.remote.to_string());
    display.say(&format!("a sender at {}", from.unwrap_or_default()));
    let (options, runtime) = (options.clone(), super::runtime()?);
    let work = move || {
        let outcome = runtime.block_on(one(&options, association, &display));
        let _ = over.send((number, outcome));
    };
    let thread = std::thread::Builder::new().name("receive".to_owned()).spawn(work);
    thread.map(drop).map_err(Failure::run)
}

#[expect(clippy::disallowed_types, reason = "as above")]
async fn one(
    options: &ReceiveOptions,
    association: Arc<Association>,
    display: &Arc<Display>,
) -> Outcome {
    let watcher = display.follow(association.clone());
    let start = Instant::now();
    let result = transfer::receive(&association, options, &**display).await;
    let time = start.elapsed();
    display.end(watcher);
    let (travelled, paths) = (display.travelled(), association.paths());
    let limits = LimitShare::between(&LimitStats::default(), &association.limits());
    Outcome { role: Role::Receive, result, travelled, time, paths, limits }
}

/// Prints what became of a transfer; gives the end of the command if it was the last one.
fn conclude(args: &ReceiveArgs, outcome: &Outcome) -> Result<Option<Result<(), Failure>>, Failure> {
    outcome.print(args.common.json)?;
    let failure = outcome.failure();
    // Who does not speak the protocol is not whom one waits for.
    let stranger = matches!(outcome.result, Err(TransferError::Codec(_)));
    if args.once && !stranger {
        return Ok(Some(failure.map_or(Ok(()), Err)));
    }
    if let Some(failure) = failure {
        eprintln!("polypath: {}", failure.message());
    }
    Ok(None)
}
