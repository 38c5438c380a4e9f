//! An endpoint: sockets, a reactor thread, and the associations on them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use polypath_proto::config::{EndpointConfig, Handshake, PathPairing};
use polypath_proto::rng::Rng;
use polypath_proto::stats::EndpointStats;
use polypath_proto::{AssocHandle, FourTuple};

use crate::AssocConfig;
use crate::association::Association;
use crate::capture::Capture;
use crate::config::{Config, Encapsulation, LocalAddress, Pairing};
use crate::driver::Driver;
use crate::error::{BindError, ConnectError, Warning};
use crate::inner::Inner;
use crate::keys::with_keys;
use crate::observer::Watched;
use crate::refusals::Refusal;
use crate::shared::{Shared, Signals, Slot};
use crate::socket::open_all;

/// An SCTP endpoint on this host's network. Clones are the same endpoint. Once every clone and
/// every association is dropped, what was sent still goes out, as long as the process lives: see
/// [`wait_idle`](Self::wait_idle).
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub(crate) inner: Arc<Inner>,
}

impl Endpoint {
    /// Opens sockets of its own, one per local address, and starts the reactor thread.
    ///
    /// # Errors
    /// When an address cannot be used; then nothing is left open.
    pub fn bind(config: Config) -> Result<Self, BindError> {
        let mut opened = open_all(&config)?;
        let warnings = std::mem::take(&mut opened.warnings);
        let local = opened.addresses();
        let mut rng = Rng::from_seed(draw_entropy().map_err(BindError::Thread)?);
        let port = match (config.port, config.encapsulation, local.first()) {
            // The system's choice differs for every socket of this host, so no two of its endpoints
            // look alike to a peer.
            (0, Encapsulation::Udp(0), Some(first)) => first.port(),
            // The dynamic ports (RFC 6335 section 6).
            (0, ..) => 49_152 + u16::try_from(rng.below(16_384)).unwrap_or(0),
            (port, ..) => port,
        };
        let core = polypath_proto::Endpoint::new(core_config(&config, port, &local), rng);
        let shared = Arc::new(Shared::new(core, local, config));
        if let Some(observer) = &shared.config.observer {
            let watched: Arc<dyn Watched> = shared.clone();
            observer.watch(Arc::downgrade(&watched));
        }
        Driver::start_thread(shared.clone(), opened).map_err(BindError::Thread)?;
        Ok(Self { inner: Arc::new(Inner { shared, port, warnings }) })
    }

    /// The next association that a peer opened; `None` when the endpoint was [closed](Self::close).
    /// Cancel-safe.
    pub async fn accept(&self) -> Option<Association> {
        let shared = &self.inner.shared;
        loop {
            let incoming = shared.incoming.notified();
            tokio::pin!(incoming);
            incoming.as_mut().enable();
            {
                let mut state = shared.lock();
                if let Some(h) = state.incoming.pop_front() {
                    let signals = state.slots.get(&h).map(|slot| slot.signals.clone());
                    return Some(self.handle(h, signals.unwrap_or_default()));
                }
                if state.stopped {
                    return None;
                }
            }
            incoming.await;
        }
    }

    /// The next peer that connected and was not let in, because no keys could be agreed on with it;
    /// `None` when the endpoint was [closed](Self::close). Of those that nobody asks for, the
    /// latest are kept, and [`Refusal::missed`] tells of the others. Cancel-safe.
    pub async fn refused(&self) -> Option<Refusal> {
        let shared = &self.inner.shared;
        loop {
            let refused = shared.refused.notified();
            tokio::pin!(refused);
            refused.as_mut().enable();
            {
                let mut state = shared.lock();
                if let Some(refusal) = state.refusals.pop() {
                    return Some(refusal);
                }
                if state.stopped {
                    return None;
                }
            }
            refused.await;
        }
    }

    /// Opens an association to SCTP port `port` of the host with these addresses, each with the UDP
    /// port that it listens at (with raw IP the port is ignored). Which pairs of addresses become
    /// paths: [`Pairing::Auto`].
    ///
    /// # Errors
    /// When there is no path, nobody answers, or the peer refuses. Dropping the future gives up.
    pub async fn connect(
        &self,
        remote: &[SocketAddr],
        port: u16,
    ) -> Result<Association, ConnectError> {
        self.connect_with(remote, port, Pairing::Auto, self.inner.shared.config.assoc.clone()).await
    }

    /// Like [`connect`](Self::connect) with a choice of paths and settings for this association.
    ///
    /// # Errors
    /// As there.
    pub async fn connect_with(
        &self,
        remote: &[SocketAddr],
        port: u16,
        pairing: Pairing,
        config: Arc<AssocConfig>,
    ) -> Result<Association, ConnectError> {
        let local = self.local_addresses();
        let remote: Vec<_> = remote.iter().map(|&r| self.normalize_address(r)).collect();
        let paths = pairing.pair_addresses(&local, &remote);
        if paths.is_empty() {
            return Err(ConnectError::NoPath { local, remote });
        }
        self.connect_paths(&paths, port, config).await
    }

    /// Opens an association over exactly these paths. Local addresses are the endpoint's own.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_paths(
        &self,
        paths: &[FourTuple],
        port: u16,
        config: Arc<AssocConfig>,
    ) -> Result<Association, ConnectError> {
        let association = self.begin_association(paths, port, config)?;
        let mut remote = Vec::new();
        for path in paths {
            if !remote.contains(&path.remote) {
                remote.push(path.remote);
            }
        }
        association.set_up(&remote).await?;
        Ok(association)
    }

    fn begin_association(
        &self,
        paths: &[FourTuple],
        port: u16,
        config: Arc<AssocConfig>,
    ) -> Result<Association, ConnectError> {
        let shared = &self.inner.shared;
        let now = shared.clock.now();
        let mut state = shared.lock();
        let config = with_keys(&config, shared.config.protection.as_ref());
        let trace = shared.config.trace.is_some();
        let handshake = Handshake::AllPaths;
        let config = Arc::new(AssocConfig { handshake, trace, ..(*config).clone() });
        let h = state.core.connect(now, paths, port, config)?;
        let slot = Slot::new(&shared.config);
        let signals = slot.signals.clone();
        state.begin_association(h, slot);
        drop(state);
        shared.work.notify_one();
        Ok(self.handle(h, signals))
    }

    fn handle(&self, h: AssocHandle, signals: Arc<Signals>) -> Association {
        Association::new(self.inner.clone(), h, signals)
    }

    /// Raw IP has no ports.
    fn normalize_address(&self, mut remote: SocketAddr) -> SocketAddr {
        if self.inner.shared.config.encapsulation == Encapsulation::Raw {
            remote.set_port(0);
        }
        remote
    }

    /// Our SCTP port. UDP ports stand in [`local_addresses`](Self::local_addresses).
    pub fn port(&self) -> u16 {
        self.inner.port
    }

    /// Our addresses with their UDP ports; 0 with raw IP.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.inner.shared.lock().local.clone()
    }

    /// The addresses that it was told to use when it was made.
    pub fn named(&self) -> &[LocalAddress] {
        &self.inner.shared.config.local
    }

    /// Whether those who connect to us are answered from now on. Associations that there are, and
    /// those that wait for [`accept`](Self::accept), go on.
    pub fn set_accept(&self, accept: bool) {
        self.inner.shared.lock().core.set_accept(accept);
    }

    /// Takes up one more address of this host, and returns it with its UDP port. Associations whose
    /// peer knows dynamic addresses (RFC 5061) get paths from there; new associations announce it.
    ///
    /// # Errors
    /// When it is ours already, or no socket can be opened there.
    pub fn add_address(&self, local: impl Into<LocalAddress>) -> Result<SocketAddr, BindError> {
        self.inner.shared.add_address(&local.into())
    }

    /// Gives an address up. What was in flight from there is sent again on other paths; peers that
    /// know dynamic addresses are told. False: it was not ours, or it is the only one.
    pub fn remove_address(&self, address: IpAddr) -> bool {
        self.inner.shared.remove_address(address)
    }

    /// What works less well than it could, found out when the sockets were opened.
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// Peers that connected and were not let in: see [`refused`](Self::refused).
    pub fn refusals(&self) -> u64 {
        self.inner.shared.lock().refusals.count()
    }

    /// Counters of what happened outside associations.
    pub fn stats(&self) -> EndpointStats {
        self.inner.shared.lock().core.stats()
    }

    /// Associations that are not over, accepted or not.
    pub fn associations(&self) -> usize {
        self.inner.shared.lock().count_live()
    }

    /// Waits until no association is left: until what was sent has arrived, if their handles are
    /// dropped or shut down.
    pub async fn wait_idle(&self) {
        let shared = &self.inner.shared;
        loop {
            let gone = shared.gone.notified();
            tokio::pin!(gone);
            gone.as_mut().enable();
            if shared.lock().count_live() == 0 {
                return;
            }
            gone.await;
        }
    }

    /// Shuts all associations down, waits until they are over, and ends `accept`.
    pub async fn close(&self) {
        let shared = &self.inner.shared;
        {
            let now = shared.clock.now();
            let mut state = shared.lock();
            let all: Vec<AssocHandle> = state.slots.keys().copied().collect();
            for h in all {
                if let Some(association) = state.core.association_mut(h) {
                    association.shutdown(now);
                }
            }
        }
        shared.work.notify_one();
        self.wait_idle().await;
        shared.lock().stopped = true;
        shared.incoming.notify_waiters();
        shared.refused.notify_waiters();
        shared.work.notify_one();
    }
}

fn core_config(config: &Config, port: u16, local: &[SocketAddr]) -> EndpointConfig {
    EndpointConfig {
        port,
        addresses: local.iter().map(SocketAddr::ip).collect(),
        encapsulation: match config.encapsulation {
            Encapsulation::Udp(_) => polypath_proto::config::Encapsulation::Udp,
            Encapsulation::Raw => polypath_proto::config::Encapsulation::Raw,
        },
        error_detection: config.error_detection,
        accept: config.accept,
        // A UDP port is one endpoint's; at a raw socket other endpoints hear the same packets.
        refuse_other_ports: matches!(config.encapsulation, Encapsulation::Udp(_)),
        max_associations: config.max_associations,
        max_associations_per_address: config.max_associations_per_address,
        // Who opens names the paths; the other side learns them, with their UDP ports, from the
        // packets that come.
        pairing: PathPairing::Learned,
        keeps_plain: config.capture.as_ref().is_some_and(Capture::wants_plain),
        assoc: traced(with_keys(&config.assoc, config.protection.as_ref()), config),
        ..EndpointConfig::default()
    }
}

/// Records where the endpoint writes a trace, and there alone: nobody else would fetch it.
fn traced(assoc: Arc<AssocConfig>, config: &Config) -> Arc<AssocConfig> {
    let trace = config.trace.is_some();
    if assoc.trace == trace {
        return assoc;
    }
    Arc::new(AssocConfig { trace, ..(*assoc).clone() })
}

fn draw_entropy() -> std::io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(std::io::Error::other)?;
    Ok(seed)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    /// Who writes a trace fetches what associations record; without one they would keep it for
    /// ever.
    #[tokio::test]
    async fn without_a_trace_to_write_associations_record_nothing() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let mut server = Config::insecure_server([here], 5000).encapsulation(Encapsulation::Udp(0));
        let mut client = Config::insecure_client([here]);
        for config in [&mut server, &mut client] {
            Arc::make_mut(&mut config.assoc).trace = true;
        }
        let (server, client) = (Endpoint::bind(server).unwrap(), Endpoint::bind(client).unwrap());
        let to = server.local_addresses();
        let (sending, receiving) = tokio::join!(client.connect(&to, 5000), server.accept());
        for endpoint in [&server, &client] {
            let mut state = endpoint.inner.shared.lock();
            let all: Vec<_> = state.core.associations().collect();
            assert_eq!(all.len(), 1);
            assert!(state.core.take_trace(all[0]).is_none());
        }
        drop((sending.unwrap(), receiving.unwrap()));
    }
}
