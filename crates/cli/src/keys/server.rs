//! The keys of who is connected to.

use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use polypath_apps::keys::{
    AllowFile, AllowList, Doorkeeper, Home, Identity, KeyLogFile, Trust, read_secret,
};
use polypath_net::{AssocConfig, Config, Encapsulation, KeyManagement};

use super::args::{CommonKeyArgs, ServerKeyArgs};
use super::{INSECURE, file_failure};
use crate::failure::Failure;

/// How often is looked whether the file of those that are let in has changed.
const TICK: Duration = Duration::from_secs(1);

/// Where a server is reached, and how it speaks.
pub(crate) struct Listening {
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) udp: u16,
    /// Of SCTP.
    pub(crate) port: u16,
    pub(crate) assoc: Arc<AssocConfig>,
}

impl Listening {
    /// Waits until no other socket is there.
    pub(super) async fn await_free(&self) {
        let is_free = |address: &IpAddr| UdpSocket::bind((*address, self.udp)).is_ok();
        while !self.addresses.iter().all(is_free) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(super) fn config(&self, keys: Option<Arc<dyn KeyManagement>>) -> Config {
        let addresses = self.addresses.iter().copied();
        let config = match keys {
            Some(keys) => Config::server(addresses, self.port, keys),
            None => Config::insecure_server(addresses, self.port),
        };
        config.encapsulation(Encapsulation::Udp(self.udp)).assoc(self.assoc.clone())
    }
}

/// Who we are, and whom we let in.
pub(crate) struct ServerKeys {
    mode: Mode,
}

enum Mode {
    Insecure,
    Shared(Arc<dyn KeyManagement>),
    Keys(Box<Keys>),
}

/// Keys as people have them.
pub(super) struct Keys {
    pub(super) identity: Identity,
    /// `None`: anyone is let in.
    pub(super) allow: Option<AllowFile>,
    doorkeeper: Doorkeeper,
    pub(super) log: Option<Arc<KeyLogFile>>,
}

impl ServerKeys {
    pub(crate) fn new(args: &CommonKeyArgs, server: &ServerKeyArgs) -> Result<Self, Failure> {
        let mode = if args.insecure {
            Mode::Insecure
        } else if let Some(file) = &args.psk {
            Mode::Shared(Arc::new(read_secret(file).map_err(file_failure)?))
        } else {
            let home = super::home()?;
            let log = super::key_log(args)?;
            Mode::Keys(Box::new(Keys::new(&home, server, log)?))
        };
        Ok(Self { mode })
    }

    pub(super) fn keys_mut(&mut self) -> Option<&mut Keys> {
        match &mut self.mode {
            Mode::Keys(keys) => Some(keys),
            Mode::Insecure | Mode::Shared(_) => None,
        }
    }

    /// Settings of an endpoint that is connected to there.
    pub(crate) fn config(&self, place: &Listening) -> Config {
        place.config(match &self.mode {
            Mode::Insecure => None,
            Mode::Shared(secret) => Some(secret.clone()),
            Mode::Keys(keys) => Some(Arc::new(keys.doorkeeper.clone())),
        })
    }

    /// Who this host is and who is let in, in one line.
    pub(crate) fn describe(&self) -> String {
        let Mode::Keys(keys) = &self.mode else {
            return match self.mode {
                Mode::Insecure => INSECURE.to_owned(),
                _ => "encrypted with the secret of --psk".to_owned(),
            };
        };
        let own = keys.identity.public().fingerprint();
        match &keys.allow {
            Some(file) => {
                format!("this host has the key {own} and lets in those of {}", file.shown_path())
            }
            None => format!(
                "this host has the key {own} and lets in anyone; --allow FILE names who may"
            ),
        }
    }

    /// Reads the file of those that are let in again whenever it has changed. Runs beside the
    /// server. A file that is wrong is told, and changes nothing.
    pub(crate) fn watch_allowed(self) {
        let Mode::Keys(mut keys) = self.mode else { return };
        if keys.allow.is_none() {
            return;
        }
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(TICK).await;
                match keys.allow.as_mut().map(AllowFile::read_again) {
                    Some(Ok(Some(list))) => keys.let_in(&list),
                    Some(Err(error)) => eprintln!("polypath: {error}; those of before are let in"),
                    _ => {}
                }
            }
        });
    }
}

impl Keys {
    fn new(
        home: &Home,
        server: &ServerKeyArgs,
        log: Option<Arc<KeyLogFile>>,
    ) -> Result<Self, Failure> {
        let identity = home.load_or_make_identity().map_err(file_failure)?;
        let mut allow = server.allow.clone().map(AllowFile::at);
        let trust = match &mut allow {
            None => Trust::anyone(),
            // It may not be there yet.
            Some(_) if server.enroll => Trust::pinned([]),
            Some(file) => trust_in(&file.read().map_err(file_failure)?),
        };
        let doorkeeper = Doorkeeper::new(Arc::new(super::tls(&identity, trust, log.as_ref())));
        Ok(Self { identity, allow, doorkeeper, log })
    }

    /// From now on these are let in.
    pub(super) fn let_in(&self, list: &AllowList) {
        let tls = super::tls(&self.identity, trust_in(list), self.log.as_ref());
        self.doorkeeper.replace(Arc::new(tls));
    }
}

fn trust_in(list: &AllowList) -> Trust {
    Trust::pinned(list.fingerprints().iter().copied())
}
