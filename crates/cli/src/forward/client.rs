//! `polypath forward`.

use std::sync::Arc;
use std::time::Duration;

use polypath_apps::forward::client::{Client, Remote};
use polypath_apps::forward::mux::Limits;
use polypath_apps::shown;
use polypath_net::AssocConfig;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::args::ForwardArgs;
use super::event::{Kind, Teller};
use super::take::Taking;
use super::{notify, stdio};
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::keys::{ClientKeys, LOCAL, UNTRUSTED};
use crate::quantity::to_duration;
use crate::reach::Reach;
use crate::recording::LiveCapture;
use crate::talk::Talk;

/// Connections of this host and of the server at a time, each.
const CONNECTIONS: u32 = 1000;
/// Waits between attempts to reach the server: the first, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

pub(crate) fn forward(args: ForwardArgs, talk: Talk) -> Result<(), Failure> {
    let args = super::named::apply_named_host(args)?;
    if args.forwards.is_empty() && args.stdio.is_none() {
        return Err(Failure::bad_input(
            "nothing to forward (allowed: -L, -R, -D, --stdio, or `forward` of the host in config.toml)",
        ));
    }
    let keys = ClientKeys::new(&args.common.keys, &args.peer, &args.to, talk)?;
    let capture = args.common.capture.open(LOCAL)?;
    let (stack, limits) = super::stack_config(&args.common, CONNECTIONS)?;
    super::raise_descriptor_limit();
    let runtime = super::build_runtime()?;
    let teller = Teller { talk, json: args.common.json };
    let desk = Desk { args: &args, keys, capture, stack, limits, teller };
    let done = runtime.block_on(desk.run());
    runtime.shutdown_background();
    done.and(desk.capture.finish())
}

/// Everything that one call has.
pub(super) struct Desk<'a> {
    pub(super) args: &'a ForwardArgs,
    keys: ClientKeys,
    capture: LiveCapture,
    stack: Arc<AssocConfig>,
    limits: Limits,
    pub(super) teller: Teller,
}

impl Desk<'_> {
    fn reach(&self) -> Reach<'_> {
        let args = self.args;
        Reach {
            to: &args.to,
            local: &args.local,
            paths: &args.paths,
            mesh: args.mesh,
            port: args.common.port,
            patience: args.connect_timeout,
            stack: &self.stack,
            keys: &self.keys,
            capture: &self.capture,
            talk: self.teller.talk,
            program: "polypath serve",
            interrupted: "interrupted",
        }
    }

    pub(super) fn new_client(&self) -> Result<Arc<Client>, Failure> {
        Client::new(self.limits, to_duration(self.args.common.timeout))
            .map_err(|error| Failure::with_code(LOCAL, error))
    }

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
        let (told, mut remotes) = mpsc::unbounded_channel();
        forwards.remote_forward.iter().for_each(|spec| client.listen_there(spec, told.clone()));
        let mut tasks = JoinSet::new();
        for taking in takings {
            let most = usize::try_from(self.limits.connections).unwrap_or(usize::MAX);
            tasks.spawn(taking.take_connections(client.clone(), most));
        }
        notify::ready();
        let tell_remotes = async {
            while let Some(remote) = remotes.recv().await {
                self.tell_remote(remote);
            }
        };
        tokio::select! {
            failure = self.keep_connected(&client) => Err(failure),
            () = tell_remotes => Ok(()),
            () = interrupt::wait_for_interrupt() => {
                notify::stopping();
                client.leave().await;
                Err(Failure::from_status(INTERRUPTED))
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

    /// One association after another; ends only with what no further attempt would change.
    pub(super) async fn keep_connected(&self, client: &Arc<Client>) -> Failure {
        let mut wait = WAITS.0;
        loop {
            match self.reach().connect().await {
                Ok((association, endpoint)) => {
                    let names = association.paths().len();
                    let ready = || {
                        wait = WAITS.0;
                        let text = format!("connected to {} over {names} paths", self.args.to);
                        notify::status(&text);
                        self.teller.tell(Kind::Connected, text);
                    };
                    let end = client.carry(association, ready).await;
                    drop(endpoint);
                    let end = shown::escape_remark(&end.to_string());
                    let text = format!("disconnected from {}: {end}", self.args.to);
                    notify::status(&text);
                    self.teller.tell(Kind::Disconnected, text);
                }
                Err(failure) if is_final(&failure) => return failure,
                Err(failure) => {
                    notify::status(failure.message());
                    self.teller.tell(Kind::Disconnected, failure.message());
                }
            }
            tokio::time::sleep(wait).await;
            wait = (2 * wait).min(WAITS.1);
        }
    }
}

/// Whether no further attempt changes anything: who the peer is, and what the user wrote.
fn is_final(failure: &Failure) -> bool {
    [2, UNTRUSTED, INTERRUPTED].contains(&failure.code())
}
