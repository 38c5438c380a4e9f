//! What one call of `polypath forward` has, and how it keeps an association.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::forward::client::Client;
use polypath_apps::forward::mux::Limits;
use polypath_apps::shown;
use polypath_net::AssocConfig;

use super::args::ForwardArgs;
use super::event::{Kind, Teller};
use super::notify;
use crate::failure::Failure;
use crate::interrupt::INTERRUPTED;
use crate::keys::{self, ClientKeys, LOCAL, UNTRUSTED};
use crate::quantity::to_duration;
use crate::reach::Reach;
use crate::recording::LiveCapture;

/// Waits between attempts to reach the server: the first, and the longest.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Everything that one call has.
pub(super) struct Desk<'a> {
    pub(super) args: &'a ForwardArgs,
    pub(super) keys: ClientKeys,
    pub(super) capture: LiveCapture,
    pub(super) stack: Arc<AssocConfig>,
    pub(super) limits: Limits,
    pub(super) teller: Teller,
}

impl Desk<'_> {
    pub(super) fn reach(&self) -> Reach<'_> {
        let args = self.args;
        Reach {
            to: &args.to,
            route: &args.route,
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

    /// Where processes of this user find each other that go to the same server in the same way;
    /// `None` where they shall not.
    pub(super) fn lobby_path(&self) -> Result<Option<PathBuf>, Failure> {
        let Self { args, .. } = self;
        if args.no_join {
            return Ok(None);
        }
        let keys = &args.common.keys;
        let peer = args.peer.peer.map(|peer| peer.to_string());
        let what =
            format!("{} {} {peer:?} {} {:?}", args.to, args.common.port, keys.insecure, keys.psk);
        keys::run_file("forward", &what).map(Some)
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
