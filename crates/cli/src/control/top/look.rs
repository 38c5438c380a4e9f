//! Looks at processes, by threads of their own: who does not answer holds nothing up.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use polypath_control::client::AskError;
use polypath_control::message::{EventLine, Sections, Status, Use};
use polypath_control::{Client, folder};

use super::model::{ChosenPath, Model};

/// Time between looks.
const EVERY: Duration = Duration::from_millis(200);

/// Time between looks for processes that are new, and for those that do not answer.
const SEARCH: Duration = Duration::from_millis(500);

/// Processes that are looked at, at most.
const MOST: usize = 64;

/// What was seen and not drawn yet, at most; then those who look wait.
const QUEUE: usize = 256;

/// What was seen.
#[derive(Debug)]
enum News {
    /// How things are in the process with this socket, as it told at this time.
    Status(Instant, PathBuf, Box<Status>),
    /// Something happened in the process with this number.
    Event(u32, EventLine),
    /// This one is gone.
    Gone(u32),
    /// What became of a request, or why a process is not seen.
    Message(String),
    /// One of those who were named is looked at no more.
    Ended,
}

/// Whom to look at.
#[derive(Debug)]
pub(super) enum Source {
    /// Those with these sockets.
    These(Vec<PathBuf>),
    /// All whose sockets are in this folder, also those that come later.
    All(PathBuf),
}

/// Those who look, until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    told: Receiver<News>,
    news: SyncSender<News>,
    /// How many of those who were named are still looked at.
    named: Option<usize>,
}

impl Source {
    /// Begins to look.
    pub(super) fn watch(self) -> Watch {
        let (news, told) = sync_channel(QUEUE);
        let teller = news.clone();
        let named = match self {
            Self::These(sockets) => {
                let count = sockets.len();
                for socket in sockets {
                    let news = teller.clone();
                    thread::spawn(move || {
                        follow(&socket, &news);
                        let _nobody_looks = news.send(News::Ended);
                    });
                }
                Some(count)
            }
            Self::All(folder) => {
                thread::spawn(move || search(&folder, &teller));
                None
            }
        };
        Watch { told, news, named }
    }
}

impl Watch {
    /// Takes what was seen; whether there may be more.
    pub(super) fn tell(&mut self, model: &mut Model) -> bool {
        // No more than one queue of it: the picture is drawn between.
        for _ in 0..QUEUE {
            match self.told.try_recv() {
                Ok(News::Status(at, socket, status)) => model.note_status(at, socket, *status),
                Ok(News::Event(pid, event)) => model.note_event(pid, event),
                Ok(News::Gone(pid)) => model.note_gone(pid),
                Ok(News::Message(text)) => model.message = text,
                Ok(News::Ended) => self.named = self.named.map(|left| left.saturating_sub(1)),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        self.named != Some(0)
    }

    /// Says what a path may be used for; what became of it is news.
    pub(super) fn set_path(&self, socket: PathBuf, path: ChosenPath, to: Use) {
        let news = self.news.clone();
        thread::spawn(move || {
            let number = path.path.to_string();
            let ask = |mut c: Client| c.set_path(&number, to, Some(path.association));
            let text = match Client::connect(&socket).and_then(ask) {
                Ok(_) => format!("{}: {}", path.name, to.word()),
                Err(error) => error.to_string(),
            };
            let _nobody_looks = news.send(News::Message(text));
        });
    }
}

/// Looks at processes as they come.
fn search(folder: &Path, news: &SyncSender<News>) {
    let known: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
    loop {
        for socket in folder::sockets(folder) {
            let mut all = known.lock().unwrap_or_else(PoisonError::into_inner);
            if all.len() < MOST && all.insert(socket.clone()) {
                let (news, known) = (news.clone(), known.clone());
                thread::spawn(move || {
                    follow(&socket, &news);
                    known.lock().unwrap_or_else(PoisonError::into_inner).remove(&socket);
                });
            }
        }
        thread::sleep(SEARCH);
    }
}

/// Looks at a process until it is gone or nobody wants to know any more.
fn follow(socket: &Path, news: &SyncSender<News>) {
    let mut client = None;
    let mut known: Option<(u32, Arc<AtomicBool>)> = None;
    loop {
        match look(socket, &mut client) {
            Ok(status) => {
                let pid = status.process.pid;
                if known.as_ref().is_none_or(|(other, _)| *other != pid) {
                    forget(known.take(), news);
                    known = Some((pid, listen(socket, pid, news)));
                }
                let seen = News::Status(Instant::now(), socket.to_owned(), Box::new(status));
                if news.send(seen).is_err() {
                    return forget(known, news);
                }
                thread::sleep(EVERY);
            }
            Err(error) if error.is_gone() => return forget(known, news),
            // It may have dropped us because we were stopped, or be stopped itself.
            Err(error) => {
                client = None;
                if news.send(News::Message(error.to_string())).is_err() {
                    return forget(known, news);
                }
                thread::sleep(SEARCH);
            }
        }
    }
}

fn forget(known: Option<(u32, Arc<AtomicBool>)>, news: &SyncSender<News>) {
    if let Some((pid, listening)) = known {
        listening.store(false, Ordering::Relaxed);
        let _nobody_looks = news.send(News::Gone(pid));
    }
}

fn look(socket: &Path, client: &mut Option<Client>) -> Result<Status, AskError> {
    let client = match client {
        Some(client) => client,
        None => client.insert(Client::connect(socket)?),
    };
    client.look(Sections::Status, None)
}

/// Listens to what happens in a process, until told otherwise.
fn listen(socket: &Path, pid: u32, news: &SyncSender<News>) -> Arc<AtomicBool> {
    let listening = Arc::new(AtomicBool::new(true));
    let (go_on, socket, news) = (listening.clone(), socket.to_owned(), news.clone());
    thread::spawn(move || {
        while go_on.load(Ordering::Relaxed) {
            if let Ok(mut stream) = Client::connect(&socket).and_then(Client::events) {
                while let Ok(Some(event)) = stream.next_event() {
                    if !go_on.load(Ordering::Relaxed) || news.send(News::Event(pid, event)).is_err()
                    {
                        return;
                    }
                }
            }
            thread::sleep(SEARCH);
        }
    });
    listening
}
