//! Asking all processes.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::metrics::{Format, encode};
use crate::client::Client;
use crate::folder;
use crate::message::{Sections, Status};

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
    let mut processes = Vec::new();
    let mut unreachable = 0;
    for socket in folder::sockets(folder) {
        let asked = Client::connect(&socket).and_then(|mut c| c.look(Sections::Status, None));
        match asked {
            Ok(status) => processes.push(status),
            Err(_) => unreachable += 1,
        }
    }
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
