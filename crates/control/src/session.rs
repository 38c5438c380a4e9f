//! One who is connected: requests in, answers out.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use polypath_net::{Observer, PathId, PathState, Snapshot};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::time::MissedTickBehavior;

use crate::describe::{describe, describe_event, tell_unanswered};
use crate::message::{
    Answer, LONGEST_REQUEST, Line, MOST, Process, Request, Sections, Status, Use, VERSION, Which,
};
use crate::words;

/// Who asks nothing for so long makes room for others.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who takes nothing for so long is left.
const SLOWEST: Duration = Duration::from_secs(5);

/// How often a listener is told that nothing happened.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// How often is looked, for a listener, whether paths answer; and at how many associations at a
/// time.
const WATCH: Duration = Duration::from_millis(100);
const WATCHED: usize = 32;

/// After an answer nothing is done for so many times what it took: associations are locked while
/// they are looked at, and nobody shall have them locked all the time by asking.
const REST: u32 = 4;

/// For so long associations are looked at without a rest.
const TURN: Duration = Duration::from_millis(2);

/// What all sessions share.
pub(crate) struct Desk {
    observer: Observer,
    process: Box<dyn Fn() -> Process + Send + Sync>,
    /// When the next look at the associations may begin.
    next_look: Mutex<Instant>,
}

impl Desk {
    pub(crate) fn new(
        observer: Observer,
        process: impl Fn() -> Process + Send + Sync + 'static,
    ) -> Self {
        Self { observer, process: Box::new(process), next_look: Mutex::new(Instant::now()) }
    }

    /// Waits for its turn, and looks: `look` is called again and again until it has seen enough,
    /// with rests in between where that takes long.
    async fn in_turn<T>(&self, mut look: impl FnMut() -> Option<T>) -> Vec<T> {
        let mut seen = Vec::new();
        loop {
            let turn = *self.next_look.lock().unwrap_or_else(PoisonError::into_inner);
            tokio::time::sleep_until(turn.into()).await;
            let begun = Instant::now();
            let (enough, ended) = loop {
                let one = look();
                let (enough, now) = (one.is_none(), Instant::now());
                seen.extend(one);
                if enough || now.duration_since(begun) > TURN {
                    break (enough, now);
                }
            };
            let mut next = self.next_look.lock().unwrap_or_else(PoisonError::into_inner);
            *next = (*next).max(ended) + ended.duration_since(begun) * REST;
            if enough {
                return seen;
            }
        }
    }

    /// Likewise, for one look.
    async fn look_once<T>(&self, look: impl FnOnce() -> T) -> Option<T> {
        let mut look = Some(look);
        self.in_turn(|| Some(look.take()?())).await.pop()
    }
}

/// Serves one who is connected, until he goes, says what cannot be understood, or does not listen.
pub(crate) async fn serve(mut stream: UnixStream, desk: std::sync::Arc<Desk>) {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::with_capacity(LONGEST_REQUEST, reader);
    while let Ok(Ok(Some(line))) = tokio::time::timeout(PATIENCE, next_line(&mut reader)).await {
        let answer = match parse(&line) {
            Ok(Request::Events) => {
                let _gone = tell_events(&mut reader, &mut writer, &desk).await;
                return;
            }
            Ok(request) => answer(request, &desk).await,
            Err(error) => Answer::Error(error),
        };
        if say(&mut writer, &answer).await.is_err() {
            return;
        }
    }
}

/// The next line; `None` at the end. What is too long ends the session.
async fn next_line(reader: &mut BufReader<ReadHalf<'_>>) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let most = LONGEST_REQUEST as u64 + 1;
    let read = reader.take(most).read_until(b'\n', &mut line).await?;
    match line.pop() {
        Some(b'\n') => Ok(Some(line)),
        _ if read == 0 => Ok(None),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

fn parse(line: &[u8]) -> Result<Request, String> {
    let line: Line<Request> =
        serde_json::from_slice(line).map_err(|error| format!("not a request: {error}"))?;
    match line.polypath {
        VERSION => Ok(line.word),
        other => Err(format!("polypath: version {other} is not known (allowed: {VERSION})")),
    }
}

async fn answer(request: Request, desk: &Desk) -> Answer {
    match request {
        Request::Status(which) => status(desk, which, Sections::Status).await,
        Request::Paths(which) => status(desk, which, Sections::Paths).await,
        Request::Streams(which) => status(desk, which, Sections::Streams).await,
        Request::Limits(which) => status(desk, which, Sections::Limits).await,
        Request::SetPath { path, to, association } => {
            let set = || set_path(&desk.observer, &path, to, association);
            desk.look_once(set).await.unwrap_or(Answer::Done(0))
        }
        Request::Events => Answer::Error("events: asked for already".to_owned()),
    }
}

async fn status(desk: &Desk, which: Which, sections: Sections) -> Answer {
    let mut numbers = chosen(&desk.observer, which.association);
    numbers.retain(|number| which.after.is_none_or(|after| *number > after));
    let more = numbers.len().saturating_sub(MOST);
    numbers.truncate(MOST);
    let mut numbers = numbers.into_iter();
    let look = || {
        // Some may be over by now.
        numbers.find_map(|number| describe(&desk.observer.snapshot(number)?, sections))
    };
    let associations = desk.in_turn(look).await;
    let process = (desk.process)();
    Answer::Status(Box::new(Status { process, associations, more }))
}

fn chosen(observer: &Observer, association: Option<u64>) -> Vec<u64> {
    let mut numbers = observer.associations();
    numbers.retain(|number| association.is_none_or(|wanted| *number == wanted));
    numbers
}

fn set_path(observer: &Observer, path: &str, to: Use, association: Option<u64>) -> Answer {
    let seen = chosen(observer, association).into_iter().filter_map(|n| observer.snapshot(n));
    let mut done = 0;
    let mut known: Vec<String> = Vec::new();
    for seen in seen {
        let names = words::name_paths(&seen.paths);
        for found in paths_called(path, &seen, &names) {
            done += usize::from(observer.set_path_admin(seen.number, found, to.into()));
        }
        known.extend(names);
    }
    if done > 0 {
        return Answer::Done(done);
    }
    known.sort();
    known.dedup();
    known.truncate(16);
    Answer::Error(match known.is_empty() {
        true => format!("path: there is no association with a path {path:?}"),
        false => format!("path: there is none {path:?} (allowed: {})", known.join(", ")),
    })
}

fn paths_called(path: &str, seen: &Snapshot, names: &[String]) -> Vec<PathId> {
    let is_called = |(info, name): &(&polypath_net::PathInfo, &String)| {
        let stats = &info.stats;
        let called = path == name.as_str()
            || info.device.as_deref() == Some(path)
            || path.parse().is_ok_and(|address: std::net::IpAddr| address == stats.local.ip())
            || path.parse() == Ok(stats.path.0);
        called && stats.state != PathState::Removed
    };
    seen.paths.iter().zip(names).filter(is_called).map(|(info, _)| info.stats.path).collect()
}

/// Tells what happens until the listener goes, or does not take it.
async fn tell_events(
    reader: &mut BufReader<ReadHalf<'_>>,
    writer: &mut WriteHalf<'_>,
    desk: &Desk,
) -> io::Result<()> {
    let mut events = desk.observer.events();
    // The first sign of life says that all that happens from now on will be told.
    writer.write_all(b"\n").await?;
    let mut gone = [0];
    let (mut unanswered, mut watched) = (BTreeSet::new(), 0);
    let mut watch = tokio::time::interval(WATCH);
    watch.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut quiet = tokio::time::Instant::now();
    loop {
        tokio::select! {
            observed = events.next() => {
                let Some(observed) = observed else { return Ok(()) };
                let number = observed.association;
                let look = || describe_event(&observed, desk.observer.snapshot(number).as_ref());
                if let Some(line) = desk.look_once(look).await {
                    say(writer, &Answer::Event(line)).await?;
                    quiet = tokio::time::Instant::now();
                }
            }
            _ = watch.tick() => {
                // In turn, so that each is looked at however many there are.
                let mut all = desk.observer.associations();
                let next = all.partition_point(|number| *number <= watched);
                all.rotate_left(next);
                all.truncate(WATCHED);
                watched = all.last().copied().unwrap_or_default();
                let mut numbers = all.into_iter();
                let look = || numbers.find_map(|number| desk.observer.snapshot(number));
                for seen in desk.in_turn(look).await {
                    for line in tell_unanswered(&seen, &mut unanswered) {
                        say(writer, &Answer::Event(line)).await?;
                        quiet = tokio::time::Instant::now();
                    }
                }
            }
            read = reader.read(&mut gone) => {
                // A listener has nothing more to say.
                let _ended = read?;
                return Ok(());
            }
            () = tokio::time::sleep_until(quiet + SIGN_OF_LIFE) => {
                send(writer, b"\n").await?;
                quiet = tokio::time::Instant::now();
            }
        }
    }
}

async fn say(writer: &mut WriteHalf<'_>, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(&Line::from(answer)).map_err(io::Error::other)?;
    line.push(b'\n');
    send(writer, &line).await
}

async fn send(writer: &mut WriteHalf<'_>, line: &[u8]) -> io::Result<()> {
    tokio::time::timeout(SLOWEST, writer.write_all(line))
        .await
        .map_err(|_| io::ErrorKind::TimedOut)?
}
