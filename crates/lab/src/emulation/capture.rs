//! Captures of an emulated network as pcapng.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use polypath_capture::pcapng::{Direction, InterfaceId, PacketOptions, PcapngWriter, WriteError};
use polypath_emu::{Emulation, NetworkSpec};

use crate::output::Output;
use crate::run::{RunError, file_error, write_error};

/// Greatest IP packet.
const MAX_PACKET: u32 = 65_535;

/// Writes every packet that hosts send onto a route, whatever becomes of it: one interface per path and direction, as in captures of
/// the simulator. The file appears under its name once it is [finished](Self::finish).
#[derive(Clone, Debug)]
pub struct Capture {
    path: PathBuf,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    writer: Option<PcapngWriter<Output>>,
    /// By route.
    interfaces: Vec<InterfaceId>,
    error: Option<WriteError>,
}

impl Capture {
    /// Begins a capture of a network of this specification.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path, spec: &NetworkSpec) -> Result<Self, RunError> {
        let out = Output::create(path).map_err(|error| file_error(path, error))?;
        let begin = || {
            let version = concat!("polypath ", env!("CARGO_PKG_VERSION"));
            let mut writer = PcapngWriter::new(out, version)?;
            let interfaces = spec.routes.iter().map(|route| {
                writer.interface(
                    &route.path,
                    &format!("{} to {}", route.from, route.to),
                    MAX_PACKET,
                )
            });
            let interfaces = interfaces.collect::<Result<Vec<_>, _>>()?;
            Ok(Inner { writer: Some(writer), interfaces, error: None })
        };
        let inner = begin().map_err(|error| write_error(path, error))?;
        Ok(Self { path: path.to_owned(), inner: Arc::new(Mutex::new(inner)) })
    }

    /// Has the network tell of its packets from now on.
    ///
    /// # Errors
    /// When the network has stopped.
    pub fn attach(&self, emulation: &Emulation) -> Result<(), polypath_emu::Error> {
        let inner = Arc::clone(&self.inner);
        emulation.watch(Box::new(move |at, route, packet| {
            inner.lock().unwrap_or_else(PoisonError::into_inner).packet(at, route, packet);
        }))
    }

    /// Ends the file and gives it its name.
    ///
    /// # Errors
    /// The first error of the whole capture.
    pub fn finish(&self) -> Result<(), RunError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = inner.error.take() {
            return Err(write_error(&self.path, error));
        }
        let Some(writer) = inner.writer.take() else { return Ok(()) };
        let out = writer.finish().map_err(|error| write_error(&self.path, error))?;
        out.keep().map_err(|error| file_error(&self.path, error))
    }
}

impl Inner {
    /// An error stops the capture, not the network.
    fn packet(&mut self, at: u64, route: usize, packet: &[u8]) {
        let options =
            PacketOptions { direction: Some(Direction::Outbound), ..PacketOptions::default() };
        if let (Some(writer), Some(interface), None) =
            (&mut self.writer, self.interfaces.get(route), &self.error)
        {
            self.error = writer.packet(*interface, at, packet, options).err();
        }
    }
}
