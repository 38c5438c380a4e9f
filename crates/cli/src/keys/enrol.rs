//! `--enroll` and `--code`: two hosts become known to each other.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::keys::enrolment::{self, EnrolmentError};
use polypath_apps::keys::{
    AllowFile, Enrolment, Fingerprint, Identity, KeyLogFile, KeyRefusal, PublicKey, Tls, Trust,
    Verdict,
};
use polypath_net::{AssocConfig, Association, BindError, Config, Endpoint, LocalAddress, Pairing};

use super::client::ClientKeys;
use super::explain::KeyTrouble;
use super::server::{Keys, Listening, ServerKeys};
use super::{LOCAL, UNTRUSTED, args::Code, file_failure};
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};

/// How long a goodbye may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// The pair of a code, and those who have it.
fn pair_of(
    code: &Enrolment,
    log: Option<&Arc<KeyLogFile>>,
    trust: impl FnOnce(Fingerprint) -> Result<Trust, Failure>,
) -> Result<Tls, Failure> {
    let pair: Identity = code.identity().map_err(Failure::run_failed)?;
    let trust = trust(pair.public().fingerprint())?;
    Ok(super::tls(&pair, trust, log))
}

/// Where the peer is, and how it is reached.
pub(crate) struct Route<'a> {
    pub(crate) local: &'a [LocalAddress],
    pub(crate) remote: &'a [SocketAddr],
    pub(crate) port: u16,
    pub(crate) pairing: Pairing,
    pub(crate) assoc: Arc<AssocConfig>,
    pub(crate) patience: Duration,
    /// Exit code if nobody is there.
    pub(crate) unreachable: u8,
}

impl ClientKeys {
    /// Tells the peer who we are, and writes down who it is.
    pub(crate) async fn enrol(&self, code: &Code, route: Route<'_>) -> Result<(), Failure> {
        let Some(keys) = self.keys() else { return Ok(()) };
        let pair = pair_of(&code.read()?, keys.log.as_ref(), |pair| Ok(Trust::pinned([pair])))?;
        let config =
            Config::client([], pair).local(route.local.iter().cloned()).assoc(route.assoc.clone());
        let endpoint = Endpoint::bind(config).map_err(bind_failure)?;
        let association = self.connect_with_code(&endpoint, &route).await?;
        let peer = enrolment::introduce(&association, keys.identity.public()).await;
        let peer = peer.map_err(|error| used_up(&error))?;
        let (file, peer) = (keys.home.known_peers(), peer.fingerprint());
        if let Verdict::Changed { name, line } =
            file.judge(&self.names, peer).map_err(file_failure)?
        {
            return Err(self.changed(&name, line, peer, &file.shown_path()));
        }
        file.remember(&self.names, peer, Some("enrolled")).map_err(file_failure)?;
        eprintln!("{} has the key {peer}: {} names it from now on", self.names, file.shown_path());
        let _ = tokio::time::timeout(GOODBYE, association.shutdown()).await;
        self.note_enrolment();
        Ok(())
    }

    fn without_code(&self) -> Failure {
        let text = format!(
            "{} does not have this code: codes are good once, and only while --enroll waits",
            self.names
        );
        Failure::with_code(UNTRUSTED, text)
    }

    async fn connect_with_code(
        &self,
        endpoint: &Endpoint,
        route: &Route<'_>,
    ) -> Result<Association, Failure> {
        let connecting =
            endpoint.connect_with(route.remote, route.port, route.pairing, route.assoc.clone());
        let connected = tokio::select! {
            connected = tokio::time::timeout(route.patience, connecting) => connected,
            () = interrupt::wait_for_interrupt() => {
                return Err(Failure::with_code(INTERRUPTED, "interrupted"));
            }
        };
        let names = &self.names;
        match connected {
            Ok(Ok(association)) => Ok(association),
            Ok(Err(error)) => Err(match KeyRefusal::of(&error, true) {
                // Another one has it already, whom the peer still talks with.
                Some(KeyRefusal::NotLetIn(_)) => self.without_code(),
                _ => match self.explain(&error) {
                    Some(KeyTrouble::Unexpected(_)) => self.without_code(),
                    Some(KeyTrouble::Failed(failure)) => failure,
                    None => Failure::with_code(route.unreachable, error),
                },
            }),
            Err(_) => {
                let text = format!("no answer from {names}: does --enroll wait there?");
                Err(Failure::with_code(route.unreachable, text))
            }
        }
    }
}

fn used_up(error: &EnrolmentError) -> Failure {
    let code = if matches!(error, EnrolmentError::Unwritten(_)) { LOCAL } else { UNTRUSTED };
    Failure::with_code(code, format!("{error}; the code is used up: a new one is needed"))
}

impl ServerKeys {
    /// Prints a code, waits for who has it, and lets him in from now on.
    pub(crate) async fn enrol(&mut self, place: &Listening) -> Result<(), Failure> {
        let Some(keys) = self.keys_mut() else { return Ok(()) };
        // Before somebody carries a code over for nothing.
        keys.allow.iter().try_for_each(AllowFile::check).map_err(file_failure)?;
        let code = Enrolment::generate().map_err(Failure::run_failed)?;
        let pair = pair_of(&code, keys.log.as_ref(), |_| {
            Trust::pinned([]).or_first_with(&code).map_err(Failure::run_failed)
        })?;
        let endpoint = Endpoint::bind(place.config(Some(Arc::new(pair)))).map_err(bind_failure)?;
        // Without it nobody comes: said with --quiet, too.
        eprintln!("waiting for the one who has the code, once: --code {code}");
        let association = tokio::select! {
            association = endpoint.accept() => association,
            () = interrupt::wait_for_interrupt() => {
                return Err(Failure::with_code(INTERRUPTED, "interrupted"));
            }
        };
        let association = association.ok_or_else(|| Failure::run_failed("the socket is closed"))?;
        // Who is let in comes again at once. A cookie of this endpoint would be nothing to the next
        // one, which is silent about it (RFC 9260 section 5.1.5), and he would echo it for long.
        endpoint.set_accept(false);
        keys.let_in_for_good(&association).await?;
        let _ = tokio::time::timeout(GOODBYE, association.closed()).await;
        drop((association, endpoint));
        // The sockets are closed by a thread of their own.
        let _ = tokio::time::timeout(GOODBYE, place.await_free()).await;
        Ok(())
    }
}

impl Keys {
    /// Lets in who has the code, from now on by its own key.
    async fn let_in_for_good(&mut self, association: &Association) -> Result<(), Failure> {
        let Some(file) = &mut self.allow else { return Ok(()) };
        let from = association.paths().first().map(|path| path.stats.remote.ip());
        let from = from.map_or(String::new(), |from| format!(" from {from}"));
        let keep = |key: &PublicKey| {
            file.add(key.fingerprint(), &format!("enrolled{from}")).map_err(|e| e.to_string())
        };
        let peer = enrolment::welcome(association, self.identity.public(), keep).await;
        let peer = peer.map_err(|error| used_up(&error))?.fingerprint();
        let list = file.read().map_err(file_failure)?;
        eprintln!("{peer}{from} is let in from now on: {} names it", file.shown_path());
        self.let_in(&list);
        Ok(())
    }
}

fn bind_failure(error: BindError) -> Failure {
    match error {
        BindError::NotOurs(_) | BindError::NotUnicast(_) => Failure::bad_input(error),
        _ => Failure::with_code(LOCAL, error),
    }
}
