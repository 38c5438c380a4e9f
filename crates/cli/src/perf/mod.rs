//! `polypath perf`.

mod args;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::admission::Places;
use polypath_apps::keys::OVERHEAD;
use polypath_apps::paths;
use polypath_apps::perf::{
    ClientOptions, ClientReport, Limits, Load, PerfError, Progress, Server, ServerOptions,
    SessionUpdate, Stop, TestSpec, Way, run_client, stop_switch, text,
};
use polypath_apps::place::{self, Ends, PlaceError};
use polypath_apps::runtime::build_runtime;
use polypath_apps::shown;
use polypath_net::{AssocConfig, Pairing};
use tokio::sync::mpsc;

use self::args::Exchange;
pub(crate) use self::args::PerfArgs;
use crate::control::Live;
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::keys::{
    ClientKeys, KeyTrouble, Listening, REOPENING, Route, ServerKeys, explain_refusal,
};
use crate::output;
use crate::recording::LiveCapture;
use crate::talk::Talk;

/// The peer was not reached.
const UNREACHABLE: u8 = 3;

/// Associations of a server: half of them for one address, which is the most that one client may
/// ask for.
const PLACES: Places = Places { all: 256, per_source: 128 };

/// Bytes of a packet that are no payload: headers of IP, UDP, SCTP and a DATA chunk.
const HEADERS_IPV4: u32 = 20 + 8 + 12 + 16;
const HEADERS_IPV6: u32 = HEADERS_IPV4 + 20;
/// What encryption takes of it.
const PROTECTION: u32 = OVERHEAD as u32;

pub(crate) fn perf(args: &PerfArgs, talk: Talk) -> Result<(), Failure> {
    let runtime = build_runtime().map_err(Failure::run_failed)?;
    if let Some(option) = args.misplaced_key_option() {
        let end = if args.client.is_some() { "server" } else { "client" };
        return Err(Failure::bad_input(format!("{option} is for the {end}")));
    }
    let host = if args.client.is_some() { "client" } else { "server" };
    let capture = args.capture.open(1, (host, &describe(args)), talk)?;
    let done = runtime.block_on(async {
        match &args.client {
            Some(host) => run_as_client(args, host, &capture, talk).await,
            None => run_as_server(args, &capture, talk).await,
        }
    });
    // Background threads of name look-ups must not hold the process up.
    runtime.shutdown_background();
    done.and(capture.finish())
}

/// What is run, in front of who looks at it.
fn describe(args: &PerfArgs) -> String {
    match &args.client {
        Some(host) => format!("perf to {}", shown::escape_remark(host)),
        None => "perf -s".to_owned(),
    }
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

async fn run_as_server(args: &PerfArgs, capture: &LiveCapture, talk: Talk) -> Result<(), Failure> {
    let (addresses, udp) = place::parse_listen(&args.listen).map_err(Failure::bad_input)?;
    let mut assoc = stack_config(args, Limits::default().streams)?;
    // Each association costs memory: strangers get few.
    assoc.inbound_streams = Limits::default().streams + 1;
    let listening = Listening { addresses, udp, port: args.port, assoc: Arc::new(assoc) };
    let mut keys = ServerKeys::new(&args.keys, &args.clients)?;
    if args.clients.enroll {
        keys.enrol(&listening).await?;
    }
    let endpoint = capture.watch(keys.config(&listening));
    let limits = Limits::default();
    let options = ServerOptions { endpoint, places: PLACES, one_off: args.one_off, limits };
    let server = Server::bind(options).map_err(failure_from_error)?;
    let warnings = server.warnings();
    warnings.iter().for_each(|warning| talk.say(format_args!("warning: {warning}")));
    talk.say(keys.describe());
    keys.watch_allowed();
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
            SessionUpdate::Refused(refusal) => {
                eprintln!("polypath: {}: {}", refusal.remote, explain_refusal(&refusal.reason));
            }
            SessionUpdate::Ended(session) if json => output::json_line(&session)?,
            _ if json => {}
            SessionUpdate::Began { id, remote, peer, .. } => {
                let remote: Vec<_> = remote.iter().map(ToString::to_string).collect();
                let peer = peer.map_or(String::new(), |peer| format!("\n[{id:>3}] {peer}"));
                output::print_text(&format!(
                    "[{id:>3}] client {}{peer}\n{}",
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
    capture: &LiveCapture,
    talk: Talk,
) -> Result<(), Failure> {
    let keys = ClientKeys::new(&args.keys, &args.peer, host, talk)?;
    let options = client_options(args, host, &keys, capture)?;
    let remote: Vec<_> = options.remote.iter().map(ToString::to_string).collect();
    let local: Vec<_> = options.endpoint.local.iter().map(|l| l.address.to_string()).collect();
    talk.say(format_args!(
        "connecting from {} to {}, SCTP port {}",
        local.join(", "),
        remote.join(", "),
        args.port
    ));
    let named = options.endpoint.local.clone();
    if let Some(code) = &args.peer.code {
        keys.enrol(code, route(&options)).await?;
    }
    let test = Test { args, host, keys: &keys, capture, talk };
    let mut report = test.run_patiently(options).await?;
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
        Some(error) => {
            let silence = keys.silence();
            Err(Failure::run_failed(format!("the test ended early: {error}{silence}")))
        }
        None => Ok(()),
    }
}

/// A test to be run.
struct Test<'a> {
    args: &'a PerfArgs,
    host: &'a str,
    keys: &'a ClientKeys,
    capture: &'a LiveCapture,
    talk: Talk,
}

impl Test<'_> {
    /// Runs it; again when the user trusts a server that was not known, and some times more when
    /// that opens its port anew after an enrolment.
    async fn run_patiently(&self, mut options: ClientOptions) -> Result<ClientReport, Failure> {
        let mut asked = false;
        loop {
            let error = match self.run_once(options).await? {
                Ok(report) => return Ok(report),
                Err(error) => error,
            };
            match self.explain(&error) {
                // The port at which we were enrolled may still be open, with the key of the code.
                Some(KeyTrouble::Unexpected(_)) if self.keys.port_may_reopen() => {
                    tokio::time::sleep(REOPENING).await;
                }
                Some(KeyTrouble::Unexpected(key)) if asked => {
                    return Err(self.keys.changed_meanwhile(&key));
                }
                Some(KeyTrouble::Unexpected(key)) => {
                    self.keys.decide(&key)?;
                    asked = true;
                }
                Some(KeyTrouble::Failed(failure)) => return Err(failure),
                None if error.is_unreachable() && self.keys.port_may_reopen() => {
                    tokio::time::sleep(REOPENING).await;
                }
                None => return Err(failure_from_error(error)),
            }
            options = client_options(self.args, self.host, self.keys, self.capture)?;
        }
    }

    fn explain(&self, error: &PerfError) -> Option<KeyTrouble> {
        match error {
            PerfError::Connect(error) => self.keys.explain(error),
            _ => None,
        }
    }

    async fn run_once(
        &self,
        options: ClientOptions,
    ) -> Result<Result<ClientReport, PerfError>, Failure> {
        let stop = stop_on_interrupt();
        let (observer, updates) = mpsc::unbounded_channel();
        let live = self.begin_picture();
        // Over a picture nothing can be said.
        let held = RefCell::new(Vec::new());
        let warn = |warning: &_| {
            let line = format!("warning: {warning}");
            match live {
                Some(_) => held.borrow_mut().push(line),
                None => self.talk.say(line),
            }
        };
        let test = run_client(options, observer, stop, warn);
        let lines = !self.args.json && live.is_none();
        let (report, shown) = tokio::join!(test, show_intervals(updates, lines));
        drop(live);
        held.take().into_iter().for_each(|line| self.talk.say(line));
        shown?;
        Ok(report)
    }

    fn begin_picture(&self) -> Option<Live> {
        if !self.args.live {
            return None;
        }
        let begun = Live::new(self.capture.socket());
        begun.map_err(|why| self.talk.say(format_args!("warning: --live: {why}"))).ok()
    }
}

fn route(options: &ClientOptions) -> Route<'_> {
    Route {
        local: &options.endpoint.local,
        remote: &options.remote,
        port: options.port,
        pairing: options.pairing,
        assoc: options.endpoint.assoc.clone(),
        patience: options.connect_timeout,
        unreachable: UNREACHABLE,
    }
}

/// Shows intervals as they come, as lines if there shall be any.
async fn show_intervals(
    mut updates: mpsc::UnboundedReceiver<Progress>,
    lines: bool,
) -> Result<(), Failure> {
    let mut head = true;
    while let Some(progress) = updates.recv().await {
        if !lines {
            continue;
        }
        if core::mem::take(&mut head) {
            output::print_text(text::HEADER)?;
        }
        output::print_text(&text::format_interval(progress.id, &progress.interval))?;
    }
    Ok(())
}

fn client_options(
    args: &PerfArgs,
    host: &str,
    keys: &ClientKeys,
    capture: &LiveCapture,
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
    let headers = headers + if keys.protects() { PROTECTION } else { 0 };
    let test = test_spec(args, assoc.path_mtu.saturating_sub(headers) & !3);
    let endpoint = capture.watch(keys.config()?.local(local).assoc(assoc).follow(follow));
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
