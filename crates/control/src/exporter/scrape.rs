//! Asking all processes.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::metrics::{Format, encode};
use crate::message::Status;
use crate::{client, folder};

/// What all processes said.
#[derive(Clone, Debug)]
pub struct Scrape {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    processes: Vec<Status>,
    unreachable: usize,
    most_associations: usize,
}

/// Asks all processes whose sockets are in `folder`.
pub fn collect(folder: &Path, most_associations: usize) -> Scrape {
    let (reached, mute): (Vec<_>, Vec<_>) =
        folder::processes(folder).into_iter().partition(Result::is_ok);
    let asked = client::look_at_all(reached.into_iter().flatten().collect());
    let count = asked.len();
    let processes: Vec<_> = asked.into_iter().filter_map(|(_, status)| status.ok()).collect();
    let unreachable = mute.len() + count - processes.len();
    Scrape { inner: Arc::new(Inner { processes, unreachable, most_associations }) }
}

impl Scrape {
    /// As text.
    ///
    /// # Errors
    /// As [`encode`].
    pub fn encode(&self, format: Format) -> Result<String, fmt::Error> {
        let Inner { processes, unreachable, most_associations } = &*self.inner;
        encode(processes, *unreachable, *most_associations, format)
    }
}
