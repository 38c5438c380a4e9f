//! The endpoints of one examination, which say goodbye at its end, however it ends.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polypath_net::{BindError, Config, Endpoint};
use tokio::time::timeout;

/// How long peers may take to hear that we go, as those of `serve` may.
const GOODBYE: Duration = Duration::from_secs(1);

/// What was opened.
#[derive(Debug, Default)]
pub(super) struct Opened(Mutex<Vec<Arc<Endpoint>>>);

impl Opened {
    /// An endpoint.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn bind(&self, config: Config) -> Result<Arc<Endpoint>, BindError> {
        let endpoint = Arc::new(Endpoint::bind(config)?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(endpoint.clone());
        Ok(endpoint)
    }

    /// Ends all associations.
    pub(super) async fn close(self) {
        let all = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let closing = async {
            for endpoint in &all {
                endpoint.close().await;
            }
        };
        let _ = timeout(GOODBYE, closing).await;
    }
}
