//! What several tests of endpoints need.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};

pub(crate) const PORT: u16 = 5000;
pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A file that is full after so many bytes.
#[derive(Clone)]
pub(crate) struct File {
    bytes: Arc<Mutex<Vec<u8>>>,
    room: usize,
}

impl File {
    pub(crate) fn new(room: usize) -> Self {
        Self { bytes: Arc::default(), room }
    }

    /// What was written.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }
}

impl Write for File {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().unwrap();
        if bytes.len() + data.len() > self.room {
            return Err(io::ErrorKind::StorageFull.into());
        }
        bytes.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
