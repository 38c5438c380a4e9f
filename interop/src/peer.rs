//! Our side of a conversation: the counterpart of `peer.c`, with the same options and the same
//! result.

mod extras;
mod options;
mod report;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use polypath_net::{
    Association, CloseReason, Config, Encapsulation, Endpoint, Event, Events, LocalAddress,
    Message, PathState, SendOptions, StreamDirection,
};

use self::extras::Changes;
pub use self::extras::{After, Extras};
pub use self::options::{Ending, Options, Profile, Role};
pub use self::report::Report;
use crate::ledger::Ledger;
use crate::message::Plan;

/// How a conversation is reported to whoever started the process; the same as the C peer's.
mod code {
    pub(super) const VERIFIED: u8 = 0;
    pub(super) const FAULTY: u8 = 1;
    pub(super) const USAGE: u8 = 2;
    pub(super) const NO_ASSOCIATION: u8 = 3;
    pub(super) const TIMED_OUT: u8 = 4;
}

/// Holds a conversation, prints the result as one line of JSON, and says how it went.
pub fn run_peer(options: Options) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return print_error(&error, code::USAGE),
    };
    let limit = Duration::from_secs(options.timeout);
    let conversation = async { tokio::time::timeout(limit, hold_conversation(options)).await };
    match runtime.block_on(conversation) {
        Ok(code) => code,
        Err(_) => print_error(&format!("nothing came of it within {limit:?}"), code::TIMED_OUT),
    }
}

fn print_error(error: &dyn std::fmt::Display, code: u8) -> ExitCode {
    eprintln!("{error}");
    ExitCode::from(code)
}

async fn hold_conversation(options: Options) -> ExitCode {
    let endpoint = match open_endpoint(&options) {
        Ok(endpoint) => endpoint,
        Err(error) => return print_error(&error, code::USAGE),
    };
    let begin = Instant::now();
    let association = match open_association(&endpoint, &options).await {
        Ok(association) => association,
        Err(error) => return print_error(&error, code::NO_ASSOCIATION),
    };
    let conversation = Conversation::new(options, endpoint.clone(), association, begin);
    conversation.hold_until_over().await;
    let report = conversation.report(&endpoint);
    println!("{}", report.json());
    // The last chunk may get lost; whoever waits for it asks again.
    tokio::time::sleep(Duration::from_millis(conversation.options.linger)).await;
    drop(conversation);
    endpoint.close().await;
    ExitCode::from(if report.verified { code::VERIFIED } else { code::FAULTY })
}

fn open_endpoint(options: &Options) -> anyhow::Result<Endpoint> {
    let local = options.local.iter().copied();
    let config = match options.role {
        Role::Client => Config::insecure_client(local).port(options.port),
        Role::Server => Config::insecure_server(local, options.port),
    };
    let local = config
        .local
        .clone()
        .into_iter()
        .zip(options.device.iter().map(Some).chain([None].into_iter().cycle()));
    let local: Vec<_> = local
        .map(|(local, device)| match device {
            Some(device) => LocalAddress::on_device(local.address, device),
            None => local,
        })
        .collect();
    let encapsulation =
        if options.raw { Encapsulation::Raw } else { Encapsulation::Udp(options.udp) };
    let config = config.local(local).encapsulation(encapsulation).assoc(options.assoc()?);
    Ok(Endpoint::bind(config)?)
}

async fn open_association(endpoint: &Endpoint, options: &Options) -> anyhow::Result<Association> {
    if options.role == Role::Server {
        eprintln!("listening");
        return endpoint.accept().await.ok_or_else(|| anyhow::anyhow!("the endpoint was closed"));
    }
    let at = |&address| SocketAddr::new(address, options.remote_udp);
    let remote: Vec<_> = options.remote.iter().map(at).collect();
    Ok(endpoint.connect(&remote, options.remote_port).await?)
}

struct Conversation {
    options: Options,
    plan: Plan,
    endpoint: Endpoint,
    association: Association,
    begin: Instant,
    changes: Changes,
    ledger: RefCell<Ledger>,
    sent: Cell<u64>,
    all_sent: Cell<bool>,
    all_received: Cell<bool>,
    ended: Cell<bool>,
    restarts: Cell<u32>,
    confirmed: Cell<u32>,
    unreachable: Cell<u32>,
    streams: Cell<(u16, u16)>,
    peer_addresses: RefCell<Vec<String>>,
    closed: Cell<&'static str>,
}

impl Conversation {
    fn new(options: Options, endpoint: Endpoint, association: Association, begin: Instant) -> Self {
        let plan = options.plan();
        let ledger = Ledger::new(plan.clone(), options.expect, options.unordered, options.skips);
        let all_received = Cell::new(options.expect == 0);
        Self {
            options,
            plan,
            begin,
            endpoint,
            changes: Changes::default(),
            ledger: RefCell::new(ledger),
            sent: Cell::new(0),
            all_sent: Cell::new(false),
            all_received,
            ended: Cell::new(false),
            restarts: Cell::new(0),
            confirmed: Cell::new(0),
            unreachable: Cell::new(0),
            streams: Cell::new(association.streams()),
            peer_addresses: RefCell::default(),
            closed: Cell::new("no"),
            association,
        }
    }

    /// Until the association is over.
    async fn hold_until_over(&self) {
        let events = self.association.events();
        tokio::join!(self.send_all(), self.receive_all(events));
        let reason = self.association.closed().await;
        self.closed.set(match reason {
            CloseReason::Shutdown => "shutdown",
            CloseReason::LocalAbort => "own abort",
            // Nobody is there any more, says its host: an ABORT with the T bit, or ICMP.
            CloseReason::PeerAbort { cause: None } => "lost",
            CloseReason::PeerAbort { .. } => "abort",
            CloseReason::Unreachable => "lost",
            CloseReason::ProtocolViolation { .. } => "violation",
            _ => "refused",
        });
    }

    async fn send_all(&self) {
        let options = SendOptions {
            unordered: self.options.unordered,
            immediate: self.options.immediate,
            reliability: self.options.extras.reliability(),
            ..SendOptions::default()
        };
        for k in 0..self.options.send {
            let (stream, ppid) = self.plan.place(k);
            let options = SendOptions { ppid, ..options };
            if let Err(error) =
                self.association.send_with(stream, self.plan.content(k), options).await
            {
                eprintln!("send of message {k}: {error}");
                break;
            }
            self.sent.set(self.sent.get() + 1);
            let act =
                self.options.extras.act_between(&self.endpoint, &self.association, self.sent.get());
            if let Err(error) = act.await {
                eprintln!("after message {k}: {error}");
                break;
            }
            if self.options.delay > 0 {
                tokio::time::sleep(Duration::from_millis(self.options.delay)).await;
            }
        }
        self.finish_half(&self.all_sent);
    }

    async fn receive_all(&self, mut events: Events) {
        loop {
            tokio::select! {
                biased;
                Some(event) = events.next() => self.handle_event(&event),
                received = self.association.recv() => match received {
                    Ok(Some(message)) => self.handle_message(message).await,
                    Ok(None) | Err(_) => break,
                },
            }
        }
    }

    fn handle_event(&self, event: &Event) {
        let count = |counter: &Cell<u32>| counter.set(counter.get() + 1);
        match event {
            Event::Restarted => {
                count(&self.restarts);
                self.ledger.borrow_mut().reset();
            }
            Event::StreamsReset { direction: StreamDirection::Incoming, .. } => {
                count(&self.changes.resets_in);
            }
            Event::StreamsReset { .. } => count(&self.changes.resets_out),
            Event::StreamsAdded { .. } => count(&self.changes.streams_added),
            Event::Abandoned { .. } => count(&self.changes.abandoned),
            Event::PathState { state: PathState::Active, .. } => count(&self.confirmed),
            Event::PathState { state: PathState::Inactive, .. } => count(&self.unreachable),
            _ => {}
        }
    }

    async fn handle_message(&self, message: Message) {
        self.note_paths();
        let Message { stream, ppid, unordered, data, .. } = message;
        if self.options.echo {
            let options = SendOptions { unordered, ppid, ..SendOptions::default() };
            match self.association.send_with(stream.0, data.clone(), options).await {
                Ok(_) => self.sent.set(self.sent.get() + 1),
                Err(error) => self.ledger.borrow_mut().note_fault(format!("echo: {error}")),
            }
        }
        let complete = {
            let mut ledger = self.ledger.borrow_mut();
            if ledger.checks_messages() {
                ledger.enter_message(stream.0, ppid, &data);
            }
            ledger.checks_messages() && ledger.is_complete()
        };
        if complete {
            self.finish_half(&self.all_received);
        }
    }

    /// Paths are gone when the association is.
    fn note_paths(&self) {
        let mut known = self.peer_addresses.borrow_mut();
        for path in self.association.paths() {
            let address = path.stats.remote.ip().to_string();
            if !known.contains(&address) {
                known.push(address);
            }
        }
    }

    /// Marks one half as done; after the other the association ends as was asked for.
    fn finish_half(&self, half: &Cell<bool>) {
        half.set(true);
        self.note_paths();
        if !self.all_sent.get() || !self.all_received.get() || self.ended.replace(true) {
            return;
        }
        match self.options.end {
            Ending::Wait => {}
            Ending::Shutdown => self.association.begin_shutdown(),
            Ending::Abort => self.association.abort("asked to"),
            Ending::Vanish => self.vanish_silently(),
        }
    }

    /// Nobody is told, so nothing may be tidied up.
    fn vanish_silently(&self) -> ! {
        self.closed.set("vanished");
        // The endpoint's own thread goes on meanwhile.
        std::thread::sleep(Duration::from_millis(self.options.linger));
        let verified = self.is_verified();
        let report = self.summary(verified);
        println!("{}", report.json());
        std::process::exit(i32::from(if verified { code::VERIFIED } else { code::FAULTY }));
    }

    fn is_verified(&self) -> bool {
        let ledger = self.ledger.borrow();
        let complete = ledger.is_complete() || !ledger.checks_messages();
        let complete = complete && self.sent.get() >= self.options.send;
        ledger.faults().0 == 0 && (complete || self.options.partial)
    }

    fn report(&self, endpoint: &Endpoint) -> Report {
        let stats = endpoint.stats();
        Report {
            bad_checksums: stats.bad_checksum,
            bad_tags: stats.bad_tag,
            out_of_the_blue: stats.out_of_the_blue,
            ..self.summary(self.is_verified())
        }
    }

    fn summary(&self, verified: bool) -> Report {
        let ledger = self.ledger.borrow();
        let stats = self.association.stats();
        let (faults, first_fault) = ledger.faults();
        Report {
            role: self.options.role.name(),
            verified,
            closed: self.closed.get(),
            sent: self.sent.get(),
            received: ledger.received(),
            bytes: ledger.bytes(),
            faults,
            first_fault: first_fault.to_owned(),
            restarts: self.restarts.get(),
            streams_in: self.streams.get().1,
            streams_out: self.streams.get().0,
            peer_addresses: self.peer_addresses.borrow().clone(),
            confirmed: self.confirmed.get(),
            unreachable: self.unreachable.get(),
            seconds: self.begin.elapsed().as_secs_f64(),
            resets_in: self.changes.resets_in.get(),
            resets_out: self.changes.resets_out.get(),
            refused: self.changes.refused.get(),
            streams_added: self.changes.streams_added.get(),
            abandoned: self.changes.abandoned.get(),
            retransmitted: stats.retransmissions_fast
                + stats.retransmissions_timeout
                + stats.copies,
            fast_retransmitted: stats.retransmissions_fast,
            timeouts: stats.timeouts,
            duplicates: stats.duplicates_received,
            ..Report::default()
        }
    }
}
