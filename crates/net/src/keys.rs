//! How an endpoint agrees on keys with its peers.

use std::fmt;
use std::sync::Arc;

use polypath_proto::config::AssocConfig;
use polypath_proto::protection::KeyManagement;
use polypath_secure::{PreShared, Tls};

/// How an endpoint agrees on keys with its peers: made of [`Tls`], of [`PreShared`], or of a way of
/// one's own.
///
/// ```
/// use std::sync::Arc;
///
/// use polypath_net::{Config, Identity, KeyManagement, PreShared, Tls, Trust};
///
/// let identity = Identity::generate()?;
/// let config = Config::client(["127.0.0.1".parse()?], Tls::new(&identity, Trust::anyone()));
/// let config = Config::client(["127.0.0.1".parse()?], PreShared::new([7; 32]));
/// let own: Arc<dyn KeyManagement> = Arc::new(PreShared::new([7; 32]));
/// let config = Config::client(["127.0.0.1".parse()?], own);
/// # drop(config);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Keys(Arc<dyn KeyManagement>);

impl Keys {
    /// As associations are configured with them.
    pub fn into_inner(self) -> Arc<dyn KeyManagement> {
        self.0
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Tls> for Keys {
    fn from(keys: Tls) -> Self {
        Self(Arc::new(keys))
    }
}

impl From<PreShared> for Keys {
    fn from(keys: PreShared) -> Self {
        Self(Arc::new(keys))
    }
}

impl From<Arc<dyn KeyManagement>> for Keys {
    fn from(keys: Arc<dyn KeyManagement>) -> Self {
        Self(keys)
    }
}

/// `settings` with the endpoint's keys, where they name none of their own.
pub(crate) fn with_keys(
    settings: &Arc<AssocConfig>,
    keys: Option<&Arc<dyn KeyManagement>>,
) -> Arc<AssocConfig> {
    match keys {
        Some(keys) if settings.protection.is_none() => {
            let protection = Some(keys.clone());
            Arc::new(AssocConfig { protection, ..(**settings).clone() })
        }
        _ => settings.clone(),
    }
}
