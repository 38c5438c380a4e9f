//! The process that has the association, and its Unix socket.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::words::{Answer, Ask, hear, say};
use crate::forward::channel::OpenError;
use crate::forward::client::{Client, Remote};
use crate::forward::frame::Destination;
use crate::forward::mux::Incoming;
use crate::forward::relay::Local;
use crate::forward::spec::DynamicSpec;
use crate::same_user::is_same_user;

/// Guests' connections at a time.
const GUESTS: usize = 1000;
/// How long a guest may take to ask.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections of listeners that guests have not taken, at most.
const UNTAKEN: usize = 256;

/// The socket, as long as this process has it.
#[derive(Debug)]
pub struct Lobby {
    listener: UnixListener,
    path: PathBuf,
    /// Held by one process at a time, whatever becomes of it.
    _lock: Flock<File>,
}

impl Drop for Lobby {
    fn drop(&mut self) {
        let _gone_already = std::fs::remove_file(&self.path);
    }
}

/// Connections that wait for the guest that asked for their listener.
#[derive(Debug, Default)]
struct Untaken {
    next: AtomicU64,
    waiting: Mutex<BTreeMap<u64, Incoming>>,
}

impl Lobby {
    /// Opens the lobby at `path`, in a folder that is its user's alone; `None` when another process
    /// has it.
    ///
    /// # Errors
    /// When the files cannot be made.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.with_extension("lock"))?;
        let lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => lock,
            Err((_, nix::Error::EWOULDBLOCK)) => return Ok(None),
            Err((_, error)) => return Err(error.into()),
        };
        // Whoever left it is gone, or would have the lock.
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Some(Self { listener, path: path.to_owned(), _lock: lock }))
    }

    /// Whether a process has the lobby at `path`.
    pub fn is_open(path: &Path) -> bool {
        let Ok(file) = File::open(path.with_extension("lock")) else { return false };
        match Flock::lock(file, FlockArg::LockSharedNonblock) {
            Ok(lock) => {
                drop(lock);
                false
            }
            Err((_, error)) => error == nix::Error::EWOULDBLOCK,
        }
    }

    /// Serves guests by `client`; never ends.
    pub async fn serve(&self, client: &Arc<Client>) {
        let untaken = Arc::<Untaken>::default();
        let mut guests = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if guests.len() < GUESTS => match accepted {
                    Ok((stream, _)) if is_same_user(&stream) => {
                        guests.spawn(serve_guest(stream, client.clone(), untaken.clone()));
                    }
                    Ok(_) => {}
                    // Without descriptors one tries again.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
                Some(_) = guests.join_next() => {}
            }
        }
    }
}

async fn serve_guest(mut stream: UnixStream, client: Arc<Client>, untaken: Arc<Untaken>) {
    // A guest that is gone, or no guest at all, needs no answer.
    let Ok(Ok(Some(ask))) = tokio::time::timeout(PATIENCE, hear(&mut stream)).await else { return };
    let _gone = match ask {
        Ask::Open(target) => open(stream, &target, &client).await,
        Ask::Listen(at) => listen(stream, &at, &client, &untaken).await,
        Ask::Take(number) => take(stream, number, &untaken).await,
    };
}

async fn open(mut stream: UnixStream, target: &str, client: &Client) -> io::Result<()> {
    let target = target.parse().map_err(io::Error::other)?;
    match client.open(&Destination::Place(target)).await {
        Ok(channel) => {
            say(&mut stream, &Answer::Opened).await?;
            let _ended = Local::from(stream).relay(channel).await;
            Ok(())
        }
        Err(OpenError::Refused(why)) => say(&mut stream, &Answer::Refused(why.code())).await,
        Err(OpenError::Lost) => say(&mut stream, &Answer::Lost).await,
    }
}

async fn listen(
    mut stream: UnixStream,
    at: &str,
    client: &Client,
    untaken: &Untaken,
) -> io::Result<()> {
    let at = at.parse::<DynamicSpec>().map_err(io::Error::other)?.listen;
    let (taker, mut taken) = mpsc::unbounded_channel();
    let (told, mut news) = mpsc::unbounded_channel();
    let id = client.listen_for(at, taker, told);
    let mut numbers = Vec::new();
    let ended = loop {
        let said = tokio::select! {
            Some(remote) = news.recv() => match remote {
                Remote::Listening(_, port) => say(&mut stream, &Answer::Listening(port)).await,
                Remote::Refused(_, why) => say(&mut stream, &Answer::Refused(why.code())).await,
            },
            Some(one) = taken.recv() => match untaken.put(one) {
                Some(number) => {
                    numbers.push(number);
                    say(&mut stream, &Answer::Incoming(number)).await
                }
                None => Ok(()),
            },
            gone = hear::<Ask>(&mut stream) => break gone.map(drop),
        };
        if let Err(error) = said {
            break Err(error);
        }
    };
    client.unlisten(id);
    numbers.into_iter().for_each(|number| drop(untaken.remove(number)));
    ended
}

async fn take(mut stream: UnixStream, number: u64, untaken: &Untaken) -> io::Result<()> {
    let Some(one) = untaken.remove(number) else { return say(&mut stream, &Answer::Lost).await };
    let Ok(channel) = one.accept().await else { return say(&mut stream, &Answer::Lost).await };
    say(&mut stream, &Answer::Opened).await?;
    let _ended = Local::from(stream).relay(channel).await;
    Ok(())
}

impl Untaken {
    /// Keeps a connection; too many are broken off.
    fn put(&self, one: Incoming) -> Option<u64> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= UNTAKEN {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        waiting.insert(number, one);
        Some(number)
    }

    fn remove(&self, number: u64) -> Option<Incoming> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }
}
