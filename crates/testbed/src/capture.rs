//! Captures of an emulated network as pcapng.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use polypath_capture::pcapng::{Direction, InterfaceId, PacketOptions, PcapngWriter, WriteError};
use polypath_emu::{Emulation, NetworkSpec};

/// Greatest IP packet.
const MAX_PACKET: u32 = 65_535;

/// Writes every packet that hosts send onto a route, whatever becomes of it: one interface per path
/// and direction, as in captures of the simulator. It is whole once it is
/// [finished](Self::finish_capture).
#[derive(Debug)]
pub struct Capture<W> {
    inner: Arc<Mutex<Inner<W>>>,
}

#[derive(Debug)]
struct Inner<W> {
    writer: Option<PcapngWriter<W>>,
    /// By route.
    interfaces: Vec<InterfaceId>,
    error: Option<WriteError>,
}

impl<W: Write + Send + 'static> Capture<W> {
    /// Begins a capture of a network of this specification.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn new(out: W, spec: &NetworkSpec) -> Result<Self, WriteError> {
        let version = concat!("polypath ", env!("CARGO_PKG_VERSION"));
        let mut writer = PcapngWriter::new(out, version)?;
        let interfaces = spec.routes.iter().map(|route| {
            let way = format!("{} to {}", route.from, route.to);
            writer.add_interface(&route.path, &way, MAX_PACKET)
        });
        let interfaces = interfaces.collect::<Result<Vec<_>, _>>()?;
        let inner = Inner { writer: Some(writer), interfaces, error: None };
        Ok(Self { inner: Arc::new(Mutex::new(inner)) })
    }

    /// Has the network tell of its packets from now on.
    ///
    /// # Errors
    /// When the network has stopped.
    pub fn attach_to(&self, emulation: &Emulation) -> Result<(), polypath_emu::Error> {
        let inner = Arc::clone(&self.inner);
        emulation.watch_packets(Box::new(move |at, route, packet| {
            inner.lock().unwrap_or_else(PoisonError::into_inner).write_packet(at, route, packet);
        }))
    }

    /// Ends the capture, and gives back where it was written; nothing the second time.
    ///
    /// # Errors
    /// The first error of the whole capture.
    pub fn finish_capture(&self) -> Result<Option<W>, WriteError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        match inner.error.take() {
            Some(error) => Err(error),
            None => inner.writer.take().map(PcapngWriter::finish).transpose(),
        }
    }
}

impl<W: Write> Inner<W> {
    /// An error stops the capture, not the network.
    fn write_packet(&mut self, at: u64, route: usize, packet: &[u8]) {
        let options =
            PacketOptions { direction: Some(Direction::Outbound), ..PacketOptions::default() };
        if let (Some(writer), Some(interface), None) =
            (&mut self.writer, self.interfaces.get(route), &self.error)
        {
            self.error = writer.add_packet(*interface, at, packet, options).err();
        }
    }
}
