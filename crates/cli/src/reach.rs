//! From what the user wrote of a peer to an association with it: addresses, keys, paths.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use clap::Args;
use polypath_apps::hosts::NamedHost;
use polypath_apps::keys::PublicKey;
use polypath_apps::paths;
use polypath_apps::place::{self, Ends, PlaceError};
use polypath_net::{AssocConfig, Association, BindError, ConnectError, Endpoint, Pairing};
use polypath_scenario::units::Delay;

use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::keys::{ClientKeys, Code, KeyTrouble, LOCAL, REOPENING, Route};
use crate::quantity::to_duration;
use crate::recording::LiveCapture;
use crate::talk::Talk;

/// The peer was not reached, or it vanished.
pub(crate) const UNREACHABLE: u8 = 3;

/// From where packets go.
#[derive(Debug, Args)]
pub(crate) struct RouteArgs {
    /// Addresses to send from, each for a path of its own; by default what the routing table says.
    #[arg(long, value_name = "ADDR", value_delimiter = ',', conflicts_with = "paths")]
    pub(crate) local: Vec<IpAddr>,
    /// Network devices to send from, whatever the routing table says, such as eth0,wwan0; auto:
    /// all, also those that appear later.
    #[arg(long, value_name = "DEVICE", value_delimiter = ',')]
    pub(crate) paths: Vec<String>,
    /// Every address here with every address there; by default the first with the first and so on
    /// if there are as many.
    #[arg(long)]
    pub(crate) mesh: bool,
}

impl RouteArgs {
    /// Fills in what config.toml says of a host, where the command line says nothing else.
    pub(crate) fn apply(&mut self, host: &NamedHost) {
        if self.local.is_empty() && self.paths.is_empty() {
            (self.local, self.paths) = (host.local.clone(), host.paths.clone());
        }
        self.mesh |= host.mesh;
    }
}

/// A peer, as the user named it, and how to reach it.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    /// Hosts, as --to has them.
    pub(crate) to: &'a str,
    pub(crate) route: &'a RouteArgs,
    /// Of SCTP.
    pub(crate) port: u16,
    pub(crate) patience: Delay,
    pub(crate) stack: &'a Arc<AssocConfig>,
    pub(crate) keys: &'a ClientKeys,
    pub(crate) capture: &'a LiveCapture,
    pub(crate) talk: Talk,
    /// What should run there.
    pub(crate) program: &'static str,
    /// What is said at Ctrl-C.
    pub(crate) interrupted: &'static str,
}

/// How an attempt to connect may end.
enum Refused {
    /// The peer has a key that was not expected. It was told nothing.
    Unexpected(PublicKey),
    Failed(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl Reach<'_> {
    /// Becomes known to the peer by a code.
    pub(crate) async fn enrol(&self, code: &Code) -> Result<(), Failure> {
        let Ends { local, remote, .. } = self.resolve_ends()?;
        let route = Route {
            local: &local,
            remote: &remote,
            port: self.port,
            pairing: self.pairing(),
            assoc: self.stack.clone(),
            patience: to_duration(self.patience),
            unreachable: UNREACHABLE,
        };
        self.keys.enrol(code, route).await
    }

    /// Connects. A peer that is not known yet is asked about, where somebody can answer.
    pub(crate) async fn connect(&self) -> Result<(Arc<Association>, Endpoint), Failure> {
        let connected = match self.connect_patiently().await {
            Err(Refused::Unexpected(key)) => {
                self.keys.decide(&key)?;
                self.connect_patiently().await
            }
            other => other,
        };
        connected.map_err(|refused| match refused {
            // It changed between two attempts.
            Refused::Unexpected(key) => self.keys.changed_meanwhile(&key),
            Refused::Failed(failure) => failure,
        })
    }

    /// Connects; after an enrolment also some times more, for the peer opens its port anew.
    async fn connect_patiently(&self) -> Result<(Arc<Association>, Endpoint), Refused> {
        loop {
            let connected = self.connect_once().await;
            let may_reopen = self.keys.port_may_reopen();
            match connected {
                Err(Refused::Failed(failure)) if failure.code() == UNREACHABLE && may_reopen => {}
                // The port at which we were enrolled is still open, with the key of the code.
                Err(Refused::Unexpected(_)) if may_reopen => {}
                other => return other,
            }
            tokio::time::sleep(REOPENING).await;
        }
    }

    async fn connect_once(&self) -> Result<(Arc<Association>, Endpoint), Refused> {
        let Ends { local, remote, follow } = self.resolve_ends()?;
        let config = self.keys.config()?.local(local).assoc(self.stack.clone()).follow(follow);
        let endpoint = Endpoint::bind(self.capture.watch(config)).map_err(bind_failure)?;
        warn_of_kernel_limits(&endpoint, self.talk);
        let association = tokio::select! {
            association = self.set_up(&endpoint, &remote) => association?,
            () = interrupt::wait_for_interrupt() => {
                return Err(Failure::with_code(INTERRUPTED, self.interrupted).into());
            }
        };
        Ok((association, endpoint))
    }

    async fn set_up(
        &self,
        endpoint: &Endpoint,
        remote: &[SocketAddr],
    ) -> Result<Arc<Association>, Refused> {
        let connecting =
            endpoint.connect_with(remote, self.port, self.pairing(), self.stack.clone());
        match tokio::time::timeout(to_duration(self.patience), connecting).await {
            Ok(Ok(association)) => {
                let paths = association.paths();
                let ends: Vec<_> =
                    paths.iter().map(|p| (p.stats.local.ip(), p.stats.remote.ip())).collect();
                let left_out = paths::left_out(endpoint.named(), self.to, &ends);
                left_out.iter().for_each(|line| self.talk.say(line));
                Ok(Arc::new(association))
            }
            Ok(Err(error @ (ConnectError::NoPath { .. } | ConnectError::Refused(_)))) => {
                Err(Failure::bad_input(error).into())
            }
            Ok(Err(error)) => Err(match self.keys.explain(&error) {
                Some(KeyTrouble::Unexpected(key)) => Refused::Unexpected(key),
                Some(KeyTrouble::Failed(failure)) => failure.into(),
                None => Failure::with_code(UNREACHABLE, error).into(),
            }),
            Err(_) => {
                let Self { to, patience, program, .. } = self;
                let text = format!(
                    "no answer from {to} within {patience}: is `{program}` running there, and do \
                     firewalls let UDP through?"
                );
                Err(Failure::with_code(UNREACHABLE, text).into())
            }
        }
    }

    fn resolve_ends(&self) -> Result<Ends, Failure> {
        place::resolve_ends(&self.route.local, &self.route.paths, self.to).map_err(place_failure)
    }

    const fn pairing(&self) -> Pairing {
        if self.route.mesh { Pairing::Mesh } else { Pairing::Auto }
    }
}

/// Why the ends could not be found.
pub(crate) fn place_failure(error: PlaceError) -> Failure {
    match error {
        PlaceError::Unknown { .. } | PlaceError::NoRoute { .. } => {
            Failure::with_code(UNREACHABLE, error)
        }
        PlaceError::Interfaces(_) => Failure::with_code(LOCAL, error),
        _ => Failure::bad_input(error),
    }
}

/// Why an endpoint could not be made.
pub(crate) fn bind_failure(error: BindError) -> Failure {
    let code = match error {
        BindError::NoAddress
        | BindError::Twice(_)
        | BindError::NotUnicast(_)
        | BindError::NotOurs(_)
        | BindError::NoDevice { .. } => 2,
        _ => LOCAL,
    };
    Failure::with_code(code, error)
}

/// Says once per kernel setting what could be better.
pub(crate) fn warn_of_kernel_limits(endpoint: &Endpoint, talk: Talk) {
    let mut told: Vec<String> = Vec::new();
    for warning in endpoint.warnings() {
        let text = warning.to_string();
        let hint = text.rsplit(": ").next().unwrap_or(&text).to_owned();
        if !told.contains(&hint) {
            talk.say(format_args!("warning: {text}"));
            told.push(hint);
        }
    }
}
