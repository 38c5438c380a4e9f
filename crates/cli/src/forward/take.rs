//! Connections that are taken here: each is carried to where it belongs.

use std::time::Duration;

use polypath_apps::forward::channel::OpenError;
use polypath_apps::forward::listen::Listener;
use polypath_apps::forward::refusal::Refusal;
use polypath_apps::forward::relay::Local;
use polypath_apps::forward::socks;
use polypath_apps::forward::spec::{DynamicSpec, ForwardSpec, Listen};
use polypath_apps::forward::target::Target;
use tokio::task::JoinSet;

use super::event::{Kind, Teller};
use super::way::Way;
use crate::failure::Failure;
use crate::keys::LOCAL;

/// How long a SOCKS client may take to say what it wants.
const SOCKS_PATIENCE: Duration = Duration::from_secs(10);

/// What a listener here is for.
#[derive(Clone, Debug)]
pub(super) enum Purpose {
    /// Connections go there.
    Forward(Target),
    /// Connections say by SOCKS where they go.
    Socks,
}

/// A listener here.
pub(super) struct Taking {
    listener: Listener,
    purpose: Purpose,
}

impl Taking {
    /// Listens for all of these.
    pub(super) fn bind_all(
        forwards: &[ForwardSpec],
        dynamic: &[DynamicSpec],
        teller: Teller,
    ) -> Result<Vec<Self>, Failure> {
        let forwards = forwards.iter().map(|spec| {
            let purpose = Purpose::Forward(spec.target.clone());
            (&spec.listen, purpose, format!("for {}", spec.target))
        });
        let dynamic =
            dynamic.iter().map(|spec| (&spec.listen, Purpose::Socks, "for SOCKS".to_owned()));
        forwards
            .chain(dynamic)
            .map(|(at, purpose, what)| {
                let listener = bind(at)?;
                let port = listener.port();
                let text = format!("listening at {} {what}", listener.describe());
                teller.tell_of_port(Kind::Listening, text, Some(port));
                Ok(Self { listener, purpose })
            })
            .collect()
    }

    /// Takes connections and has them carried; never ends.
    pub(super) async fn take_connections(self, way: Way, most: usize) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                (local, _from) = self.listener.accept(), if connections.len() < most => {
                    let (way, purpose) = (way.clone(), self.purpose.clone());
                    connections.spawn(async move {
                        match purpose {
                            Purpose::Forward(target) => forward(local, &target, &way).await,
                            Purpose::Socks => serve_socks(local, &way).await,
                        }
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
    }
}

fn bind(at: &Listen) -> Result<Listener, Failure> {
    Listener::bind(at).map_err(|error| {
        let text = error.to_string();
        let plain = text.split(" (os error").next().unwrap_or(&text);
        Failure::with_code(LOCAL, format!("cannot listen at {at}: {}", plain.to_lowercase()))
    })
}

async fn forward(local: Local, target: &Target, way: &Way) {
    match way.open(target).await {
        Ok(carried) => carried.carry(local).await,
        Err(_) => local.break_off(),
    }
}

async fn serve_socks(mut local: Local, way: &Way) {
    let request = match &mut local {
        Local::Tcp(stream) => {
            tokio::time::timeout(SOCKS_PATIENCE, socks::read_request(stream)).await
        }
        Local::Unix(stream) => {
            tokio::time::timeout(SOCKS_PATIENCE, socks::read_request(stream)).await
        }
    };
    // Who was refused has been told.
    let Ok(Ok(request)) = request else { return };
    let opened = way.open(&request.target).await;
    let outcome = opened.as_ref().map(|_| ()).map_err(|error| match error {
        OpenError::Refused(why) => *why,
        OpenError::Lost => Refusal::Unreachable,
    });
    let answered = match &mut local {
        Local::Tcp(stream) => socks::answer(stream, request.version, outcome).await,
        Local::Unix(stream) => socks::answer(stream, request.version, outcome).await,
    };
    if let (Ok(carried), Ok(())) = (opened, answered) {
        carried.carry(local).await;
    }
}
