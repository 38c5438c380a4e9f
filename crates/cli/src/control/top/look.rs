//! Looks at processes, by threads of their own: who does not answer holds nothing up.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use polypath_control::message::{EventLine, Sections, Status, Use};
use polypath_control::{Client, folder};

/// Time between looks.
const EVERY: Duration = Duration::from_millis(200);

/// Time between looks for processes that are new.
const SEARCH: Duration = Duration::from_millis(500);

/// Processes that are looked at, at most.
const MOST: usize = 64;

/// What was seen.
#[derive(Debug)]
pub(super) enum News {
    /// How things are in the process with this socket.
    Status(PathBuf, Status),
    /// Something happened in the process with this number.
    Event(u32, EventLine),
    /// It is gone, or answers no more.
    Gone(u32),
}

/// Whom to look at.
#[derive(Debug)]
pub(super) enum Source {
    /// Those with these sockets.
    These(Vec<PathBuf>),
    /// All whose sockets are in this folder, also those that come later.
    All(PathBuf),
}

impl Source {
    pub(super) const fn these(sockets: Vec<PathBuf>) -> Self {
        Self::These(sockets)
    }

    pub(super) const fn all(folder: PathBuf) -> Self {
        Self::All(folder)
    }

    /// Begins to look.
    pub(super) fn watch(self) -> Receiver<News> {
        let (news, told) = channel();
        thread::spawn(move || match self {
            Self::These(sockets) => sockets.into_iter().for_each(|s| drop(follow(s, &news))),
            Self::All(folder) => search(&folder, &news),
        });
        told
    }
}

/// Looks at processes as they come.
fn search(folder: &std::path::Path, news: &Sender<News>) {
    let known: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
    let lock = || known.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        for socket in folder::sockets(folder) {
            if lock().len() < MOST && lock().insert(socket.clone()) {
                let (news, known, path) = (news.clone(), known.clone(), socket.clone());
                thread::spawn(move || {
                    if let Some(looking) = follow(socket, &news) {
                        let _ended = looking.join();
                    }
                    known.lock().unwrap_or_else(PoisonError::into_inner).remove(&path);
                });
            }
        }
        thread::sleep(SEARCH);
    }
}

/// Looks at a process until it is gone or nobody wants to know any more.
fn follow(socket: PathBuf, news: &Sender<News>) -> Option<thread::JoinHandle<()>> {
    let mut client = Client::connect(&socket).ok()?;
    let first = client.look(Sections::Status, None).ok()?;
    let pid = first.process.pid;
    let (events, listener) = (news.clone(), socket.clone());
    thread::spawn(move || {
        let Ok(mut stream) = Client::connect(&listener).and_then(Client::events) else { return };
        while let Ok(Some(event)) = stream.next_event() {
            if events.send(News::Event(pid, event)).is_err() {
                return;
            }
        }
    });
    let news = news.clone();
    Some(thread::spawn(move || {
        let mut seen = Ok(first);
        while let Ok(status) = seen {
            if news.send(News::Status(socket.clone(), status)).is_err() {
                return;
            }
            thread::sleep(EVERY);
            seen = client.look(Sections::Status, None);
        }
        let _nobody_looks = news.send(News::Gone(pid));
    }))
}

/// Says what a path may be used for; what became of it, in words.
pub(super) fn set_path(socket: &std::path::Path, path: &str, to: Use, association: u64) -> String {
    let asked = Client::connect(socket).and_then(|mut c| c.set_path(path, to, Some(association)));
    match asked {
        Ok(_) => format!("{path}: {}", words(to)),
        Err(error) => error.to_string(),
    }
}

pub(super) const fn words(to: Use) -> &'static str {
    match to {
        Use::On => "on",
        Use::Backup => "backup",
        Use::Off => "off",
    }
}
