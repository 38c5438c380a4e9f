//! The way to the server: by an association of this process, or by that of another one of this
//! user, which the first `forward` to a server has.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::forward::channel::{Channel, OpenError};
use polypath_apps::forward::client::{Client, Remote, WAIT};
use polypath_apps::forward::dial::{Dialed, Dialer};
use polypath_apps::forward::frame::Destination;
use polypath_apps::forward::join::guest;
use polypath_apps::forward::permit::Permits;
use polypath_apps::forward::relay::Local;
use polypath_apps::forward::spec::ForwardSpec;
use polypath_apps::forward::target::Target;
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;

/// How long one waits before the other process is asked again.
const AGAIN: Duration = Duration::from_millis(100);
/// Lookups at a time for what -R names.
const LOOKUPS: usize = 8;

/// Opens connections by whichever way there is.
#[derive(Clone, Debug)]
pub(super) struct Way {
    client: Arc<Client>,
    /// Whether the association is this process's.
    own: watch::Receiver<bool>,
    /// The socket of the process that has it otherwise.
    lobby: Arc<Path>,
}

/// A connection that is through.
#[derive(Debug)]
pub(super) enum Carried {
    /// Over our association.
    Own(Channel),
    /// Over another process.
    Joined(UnixStream),
}

impl Way {
    pub(super) fn new(client: Arc<Client>, lobby: Option<PathBuf>) -> (Self, watch::Sender<bool>) {
        let (is_own, own) = watch::channel(false);
        (Self { client, own, lobby: lobby.unwrap_or_default().into() }, is_own)
    }

    /// Opens a connection.
    pub(super) async fn open(&self, to: &Target) -> Result<Carried, OpenError> {
        let deadline = Instant::now() + WAIT;
        while Instant::now() < deadline {
            if *self.own.borrow() {
                let to = Destination::Place(to.clone());
                return self.client.open(&to).await.map(Carried::Own);
            }
            match guest::open(&self.lobby, to).await {
                Ok(opened) => return opened.map(Carried::Joined),
                // It is gone; we may become the one that has the association.
                Err(_) => tokio::time::sleep(AGAIN).await,
            }
        }
        Err(OpenError::Lost)
    }

    /// Has the server listen, for as long as this is awaited; never ends.
    pub(super) async fn listen_there(self, spec: ForwardSpec, told: mpsc::UnboundedSender<Remote>) {
        let dialer = Dialer::new(Permits::anywhere(), LOOKUPS);
        let lookups = Arc::new(Semaphore::new(LOOKUPS));
        loop {
            if *self.own.borrow() {
                // The client asks every server anew.
                self.client.listen_there(&spec, told);
                return core::future::pending().await;
            }
            let take = |number| {
                let (lobby, target) = (self.lobby.clone(), spec.target.clone());
                let (dialer, lookups) = (dialer.clone(), lookups.clone());
                tokio::spawn(async move {
                    let dialed = dialer.dial(&target, &lookups).await;
                    let taken = guest::take(&lobby, number).await;
                    if let (Ok(local), Ok(taken)) = (dialed, taken) {
                        let local = match local {
                            Dialed::Tcp(stream) => stream.into(),
                            Dialed::Unix(stream) => stream.into(),
                        };
                        Carried::Joined(taken).carry(local).await;
                    }
                });
            };
            let _gone = guest::listen(&self.lobby, &spec.listen, &told, take).await;
            tokio::time::sleep(AGAIN).await;
        }
    }
}

impl Carried {
    /// Carries a connection of this host to the end of both.
    pub(super) async fn carry(self, local: Local) {
        match (self, local) {
            (Self::Own(channel), local) => {
                let _ended = local.relay(channel).await;
            }
            (Self::Joined(mut stream), Local::Tcp(mut local)) => {
                let _slower = local.set_nodelay(true);
                let _ended = tokio::io::copy_bidirectional(&mut local, &mut stream).await;
            }
            (Self::Joined(mut stream), Local::Unix(mut local)) => {
                let _ended = tokio::io::copy_bidirectional(&mut local, &mut stream).await;
            }
        }
    }
}
