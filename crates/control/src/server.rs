//! The socket of a process, and the thread behind it.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use polypath_net::Observer;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::message::Process;
use crate::session::{Desk, serve};

/// Those who are connected at the same time, at most.
const SESSIONS: usize = 16;

/// A socket on which this process tells what its associations do, as long as this lives. A thread
/// of its own serves it.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A control socket that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A process answers there already.
    #[error("{}: another process has it", .0.display())]
    Taken(PathBuf),
    /// It cannot be made.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl Control {
    /// Opens a socket at `path`, which its user alone may use, for what `observer` sees. `command`
    /// says what this process is.
    ///
    /// # Errors
    /// When another process has it, or it cannot be made.
    pub fn open(path: &Path, observer: Observer, command: &str) -> Result<Self, ControlError> {
        let failed = |error| ControlError::Io { path: path.to_owned(), error };
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(ControlError::Taken(path.to_owned()));
        }
        let listener = bind(path).map_err(failed)?;
        let desk = Arc::new(Desk::new(observer, own_process(command)));
        let (stop, stopped) = oneshot::channel();
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let work = move || {
            runtime.block_on(async {
                let Ok(listener) = UnixListener::from_std(listener) else { return };
                tokio::select! {
                    () = accept(&listener, &desk) => {}
                    _ = stopped => {}
                }
            });
        };
        let named = std::thread::Builder::new().name("control".to_owned());
        let thread = named.spawn(work).map_err(failed)?;
        Ok(Self { path: path.to_owned(), stop: Some(stop), thread: Some(thread) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It has no state that a panic could spoil.
            let _panicked = thread.join();
        }
        let _gone_already = std::fs::remove_file(&self.path);
    }
}

/// A listener that appears at `path` with its rights set.
fn bind(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    let mut first = path.as_os_str().to_owned();
    first.push(".new");
    let first = PathBuf::from(first);
    match std::fs::remove_file(&first) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = std::os::unix::net::UnixListener::bind(&first)?;
    std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    std::fs::rename(&first, path)?;
    Ok(listener)
}

async fn accept(listener: &UnixListener, desk: &Arc<Desk>) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if sessions.len() < SESSIONS => match accepted {
                Ok((stream, _)) if is_our_user(&stream) => {
                    sessions.spawn(serve(stream, desk.clone()));
                }
                Ok(_) => {}
                // Without descriptors one tries again.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = sessions.join_next() => {}
        }
    }
}

/// Files say who may connect; the kernel says who did.
fn is_our_user(stream: &UnixStream) -> bool {
    let own = nix::unistd::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

fn own_process(command: &str) -> impl Fn() -> Process + Send + Sync + use<> {
    let (command, opened) = (command.to_owned(), Instant::now());
    move || Process {
        pid: std::process::id(),
        command: command.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime: opened.elapsed().as_secs_f64(),
    }
}
