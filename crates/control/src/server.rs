//! The socket of a process, and the thread behind it.

use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use polypath_apps::runtime::build_runtime;
use polypath_apps::same_user::is_same_user;
use polypath_net::Observer;
use tokio::net::UnixListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::client::{Client, is_socket};
use crate::message::Process;
use crate::session::{Desk, serve};

/// Those who are connected at the same time, at most.
const SESSIONS: usize = 16;

/// A socket on which this process tells what its associations do, as long as this lives. A thread
/// of its own serves it.
#[derive(Debug)]
pub struct Control {
    path: PathBuf,
    /// Device and inode of the socket, for the name may be another's by now.
    file: (u64, u64),
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A control socket that cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlError {
    /// A process answers there already, or something else is there than a socket.
    #[error("{}: is there already (allowed: a name that is free)", .0.display())]
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
        match Client::connect(path) {
            Err(error) if error.is_left_behind() => std::fs::remove_file(path).map_err(failed)?,
            Err(error) if error.is_nothing() => {}
            _ => return Err(ControlError::Taken(path.to_owned())),
        }
        let listener = bind(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => ControlError::Taken(path.to_owned()),
            _ => failed(error),
        })?;
        let file = identity(path).map_err(failed)?;
        let desk = Arc::new(Desk::new(observer, own_process(command)));
        let (stop, stopped) = oneshot::channel();
        let runtime = build_runtime().map_err(failed)?;
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
        Ok(Self { path: path.to_owned(), file, stop: Some(stop), thread: Some(thread) })
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
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _gone_already = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

/// A listener that appears at `path` with its rights set, where nothing is yet.
fn bind(path: &Path) -> io::Result<std::os::unix::net::UnixListener> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let first = format!(".{}.{}", name.to_string_lossy(), std::process::id());
    let first = path.with_file_name(first);
    if is_socket(&first) {
        std::fs::remove_file(&first)?;
    }
    let listener = std::os::unix::net::UnixListener::bind(&first)?;
    let ready = std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o600))
        .and_then(|()| listener.set_nonblocking(true))
        // Unlike renaming, this replaces nothing.
        .and_then(|()| std::fs::hard_link(&first, path));
    std::fs::remove_file(&first)?;
    ready.map(|()| listener)
}

async fn accept(listener: &UnixListener, desk: &Arc<Desk>) {
    let mut sessions = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                // Who waited unseen in the backlog would not know why.
                Ok((stream, _)) if sessions.len() >= SESSIONS => drop(stream),
                Ok((stream, _)) if is_same_user(&stream) => {
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

fn own_process(command: &str) -> impl Fn() -> Process + Send + Sync + use<> {
    let (command, opened) = (command.to_owned(), Instant::now());
    move || Process {
        pid: std::process::id(),
        command: command.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime: opened.elapsed().as_secs_f64(),
    }
}
