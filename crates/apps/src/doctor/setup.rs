//! What all paths have in common.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{AssocConfig, Config, ConnectError};
use tokio::sync::watch;

use super::mtu;

/// Says in a line why no association came about, where keys are the reason.
pub type Explain = Box<dyn Fn(&ConnectError) -> Option<String> + Send + Sync>;

/// What all paths have in common.
pub struct Setup {
    /// An endpoint with our keys.
    pub config: Config,
    /// The stack.
    pub assoc: Arc<AssocConfig>,
    /// SCTP port of the server.
    pub port: u16,
    /// How long an answer may take.
    pub patience: Duration,
    /// The addresses that the user named: packets go to no others.
    pub named: Vec<IpAddr>,
    /// The longest wait for which ways in are tried; `None`: that is not wanted. At most
    /// [`LONGEST_WAIT`](super::LONGEST_WAIT) seconds.
    pub longest: Option<Duration>,
    /// What keys have to do with an error.
    pub explain: Explain,
    /// What else than the network may be the reason when a peer is silent, to be said behind that.
    pub silence: &'static str,
    /// Turns true when nobody wants to know any more: peers are told goodbye, and the rest is left.
    pub stop: watch::Receiver<bool>,
    /// Hears how far it is.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl core::fmt::Debug for Setup {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Setup").field("port", &self.port).finish_non_exhaustive()
    }
}

impl Setup {
    /// Waits for [`Self::stop`].
    pub(super) async fn stopped(&self) {
        let mut stop = self.stop.clone();
        if stop.wait_for(|stop| *stop).await.is_err() {
            // Nobody is left who could want that.
            core::future::pending::<()>().await;
        }
    }

    /// The stack for this, of the one that commands use: it finds out how large packets may be, and
    /// carries little.
    #[must_use]
    pub fn stack(assoc: &AssocConfig) -> AssocConfig {
        let path_mtu_discovery = Some(mtu::discovery());
        AssocConfig { path_mtu_discovery, outbound_streams: 2, inbound_streams: 2, ..assoc.clone() }
    }
}
