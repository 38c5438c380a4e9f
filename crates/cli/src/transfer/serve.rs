//! Who connects to `polypath receive`: strangers that greet, or do not, and the transfers of those
//! that do.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "a transfer takes the user's time")]
use std::time::Instant;

use polypath_apps::keys::peer_fingerprint;
use polypath_apps::perf::LimitShare;
use polypath_apps::runtime::build_runtime;
use polypath_apps::transfer::places::{Hall, SenderPlaces};
use polypath_apps::transfer::{self, Greeting, ReceiveOptions, Store, TransferError};
use polypath_net::{Association, Endpoint, LimitStats};
use tokio::sync::mpsc;

use super::args::ReceiveArgs;
use super::display::Display;
use super::outcome::{Outcome, Role};
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::keys::explain_refusal;

/// Senders at the same time, at most.
pub(super) const SENDERS: usize = 16;
/// Of one address.
const SHARE: usize = 4;
/// Associations at the same time that have not greeted, at most.
pub(super) const WAITING: usize = 32;
/// How long they may take to.
const GREETING: Duration = Duration::from_secs(10);
/// Who does nothing for so long gives way to another sender.
const IDLE: Duration = Duration::from_secs(10);
/// How often is looked who does nothing.
const TICK: Duration = Duration::from_secs(1);
/// Strangers whose trouble is told, at most.
const STRANGERS: u32 = 20;

/// What the server hears of its associations, by their numbers.
pub(super) enum News {
    Greeted(u64, Result<Greeting, TransferError>),
    /// `None`: its thread failed.
    Over(u64, Option<Box<Outcome>>),
}

/// All of them.
pub(super) struct Server<'a> {
    args: &'a ReceiveArgs,
    store: Arc<Store>,
    receiving: ReceiveOptions,
    news: mpsc::UnboundedSender<News>,
    count: u64,
    hall: Hall,
    waiting: BTreeMap<u64, (Arc<Association>, IpAddr)>,
    places: SenderPlaces,
    senders: BTreeMap<u64, Sender>,
    strangers: u32,
}

/// Who has a place.
struct Sender {
    association: Arc<Association>,
    display: Arc<Display>,
    address: IpAddr,
}

pub(super) type Heard = mpsc::UnboundedReceiver<News>;

impl<'a> Server<'a> {
    pub(super) fn new(
        args: &'a ReceiveArgs,
        store: Arc<Store>,
        news: mpsc::UnboundedSender<News>,
    ) -> Result<Self, Failure> {
        let buffer = super::stack_config(&args.common)?.receive_buffer.into();
        Ok(Self {
            args,
            store,
            receiving: ReceiveOptions { silence: args.common.longest_silence(), buffer },
            news,
            count: 0,
            hall: Hall::new(WAITING),
            waiting: BTreeMap::new(),
            places: SenderPlaces::new(SENDERS, SHARE, IDLE),
            senders: BTreeMap::new(),
            strangers: 0,
        })
    }

    pub(super) async fn serve_until_done(
        &mut self,
        endpoint: &Endpoint,
        heard: &mut Heard,
    ) -> Result<(), Failure> {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                accepted = endpoint.accept() => {
                    let Some(association) = accepted else { return Ok(()) };
                    self.welcome_sender(Arc::new(association));
                }
                Some(refusal) = endpoint.refused() => {
                    self.tell_of_stranger(refusal.remote.ip(), &explain_refusal(&refusal.reason));
                }
                Some(news) = heard.recv() => match news {
                    News::Greeted(number, greeting) => self.handle_greeting(number, greeting),
                    News::Over(number, outcome) => {
                        if let Some(end) = self.finish_transfer(number, outcome)? {
                            return end;
                        }
                    }
                },
                _ = tick.tick() => {
                    let steps =
                        |number| self.senders.get(&number).map_or(0, |s| s.display.steps_made());
                    self.places.pass_time(TICK, steps);
                }
                () = interrupt::wait_for_interrupt() => {
                    return Err(self.interrupt_transfers(heard).await);
                }
            }
        }
    }

    /// Gives somebody the time to greet.
    fn welcome_sender(&mut self, association: Arc<Association>) {
        self.count += 1;
        let number = self.count;
        let address = association.paths().first().map(|path| path.stats.remote.ip());
        let address = address.unwrap_or(IpAddr::from([0, 0, 0, 0]));
        if let Some(one) = self.hall.enter_guest(number, address) {
            self.send_away(one, "too many do not greet");
        }
        self.waiting.insert(number, (association.clone(), address));
        let news = self.news.clone();
        tokio::spawn(async move {
            let greeting = transfer::await_greeting(&association, GREETING).await;
            let _ = news.send(News::Greeted(number, greeting));
        });
    }

    fn send_away(&mut self, number: u64, why: &'static str) {
        if let Some((association, _)) = self.waiting.remove(&number) {
            association.abort(why);
        }
        if let Some(sender) = self.senders.get(&number) {
            sender.association.abort(why);
        }
    }

    fn handle_greeting(&mut self, number: u64, greeting: Result<Greeting, TransferError>) {
        self.hall.leave_hall(number);
        let Some((association, address)) = self.waiting.remove(&number) else { return };
        let begun = match greeting {
            Err(error) => Err(error.to_string()),
            Ok(greeting) => match self.places.take_place(number, address) {
                Err(none) => {
                    association.abort(none.to_string());
                    Err(none.to_string())
                }
                Ok(idle) => {
                    if let Some(idle) = idle {
                        self.send_away(idle, "nothing came for long, and another sender waits");
                    }
                    self.begin_transfer(number, association, address, greeting)
                }
            },
        };
        if let Err(escape_text) = begun {
            self.tell_of_stranger(address, &escape_text);
        }
    }

    /// Prints what became of a transfer; gives the end of the command if it was the last one.
    fn finish_transfer(
        &mut self,
        number: u64,
        outcome: Option<Box<Outcome>>,
    ) -> Result<Option<Result<(), Failure>>, Failure> {
        self.places.leave_place(number);
        let sender = self.senders.remove(&number);
        let (Some(outcome), Some(sender)) = (outcome, sender) else { return Ok(None) };
        let failure = outcome.failure();
        // Who connects and transfers nothing is not whom one waits for.
        if !outcome.was_a_transfer() {
            if let Some(failure) = failure {
                self.tell_of_stranger(sender.address, failure.message());
            }
            return Ok(None);
        }
        outcome.print_result(self.args.common.json)?;
        if self.args.once {
            return Ok(Some(failure.map_or(Ok(()), Err)));
        }
        if let Some(failure) = failure {
            eprintln!("polypath: {}", failure.message());
        }
        Ok(None)
    }

    /// Anybody can make such lines: there are only so many of them.
    fn tell_of_stranger(&mut self, address: IpAddr, text: &str) {
        self.strangers += 1;
        match self.strangers {
            1..STRANGERS => eprintln!("polypath: {address}: {text}"),
            STRANGERS => {
                eprintln!("polypath: {address}: {text}; of more like this nothing is said")
            }
            _ => {}
        }
    }

    /// Receives on a thread of its own: disks are waited for, and several may send at the same
    /// time.
    fn begin_transfer(
        &mut self,
        number: u64,
        association: Arc<Association>,
        address: IpAddr,
        greeting: Greeting,
    ) -> Result<(), String> {
        let quiet = self.args.common.quiet;
        // Bars of several senders at once would be mixed up.
        let bars = !quiet && !self.args.common.json && self.args.once;
        let display = Display::new(Role::Receive, quiet, bars);
        let from = association.paths().first().map(|path| path.stats.remote.to_string());
        let who = peer_fingerprint(&association).map_or(String::new(), |key| format!(", {key}"));
        display.open_with(format!("a sender at {}{who}", from.unwrap_or_default()));
        let sender = Sender { association: association.clone(), display: display.clone(), address };
        self.senders.insert(number, sender);
        let mut farewell = Farewell { number, news: self.news.clone(), outcome: None };
        let (store, receiving) = (self.store.clone(), self.receiving);
        let ended = association.clone();
        let runtime = build_runtime().map_err(|error| error.to_string());
        let started = runtime.and_then(|runtime| {
            let work = move || {
                let one = receive_transfer(&store, receiving, association, greeting, &display);
                farewell.set_outcome(runtime.block_on(one));
            };
            let thread = std::thread::Builder::new().name("receive".to_owned()).spawn(work);
            thread.map(drop).map_err(|error| error.to_string())
        });
        if started.is_err() {
            ended.abort("the receiver has no room for another sender");
        }
        started
    }

    /// Tells all senders, and lets their threads leave their files in order.
    async fn interrupt_transfers(&self, heard: &mut Heard) -> Failure {
        let goodbyes = async {
            for sender in self.senders.values() {
                sender.association.abort("interrupted");
            }
            for sender in self.senders.values() {
                sender.association.closed().await;
            }
            let mut left = self.senders.len();
            while left > 0 {
                left -= usize::from(matches!(heard.recv().await, Some(News::Over(..)) | None));
            }
        };
        let _ = tokio::time::timeout(super::GOODBYE, goodbyes).await;
        let text = match self.senders.is_empty() {
            true => "interrupted",
            false => "interrupted; what came is kept for the next attempt",
        };
        Failure::with_code(INTERRUPTED, text)
    }
}

/// Tells the server that a thread is done, however it ends.
struct Farewell {
    number: u64,
    news: mpsc::UnboundedSender<News>,
    outcome: Option<Box<Outcome>>,
}

impl Farewell {
    fn set_outcome(&mut self, outcome: Outcome) {
        self.outcome = Some(Box::new(outcome));
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.news.send(News::Over(self.number, self.outcome.take()));
    }
}

#[expect(clippy::disallowed_types, reason = "as above")]
async fn receive_transfer(
    store: &Arc<Store>,
    receiving: ReceiveOptions,
    association: Arc<Association>,
    greeting: Greeting,
    display: &Arc<Display>,
) -> Outcome {
    let watcher = display.start_bars(association.clone());
    let start = Instant::now();
    let result = transfer::receive(&association, greeting, store, receiving, &**display).await;
    let time = start.elapsed();
    display.finish_bars(watcher);
    let (travelled, paths) = (display.bytes_travelled(), association.paths());
    let limits = LimitShare::between(&LimitStats::default(), &association.limits(), &paths);
    let peer = peer_fingerprint(&association);
    Outcome { role: Role::Receive, peer, result, travelled, time, paths, limits }
}
