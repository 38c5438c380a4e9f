//! What one call of `polypath forward` has, and how it keeps an association.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
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
    pub(super) trouble: Mutex<String>,
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
        let (mut wait, mut failures) = (WAITS.0, 0_u32);
        loop {
            match self.reach().connect().await {
                Ok((association, endpoint)) => {
                    let paths = association.paths().len();
                    let ready = || {
                        (wait, failures) = (WAITS.0, 0);
                        self.note(Kind::Connected, format_args!("over {paths} paths"));
                    };
                    let end = client.carry(association, ready).await;
                    drop(endpoint);
                    self.note(Kind::Disconnected, shown::escape_remark(&end.to_string()));
                }
                Err(failure) if is_final(&failure) => return failure,
                Err(failure) => {
                    failures = failures.saturating_add(1);
                    self.note_failure(failure.message(), failures);
                }
            }
            tokio::time::sleep(wait).await;
            wait = (2 * wait).min(WAITS.1);
        }
    }

    fn note(&self, event: Kind, what: impl core::fmt::Display) {
        let text = match event {
            Kind::Connected => format!("connected to {} {what}", self.args.to),
            _ => format!("disconnected from {}: {what}", self.args.to),
        };
        notify::status(&text);
        self.set_trouble(&text);
        self.teller.tell(event, text);
    }

    /// The first of many failures is told, and fewer and fewer of the others: it may go on for
    /// days.
    fn note_failure(&self, why: &str, failures: u32) {
        notify::status(why);
        self.set_trouble(why);
        if failures == 1 {
            self.teller.tell(Kind::Disconnected, why);
        } else if failures.is_power_of_two() {
            self.teller.tell(Kind::Disconnected, format_args!("{why} (attempt {failures})"));
        }
    }

    fn set_trouble(&self, why: &str) {
        why.clone_into(&mut self.trouble.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What happened last between this host and the server.
    pub(super) fn trouble(&self) -> String {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether no further attempt changes anything: who the peer is, and what the user wrote.
fn is_final(failure: &Failure) -> bool {
    [2, UNTRUSTED, INTERRUPTED].contains(&failure.code())
}
