//! `polypath receive`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "a transfer takes the user's time")]
use std::time::Instant;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use polypath_apps::perf::LimitShare;
use polypath_apps::place::{self, PlaceError};
use polypath_apps::transfer::places::{Hall, Places};
use polypath_apps::transfer::{self, Greeting, ReceiveOptions, Store, StoreOptions, TransferError};
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
/// Of one address.
const SHARE: usize = 4;
/// Associations at the same time that have not greeted, at most.
const WAITING: usize = 32;
/// How long they may take to.
const GREETING: Duration = Duration::from_secs(10);
/// Who does nothing for so long gives way to another sender.
const IDLE: Duration = Duration::from_secs(10);
/// How often is looked who does nothing.
const TICK: Duration = Duration::from_secs(1);
/// Strangers whose trouble is told, at most.
const STRANGERS: u32 = 20;

pub(crate) fn receive(args: &ReceiveArgs) -> Result<(), Failure> {
    let capture = super::capture(&args.common)?;
    let done = super::runtime()?.block_on(serve(args, capture.clone()));
    done.and(super::finish(capture))
}

async fn serve(args: &ReceiveArgs, capture: Option<Capture>) -> Result<(), Failure> {
    let descriptors = descriptors();
    let endpoint = listen(args, capture)?;
    let folder = folder(args)?;
    let options = StoreOptions {
        folder: folder.clone(),
        overwrite: args.overwrite,
        hidden: args.hidden,
        quota: args.quota.map(|size| size.0),
        open_files: transfer::open_files(descriptors, SENDERS),
    };
    let store = Store::open(options).map_err(|error| Failure::with(LOCAL, error))?;
    announce(args, &endpoint, &folder);
    let (news, mut heard) = mpsc::unbounded_channel();
    let mut server = Server::new(args, store, news)?;
    let end = server.run(&endpoint, &mut heard).await;
    drop(server);
    if args.dir.is_none() {
        transfer::discard_unused(&folder);
    }
    end
}

/// Descriptors that this process may have, as many as the system grants.
fn descriptors() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 256 };
    if setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_ok() { hard } else { soft }
}

/// Where files go: never among others unless the user names the place.
fn folder(args: &ReceiveArgs) -> Result<PathBuf, Failure> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    for n in 1..10_000 {
        let name = match n {
            1 => "polypath-received".to_owned(),
            n => format!("polypath-received-{n}"),
        };
        match std::fs::create_dir(&name) {
            Ok(()) => return Ok(name.into()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::with(LOCAL, format!("folder {name}: {error}"))),
        }
    }
    Err(Failure::with(LOCAL, "too many folders polypath-received-N here: name one with --dir"))
}

fn listen(args: &ReceiveArgs, capture: Option<Capture>) -> Result<Endpoint, Failure> {
    let (addresses, udp) = place::listen(&args.listen).map_err(|error| match error {
        PlaceError::Interfaces(_) => Failure::with(LOCAL, error),
        _ => Failure::input(error),
    })?;
    let endpoint = Endpoint::bind(Config {
        encapsulation: Encapsulation::Udp(udp),
        // Those that wait are sent away above this; some are on their way out.
        max_associations: 2 * (SENDERS + WAITING),
        assoc: super::stack(&args.common)?,
        capture,
        ..Config::server(addresses, args.common.port)
    });
    endpoint.map_err(super::bind_failure)
}

fn announce(args: &ReceiveArgs, endpoint: &Endpoint, folder: &Path) {
    super::warn(endpoint, args.common.quiet);
    if !args.common.quiet {
        let at: Vec<_> = endpoint.local_addresses().iter().map(ToString::to_string).collect();
        eprintln!("receiving at {} into {}", at.join(" and "), folder.display());
        eprintln!(
            "It is not encrypted: whoever sees the packets can read the files, and anybody can send some."
        );
    }
}

/// What the server hears of its associations, by their numbers.
enum News {
    Greeted(u64, Result<Greeting, TransferError>),
    /// `None`: its thread failed.
    Over(u64, Option<Box<Outcome>>),
}

struct Server<'a> {
    args: &'a ReceiveArgs,
    store: Arc<Store>,
    receiving: ReceiveOptions,
    news: mpsc::UnboundedSender<News>,
    count: u64,
    hall: Hall,
    waiting: BTreeMap<u64, Arc<Association>>,
    places: Places,
    senders: BTreeMap<u64, (Arc<Association>, Arc<Display>)>,
    strangers: u32,
}

type Heard = mpsc::UnboundedReceiver<News>;

impl<'a> Server<'a> {
    fn new(
        args: &'a ReceiveArgs,
        store: Arc<Store>,
        news: mpsc::UnboundedSender<News>,
    ) -> Result<Self, Failure> {
        let buffer = super::stack(&args.common)?.receive_buffer.into();
        Ok(Self {
            args,
            store,
            receiving: ReceiveOptions { silence: args.common.silence(), buffer },
            news,
            count: 0,
            hall: Hall::new(WAITING),
            waiting: BTreeMap::new(),
            places: Places::new(SENDERS, SHARE, IDLE),
            senders: BTreeMap::new(),
            strangers: 0,
        })
    }

    async fn run(&mut self, endpoint: &Endpoint, heard: &mut Heard) -> Result<(), Failure> {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                accepted = endpoint.accept() => {
                    let Some(association) = accepted else { return Ok(()) };
                    self.welcome(Arc::new(association));
                }
                Some(news) = heard.recv() => match news {
                    News::Greeted(number, greeting) => self.greeted(number, greeting),
                    News::Over(number, outcome) => {
                        self.places.leave(number);
                        self.senders.remove(&number);
                        let last = outcome.map_or(Ok(None), |outcome| conclude(self.args, &outcome))?;
                        if let Some(end) = last {
                            return end;
                        }
                    }
                },
                _ = tick.tick() => {
                    let steps = |number| self.senders.get(&number).map_or(0, |(_, d)| d.steps());
                    self.places.pass(TICK, steps);
                }
                () = interrupt::interrupted() => return Err(self.interrupted(heard).await),
            }
        }
    }

    /// Gives somebody the time to greet.
    fn welcome(&mut self, association: Arc<Association>) {
        self.count += 1;
        let number = self.count;
        if let Some(one) = self.hall.enter(number, address(&association)) {
            self.send_away(one, "too many do not greet");
        }
        self.waiting.insert(number, association.clone());
        let news = self.news.clone();
        tokio::spawn(async move {
            let greeting = transfer::greeting(&association, GREETING).await;
            let _ = news.send(News::Greeted(number, greeting));
        });
    }

    fn send_away(&mut self, number: u64, why: &'static str) {
        if let Some(association) = self.waiting.remove(&number) {
            association.abort(why);
        }
        if let Some((association, _)) = self.senders.get(&number) {
            association.abort(why);
        }
    }

    fn greeted(&mut self, number: u64, greeting: Result<Greeting, TransferError>) {
        self.hall.leave(number);
        let Some(association) = self.waiting.remove(&number) else { return };
        let address = address(&association);
        let begun = match greeting {
            Err(error) => Err(error.to_string()),
            Ok(greeting) => match self.places.take(number, address) {
                Err(none) => {
                    association.abort(none.to_string());
                    Err(none.to_string())
                }
                Ok(idle) => {
                    if let Some(idle) = idle {
                        self.send_away(idle, "nothing came for long, and another sender waits");
                    }
                    self.begin(number, association, greeting)
                }
            },
        };
        if let Err(text) = begun {
            self.tell_of_stranger(address, &text);
        }
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

    /// Receives on a thread of its own: disks are waited for, and several may send at the same time.
    fn begin(
        &mut self,
        number: u64,
        association: Arc<Association>,
        greeting: Greeting,
    ) -> Result<(), String> {
        let quiet = self.args.common.quiet;
        // Bars of several senders at once would be mixed up.
        let bars = !quiet && !self.args.common.json && self.args.once;
        let display = Display::new(Role::Receive, quiet, bars);
        let from = association.paths().first().map(|path| path.stats.remote.to_string());
        display.say(&format!("a sender at {}", from.unwrap_or_default()));
        self.senders.insert(number, (association.clone(), display.clone()));
        let mut farewell = Farewell { number, news: self.news.clone(), outcome: None };
        let (store, receiving) = (self.store.clone(), self.receiving);
        let ended = association.clone();
        let runtime = super::runtime().map_err(|failure| failure.message().to_owned());
        let started = runtime.and_then(|runtime| {
            let work = move || {
                let one = one(&store, receiving, association, greeting, &display);
                farewell.set(runtime.block_on(one));
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
    async fn interrupted(&self, heard: &mut Heard) -> Failure {
        let goodbyes = async {
            for (association, _) in self.senders.values() {
                super::give_up(association).await;
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
        Failure::with(INTERRUPTED, text)
    }
}

fn address(association: &Association) -> IpAddr {
    let nowhere = IpAddr::from([0, 0, 0, 0]);
    association.paths().first().map_or(nowhere, |path| path.stats.remote.ip())
}

/// Tells the server that a thread is done, however it ends.
struct Farewell {
    number: u64,
    news: mpsc::UnboundedSender<News>,
    outcome: Option<Box<Outcome>>,
}

impl Farewell {
    fn set(&mut self, outcome: Outcome) {
        self.outcome = Some(Box::new(outcome));
    }
}

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.news.send(News::Over(self.number, self.outcome.take()));
    }
}

#[expect(clippy::disallowed_types, reason = "as above")]
async fn one(
    store: &Arc<Store>,
    receiving: ReceiveOptions,
    association: Arc<Association>,
    greeting: Greeting,
    display: &Arc<Display>,
) -> Outcome {
    let watcher = display.follow(association.clone());
    let start = Instant::now();
    let result = transfer::receive(&association, greeting, store, receiving, &**display).await;
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
    // Who connects and transfers nothing is not whom one waits for.
    if args.once && outcome.was_a_transfer() {
        return Ok(Some(failure.map_or(Ok(()), Err)));
    }
    if let Some(failure) = failure {
        eprintln!("polypath: {}", failure.message());
    }
    Ok(None)
}
