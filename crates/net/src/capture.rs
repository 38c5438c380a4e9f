//! Packets written to a pcapng file as they pass the sockets.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use polypath_capture::pcapng::{
    Direction, InterfaceId, IpFramer, PacketOptions, PcapngWriter, Route, UdpPorts, WriteError,
};
use polypath_proto::FourTuple;

/// Writes packets, with IP and UDP headers made up from their addresses, to a pcapng file. Clones write to the same file. An error
/// stops the capture, not the transfer; [`finish`](Self::finish) reports it.
#[derive(Clone)]
pub struct Capture(Arc<Mutex<Inner>>);

struct Inner {
    writer: Option<PcapngWriter<Box<dyn Write + Send>>>,
    framer: IpFramer,
    interfaces: Vec<(FourTuple, InterfaceId)>,
    frame: Vec<u8>,
    error: Option<WriteError>,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Capture")
    }
}

impl Capture {
    /// Begins a capture file.
    ///
    /// # Errors
    /// When the output fails.
    pub fn new(out: impl Write + Send + 'static) -> Result<Self, WriteError> {
        let out: Box<dyn Write + Send> = Box::new(out);
        let writer = PcapngWriter::new(out, concat!("polypath ", env!("CARGO_PKG_VERSION")))?;
        Ok(Self(Arc::new(Mutex::new(Inner {
            writer: Some(writer),
            framer: IpFramer::default(),
            interfaces: Vec::new(),
            frame: Vec::new(),
            error: None,
        }))))
    }

    /// Flushes the file and ends the capture.
    ///
    /// # Errors
    /// The first error of the whole capture.
    pub fn finish(&self) -> Result<(), WriteError> {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = inner.error.take() {
            return Err(error);
        }
        inner.writer.take().map_or(Ok(()), |writer| writer.finish().map(drop))
    }

    /// Writes one SCTP packet that just left us or just arrived.
    pub(crate) fn packet(&self, tuple: FourTuple, outbound: bool, data: &[u8]) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.error.is_none()
            && let Err(error) = inner.write(tuple, outbound, data)
        {
            inner.error = Some(error);
        }
    }
}

impl Inner {
    fn write(&mut self, tuple: FourTuple, outbound: bool, data: &[u8]) -> Result<(), WriteError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let known = self.interfaces.iter().find(|(t, _)| *t == tuple).map(|(_, id)| *id);
        let interface = match known {
            Some(id) => id,
            None => {
                let name = format!("{} - {}", tuple.local, tuple.remote);
                let id = writer.interface(&name, "", 0)?;
                self.interfaces.push((tuple, id));
                id
            }
        };
        let (from, to) =
            if outbound { (tuple.local, tuple.remote) } else { (tuple.remote, tuple.local) };
        let ports = UdpPorts { source: from.port(), destination: to.port() };
        // Raw IP has no UDP ports.
        let udp = (to.port() != 0).then_some(ports);
        let route = Route { udp, ..Route::new(from.ip(), to.ip()) };
        self.frame.clear();
        if self.framer.frame(&route, data, &mut self.frame).is_err() {
            return Ok(());
        }
        let direction = if outbound { Direction::Outbound } else { Direction::Inbound };
        let options = PacketOptions { direction: Some(direction), ..PacketOptions::default() };
        writer.packet(interface, epoch_nanos(), &self.frame, options)
    }
}

/// What the file's time stamps count: nanoseconds since 1970.
fn epoch_nanos() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
