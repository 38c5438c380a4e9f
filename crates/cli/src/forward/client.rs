//! `polypath forward`.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polypath_apps::forward::client::{Client, Remote};
use polypath_apps::forward::join::lobby::Lobby;
use polypath_apps::runtime::build_runtime;
use polypath_apps::shown;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::args::ForwardArgs;
use super::desk::Desk;
use super::ending::Ending;
use super::event::{Kind, Teller};
use super::take::Taking;
use super::way::Way;
use super::{notify, stdio};
use crate::failure::Failure;
use crate::interrupt::INTERRUPTED;
use crate::keys::{ClientKeys, LOCAL};
use crate::talk::Talk;

/// Connections of this host and of the server at a time, each.
const CONNECTIONS: u32 = 1000;
/// How often is looked whether the process that has the association is still there.
const LOOK: Duration = Duration::from_millis(300);

pub(crate) fn forward(args: ForwardArgs, talk: Talk) -> Result<(), Failure> {
    let args = super::named::apply_named_host(args)?;
    if args.forwards.is_empty() && args.stdio.is_none() {
        return Err(Failure::bad_input(
            "nothing to forward (allowed: -L, -R, -D, --stdio, or `forward` of the host in \
             config.toml)",
        ));
    }
    let keys = ClientKeys::new(&args.common.keys, &args.peer, &args.to, talk)?;
    let (stack, limits) = super::stack_config(&args.common, CONNECTIONS)?;
    super::raise_descriptor_limit();
    let runtime = build_runtime().map_err(|error| Failure::with_code(LOCAL, error))?;
    // Who speaks over stdio wants to hear of what goes wrong, and of nothing else.
    let talk = Talk::new(talk.is_quiet() || args.stdio.is_some());
    let command = format!("forward to {}", shown::escape_remark(&args.to));
    let capture = args.common.capture.open(LOCAL, ("client", &command), talk)?;
    let teller = Teller { talk, json: args.common.json };
    let trouble = Mutex::default();
    let desk = Desk { args: &args, keys, capture, stack, limits, teller, trouble };
    let done = runtime.block_on(desk.run());
    runtime.shutdown_background();
    done.and(desk.capture.finish())
}

impl Desk<'_> {
    async fn run(&self) -> Result<(), Failure> {
        if let Some(code) = &self.args.peer.code {
            self.reach().enrol(code).await?;
        }
        match &self.args.stdio {
            Some(target) => stdio::carry_stdio(self, target).await,
            None => self.forward_until_interrupted().await,
        }
    }

    async fn forward_until_interrupted(&self) -> Result<(), Failure> {
        let forwards = &self.args.forwards;
        let takings =
            Taking::bind_all(&forwards.local_forward, &forwards.dynamic_forward, self.teller)?;
        let client = self.new_client()?;
        let lobby = self.lobby_path()?;
        let (way, is_own) = Way::new(client.clone(), lobby.clone());
        let (told, mut remotes) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for spec in &forwards.remote_forward {
            tasks.spawn(way.clone().listen_there(spec.clone(), told.clone()));
        }
        for taking in takings {
            let most = usize::try_from(self.limits.connections).unwrap_or(usize::MAX);
            tasks.spawn(taking.take_connections(way.clone(), most));
        }
        let mut ending = Ending::new()?;
        notify::ready();
        let tell_remotes = async {
            while let Some(remote) = remotes.recv().await {
                self.tell_remote(remote);
            }
        };
        tokio::select! {
            failure = self.keep_way(&client, lobby.as_deref(), &is_own) => Err(failure),
            () = tell_remotes => Ok(()),
            () = ending.wait() => {
                notify::stopping();
                client.leave().await;
                Err(Failure::from_status(INTERRUPTED))
            }
        }
    }

    /// Has an association, or uses that of the process that has one.
    async fn keep_way(
        &self,
        client: &Arc<Client>,
        lobby: Option<&Path>,
        is_own: &watch::Sender<bool>,
    ) -> Failure {
        let Some(path) = lobby else {
            is_own.send_replace(true);
            return self.keep_connected(client).await;
        };
        let mut told = false;
        loop {
            match Lobby::open(path) {
                Err(error) => return lobby_failure(path, &error),
                Ok(Some(lobby)) => {
                    is_own.send_replace(true);
                    tokio::select! {
                        failure = self.keep_connected(client) => return failure,
                        () = lobby.serve(client) => {}
                    }
                }
                Ok(None) if !core::mem::replace(&mut told, true) => {
                    let text =
                        format!("using the association to {} of another forward", self.args.to);
                    notify::status(&text);
                    self.teller.tell(Kind::Joined, text);
                }
                Ok(None) => tokio::time::sleep(LOOK).await,
            }
        }
    }

    fn tell_remote(&self, remote: Remote) {
        match remote {
            Remote::Listening(at, port) => {
                let at = match port {
                    0 => at.to_string(),
                    port => format!("{at} (port {port})"),
                };
                let text = format!("the server listens at {at}");
                self.teller.tell_of_port(Kind::RemoteListening, text, Some(port));
            }
            Remote::Refused(at, why) => self.teller.tell(
                Kind::RemoteRefused,
                format_args!("the server does not listen at {at}: {why}"),
            ),
        }
    }
}

fn lobby_failure(path: &Path, error: &std::io::Error) -> Failure {
    let path = shown::escape_text(&path.display().to_string());
    let text = format!("{path}: {error} (allowed: --no-join, which does without it)");
    Failure::with_code(LOCAL, text)
}
