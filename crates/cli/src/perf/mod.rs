//! `polypath perf`.

mod args;
mod live;

use std::io::BufWriter;
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::admission::Places;
use polypath_apps::paths;
use polypath_apps::perf::{
    ClientOptions, Limits, Load, PerfError, Progress, Server, ServerOptions, SessionUpdate, Stop,
    TestSpec, Way, run_client, stop_switch, text,
};
use polypath_apps::place::{self, Ends, PlaceError};
use polypath_net::{AssocConfig, Capture, Config, Encapsulation, Pairing};
use tokio::sync::mpsc;

use self::args::Exchange;
pub(crate) use self::args::PerfArgs;
use self::live::Live;
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::output;
use crate::recording::open_live;
use crate::talk::Talk;

/// The peer was not reached.
const UNREACHABLE: u8 = 3;

/// Associations of a server: half of them for one address, which is the most that one client may
/// ask for.
const PLACES: Places = Places { all: 256, per_source: 128 };

/// Bytes of a packet that are no payload: headers of IP, UDP, SCTP and a DATA chunk.
const HEADERS_IPV4: u32 = 20 + 8 + 12 + 16;
const HEADERS_IPV6: u32 = HEADERS_IPV4 + 20;

pub(crate) fn perf(args: &PerfArgs, talk: Talk) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(Failure::run_failed)?;
    let capture = open_capture(args)?;
    let done = runtime.block_on(async {
        match &args.client {
            Some(host) => run_as_client(args, host, capture.clone(), talk).await,
            None => run_as_server(args, capture.clone(), talk).await,
        }
    });
    // Background threads of name look-ups must not hold the process up.
    runtime.shutdown_background();
    let written = capture.map_or(Ok(()), |capture| capture.finish());
    done.and(written.map_err(|error| Failure::run_failed(format!("--pcap: {error}"))))
}

fn open_capture(args: &PerfArgs) -> Result<Option<Capture>, Failure> {
    let Some(path) = &args.pcap else { return Ok(None) };
    let failed = |error: &dyn core::fmt::Display| {
        Failure::run_failed(format!("{}: cannot be written: {error}", path.display()))
    };
    let file = open_live(path).map_err(|error| failed(&error))?;
    Capture::new(BufWriter::new(file)).map(Some).map_err(|error| failed(&error))
}

/// A switch that Ctrl-C throws, and the task that waits for it.
fn stop_on_interrupt() -> Stop {
    let (switch, stop) = stop_switch();
    tokio::spawn(async move {
        interrupt::wait_for_interrupt().await;
        switch.send_replace(true);
        switch.closed().await;
    });
    stop
}

async fn run_as_server(
    args: &PerfArgs,
    capture: Option<Capture>,
    talk: Talk,
) -> Result<(), Failure> {
    let (addresses, udp) = place::parse_listen(&args.listen).map_err(Failure::bad_input)?;
    let mut assoc = stack_config(args, Limits::default().streams)?;
    // Each association costs memory: strangers get few.
    assoc.inbound_streams = Limits::default().streams + 1;
    let endpoint = Config::server(addresses, args.port)
        .encapsulation(Encapsulation::Udp(udp))
        .assoc(Arc::new(assoc))
        .capture(capture);
    let limits = Limits::default();
    let options = ServerOptions { endpoint, places: PLACES, one_off: args.one_off, limits };
    let server = Server::bind(options).map_err(failure_from_error)?;
    let warnings = server.warnings();
    warnings.iter().for_each(|warning| talk.say(format_args!("warning: {warning}")));
    let at: Vec<_> = server.local_addresses().iter().map(ToString::to_string).collect();
    talk.say(format_args!("listening at {}, SCTP port {}", at.join(", "), server.port()));
    let stop = stop_on_interrupt();
    let (observer, updates) = mpsc::unbounded_channel();
    let ((), printed) =
        tokio::join!(server.run(observer, stop.clone()), print_sessions(updates, args.json));
    printed?;
    if stop.is_set() { Err(Failure::from_status(INTERRUPTED)) } else { Ok(()) }
}

async fn print_sessions(
    mut updates: mpsc::UnboundedReceiver<SessionUpdate>,
    json: bool,
) -> Result<(), Failure> {
    while let Some(update) = updates.recv().await {
        match update {
            SessionUpdate::Ended(session) if json => output::json_line(&session)?,
            _ if json => {}
            SessionUpdate::Began { id, remote, .. } => {
                let remote: Vec<_> = remote.iter().map(ToString::to_string).collect();
                output::print_text(&format!(
                    "[{id:>3}] client {}\n{}",
                    remote.join(", "),
                    text::HEADER
                ))?;
            }
            SessionUpdate::Progress(p) => {
                output::print_text(&text::format_interval(p.id, &p.interval))?
            }
            SessionUpdate::Ended(session) => output::print_text(&text::format_session(&session))?,
        }
    }
    Ok(())
}

async fn run_as_client(
    args: &PerfArgs,
    host: &str,
    capture: Option<Capture>,
    talk: Talk,
) -> Result<(), Failure> {
    let options = client_options(args, host, capture)?;
    let remote: Vec<_> = options.remote.iter().map(ToString::to_string).collect();
    let local: Vec<_> = options.endpoint.local.iter().map(|l| l.address.to_string()).collect();
    talk.say(format_args!(
        "connecting from {} to {}, SCTP port {}",
        local.join(", "),
        remote.join(", "),
        args.port
    ));
    let named = options.endpoint.local.clone();
    let stop = stop_on_interrupt();
    let (observer, updates) = mpsc::unbounded_channel();
    let warn = |warning: &_| talk.say(format_args!("warning: {warning}"));
    let test = run_client(options, observer, stop, warn);
    let (report, shown) = tokio::join!(test, show_intervals(updates, args));
    shown?;
    let mut report = report.map_err(failure_from_error)?;
    let end = report.associations.first().map(|first| &first.client);
    let paths = end.iter().flat_map(|end| &end.paths).map(|p| (p.local.ip(), p.remote.ip()));
    report.notes = paths::left_out(&named, host, &paths.collect::<Vec<_>>());
    if args.json {
        output::print_json(&report)?;
    } else {
        output::print_text(&text::format_client(&report))?;
    }
    match report.error() {
        _ if report.interrupted => Err(Failure::from_status(INTERRUPTED)),
        Some(error) => Err(Failure::run_failed(format!("the test ended early: {error}"))),
        None => Ok(()),
    }
}

/// Shows intervals as they come.
async fn show_intervals(
    mut updates: mpsc::UnboundedReceiver<Progress>,
    args: &PerfArgs,
) -> Result<(), Failure> {
    let mut live = args.live.then(Live::new);
    let mut head = !args.json && live.is_none();
    while let Some(progress) = updates.recv().await {
        if let Some(live) = &mut live {
            live.show_interval(&progress);
        } else if !args.json {
            if core::mem::take(&mut head) {
                output::print_text(text::HEADER)?;
            }
            output::print_text(&text::format_interval(progress.id, &progress.interval))?;
        }
    }
    Ok(())
}

fn client_options(
    args: &PerfArgs,
    host: &str,
    capture: Option<Capture>,
) -> Result<ClientOptions, Failure> {
    let Ends { local, remote, follow } = place::resolve_ends(&args.local, &args.paths, host)
        .map_err(|error| match error {
            PlaceError::NoRoute { .. } => Failure::with_code(UNREACHABLE, error),
            _ => Failure::bad_input(error),
        })?;
    let ipv6 = remote.iter().any(std::net::SocketAddr::is_ipv6);
    let assoc = Arc::new(stack_config(args, args.streams)?);
    // A packet is padded to four bytes.
    let headers = if ipv6 { HEADERS_IPV6 } else { HEADERS_IPV4 };
    let test = test_spec(args, assoc.path_mtu.saturating_sub(headers) & !3);
    let endpoint = Config::client([]).local(local).assoc(assoc).capture(capture).follow(follow);
    Ok(ClientOptions {
        endpoint,
        remote,
        port: args.port,
        pairing: if args.mesh { Pairing::Mesh } else { Pairing::Auto },
        parallel: args.parallel,
        test,
        connect_timeout: args.connect_timeout,
    })
}

fn test_spec(args: &PerfArgs, packet: u32) -> TestSpec {
    let way = match (args.bidir, args.reverse) {
        (true, _) => Way::Both,
        (_, true) => Way::Reverse,
        _ => Way::Forward,
    };
    let (size, load) = match (args.request_response, args.bitrate) {
        (Some(Exchange { request, response }), _) => (request, Load::RequestResponse(response)),
        (_, bitrate) => {
            let size = args.length.unwrap_or(packet);
            (size, bitrate.map_or(Load::Saturated, Load::Rate))
        }
    };
    TestSpec {
        duration_ms: milliseconds(args.time),
        omit_ms: milliseconds(args.omit),
        interval_ms: milliseconds(args.interval),
        way,
        streams: args.streams,
        size,
        unordered: args.unordered,
        load,
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The stack of this end, with streams for the load and one for control.
fn stack_config(args: &PerfArgs, streams: u16) -> Result<AssocConfig, Failure> {
    args.stack.resolve(streams.saturating_add(1)).map(|stack| stack.assoc)
}

fn failure_from_error(error: PerfError) -> Failure {
    match error {
        PerfError::Interrupted => Failure::from_status(INTERRUPTED),
        error if error.is_unreachable() => Failure::with_code(UNREACHABLE, error),
        error if error.is_bad_input() => Failure::bad_input(error),
        error => Failure::run_failed(error),
    }
}
