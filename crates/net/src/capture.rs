//! Packets written to a pcapng file as they pass the sockets.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use polypath_capture::pcapng::{
    Direction, InterfaceId, IpFramer, PacketOptions, PcapngWriter, Route, UdpPorts, WriteError,
};
use polypath_proto::FourTuple;
use polypath_wire::chunk::kind;
use polypath_wire::{COMMON_HEADER_LEN, checksum};

/// Paths that are remembered with their interfaces, at most twice so many.
const REMEMBERED: usize = 512;

/// Interfaces in a file: readers keep them all. Further paths share one.
const INTERFACES: usize = 65_536;

/// Packets of strangers that are written, per second.
const STRANGERS_PER_SECOND: u32 = 1000;

/// What a file says of itself that shows protected packets in plain.
const PLAIN: &str = "Packets that were protected (DTLS chunk) are shown with the chunks inside, as \
                     before they were sealed or after they were opened, and with the comment \
                     'protected'; on the wire each was 28 bytes longer or so.";

/// What it says of each of them.
const PROTECTED: &str = "protected";

/// Writes packets, with IP and UDP headers made up from their addresses, to a pcapng file. Clones
/// write to the same file. An error stops the capture, not the transfer; [`finish`](Self::finish)
/// reports it.
///
/// Each path of an association is an interface of the file. What belongs to no association (set-ups
/// that we only answer, mistakes, attacks) is on one interface together, "strangers", at most 1000
/// packets a second of it: whoever floods a server shall not fill its disk.
///
/// Protected packets are shown with their chunks in plain, which the file says of itself: whoever
/// has it can read what was sent. They are written when they are made, a moment before they leave.
/// What could not be opened is shown as it came; [`of_wire`](Self::of_wire) shows all so.
#[derive(Clone)]
pub struct Capture {
    inner: Arc<Mutex<Inner>>,
    shows: Shows,
}

/// What is shown of protected packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// The chunks inside.
    Plain,
    /// The bytes on the wire.
    Wire,
}

struct Inner {
    writer: Option<PcapngWriter<Box<dyn Write + Send>>>,
    framer: IpFramer,
    paths: Paths,
    strangers: Option<InterfaceId>,
    quota: Quota,
    frame: Vec<u8>,
    /// A packet in plain, with its checksum.
    plain: Vec<u8>,
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
        Self::begin(out, Shows::Plain)
    }

    /// Begins a capture file with the bytes on the wire: what is in protected packets cannot be
    /// read.
    ///
    /// # Errors
    /// When the output fails.
    pub fn of_wire(out: impl Write + Send + 'static) -> Result<Self, WriteError> {
        Self::begin(out, Shows::Wire)
    }

    fn begin(out: impl Write + Send + 'static, shows: Shows) -> Result<Self, WriteError> {
        let out: Box<dyn Write + Send> = Box::new(out);
        let comment = (shows == Shows::Plain).then_some(PLAIN);
        let application = concat!("polypath ", env!("CARGO_PKG_VERSION"));
        let writer = PcapngWriter::with_comment(out, application, comment)?;
        let inner = Arc::new(Mutex::new(Inner {
            writer: Some(writer),
            framer: IpFramer::default(),
            paths: Paths::default(),
            strangers: None,
            quota: Quota::default(),
            frame: Vec::new(),
            plain: Vec::new(),
            error: None,
        }));
        Ok(Self { inner, shows })
    }

    /// Whether protected packets are shown with their chunks in plain.
    pub(crate) fn wants_plain(&self) -> bool {
        self.shows == Shows::Plain
    }

    /// Flushes the file and ends the capture.
    ///
    /// # Errors
    /// The first error of the whole capture.
    pub fn finish(&self) -> Result<(), WriteError> {
        let mut inner = self.lock();
        if let Some(error) = inner.error.take() {
            return Err(error);
        }
        inner.writer.take().map_or(Ok(()), |writer| writer.finish().map(drop))
    }

    /// Takes note that an association sends along `tuple`: its packets are not a stranger's.
    pub(crate) fn note_association(&self, tuple: FourTuple) {
        self.lock().try_to(|inner| inner.name_path(tuple));
    }

    /// Writes one SCTP packet that just left us or just arrived.
    pub(crate) fn write_packet(&self, tuple: FourTuple, outbound: bool, data: &[u8]) {
        self.lock().try_to(|inner| inner.write_packet(tuple, outbound, data, None));
    }

    /// Writes one SCTP packet that is sealed on the wire, without a checksum, as it is in plain.
    pub(crate) fn write_plain(&self, tuple: FourTuple, outbound: bool, data: &[u8]) {
        self.lock().try_to(|inner| inner.write_plain(tuple, outbound, data));
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a packet is one DTLS chunk.
pub(crate) fn is_sealed(packet: &[u8]) -> bool {
    packet.get(COMMON_HEADER_LEN) == Some(&kind::DTLS)
}

impl Inner {
    /// Does something, unless an error has ended the capture.
    fn try_to(&mut self, act: impl FnOnce(&mut Self) -> Result<(), WriteError>) {
        if self.error.is_none()
            && let Err(error) = act(self)
        {
            self.error = Some(error);
        }
    }

    fn write_plain(
        &mut self,
        tuple: FourTuple,
        outbound: bool,
        data: &[u8],
    ) -> Result<(), WriteError> {
        let mut plain = core::mem::take(&mut self.plain);
        plain.clear();
        plain.extend_from_slice(data);
        // Readers would call a packet without one damaged.
        let sum = checksum::packet_checksum(&plain).to_le_bytes();
        if let Some(field) = plain.get_mut(COMMON_HEADER_LEN - sum.len()..COMMON_HEADER_LEN) {
            field.copy_from_slice(&sum);
        }
        let written = self.write_packet(tuple, outbound, &plain, Some(PROTECTED));
        self.plain = plain;
        written
    }

    fn name_path(&mut self, tuple: FourTuple) -> Result<(), WriteError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        if self.paths.interface(tuple).is_some() {
            return Ok(());
        }
        let id = match self.paths.count {
            0..INTERFACES => {
                let name = format!("{} - {}", tuple.local, tuple.remote);
                writer.add_interface(&name, "", 0)?
            }
            _ => add_common(&mut self.strangers, writer)?,
        };
        self.paths.insert(tuple, id);
        Ok(())
    }

    /// The interface for a packet; `None`: one too many of strangers.
    fn interface_for(
        &mut self,
        tuple: FourTuple,
        now_ns: u64,
    ) -> Result<Option<InterfaceId>, WriteError> {
        let Some(writer) = &mut self.writer else { return Ok(None) };
        if let Some(id) = self.paths.interface(tuple) {
            return Ok(Some(id));
        }
        if !self.quota.may_pass(now_ns) {
            return Ok(None);
        }
        add_common(&mut self.strangers, writer).map(Some)
    }

    fn write_packet(
        &mut self,
        tuple: FourTuple,
        outbound: bool,
        data: &[u8],
        comment: Option<&str>,
    ) -> Result<(), WriteError> {
        let now_ns = epoch_nanos();
        let Some(interface) = self.interface_for(tuple, now_ns)? else { return Ok(()) };
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let (from, to) =
            if outbound { (tuple.local, tuple.remote) } else { (tuple.remote, tuple.local) };
        let ports = UdpPorts { source: from.port(), destination: to.port() };
        // Raw IP has no UDP ports.
        let udp = (to.port() != 0).then_some(ports);
        let route = Route { udp, ..Route::new(from.ip(), to.ip()) };
        self.frame.clear();
        if self.framer.frame_packet(&route, data, &mut self.frame).is_err() {
            return Ok(());
        }
        let direction = if outbound { Direction::Outbound } else { Direction::Inbound };
        let options =
            PacketOptions { direction: Some(direction), comment, ..PacketOptions::default() };
        writer.add_packet(interface, now_ns, &self.frame, options)
    }
}

/// The interface of all that has none of its own.
fn add_common<W: Write>(
    strangers: &mut Option<InterfaceId>,
    writer: &mut PcapngWriter<W>,
) -> Result<InterfaceId, WriteError> {
    match strangers {
        Some(id) => Ok(*id),
        none => Ok(*none.insert(writer.add_interface("strangers", "", 0)?)),
    }
}

/// The interfaces of paths: the latest used ones, and those of before.
#[derive(Debug, Default)]
struct Paths {
    latest: BTreeMap<FourTuple, InterfaceId>,
    earlier: BTreeMap<FourTuple, InterfaceId>,
    /// Interfaces that were ever made.
    count: usize,
}

impl Paths {
    fn interface(&mut self, tuple: FourTuple) -> Option<InterfaceId> {
        if let Some(id) = self.latest.get(&tuple) {
            return Some(*id);
        }
        let id = self.earlier.remove(&tuple)?;
        self.note_use(tuple, id);
        Some(id)
    }

    fn insert(&mut self, tuple: FourTuple, id: InterfaceId) {
        self.count += 1;
        self.note_use(tuple, id);
    }

    fn note_use(&mut self, tuple: FourTuple, id: InterfaceId) {
        if self.latest.len() >= REMEMBERED {
            self.earlier = core::mem::take(&mut self.latest);
        }
        self.latest.insert(tuple, id);
    }
}

/// What strangers may have of the file.
#[derive(Debug, Default)]
struct Quota {
    second: u64,
    written: u32,
}

impl Quota {
    fn may_pass(&mut self, now_ns: u64) -> bool {
        let second = now_ns / 1_000_000_000;
        if second != self.second {
            *self = Self { second, written: 0 };
        }
        self.written += u32::from(self.written < STRANGERS_PER_SECOND + 1);
        self.written <= STRANGERS_PER_SECOND
    }
}

/// What the file's time stamps count: nanoseconds since 1970.
fn epoch_nanos() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of the file by type.
    fn blocks(file: &[u8], kind: u32) -> usize {
        let mut rest = file;
        let mut count = 0;
        while let Some((head, _)) = rest.split_first_chunk::<8>() {
            let [k0, k1, k2, k3, l0, l1, l2, l3] = *head;
            count += usize::from(u32::from_le_bytes([k0, k1, k2, k3]) == kind);
            rest = &rest[u32::from_le_bytes([l0, l1, l2, l3]) as usize..];
        }
        count
    }

    #[derive(Clone, Default)]
    struct File(Arc<Mutex<Vec<u8>>>);

    impl Write for File {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn tuple(n: u32) -> FourTuple {
        let remote = (std::net::Ipv4Addr::from_bits(0x0a00_0000 + n), 9899).into();
        FourTuple { local: ([192, 0, 2, 1], 9899).into(), remote }
    }

    #[test]
    fn strangers_share_an_interface_and_do_not_fill_the_disk() {
        let file = File::default();
        let capture = Capture::new(file.clone()).unwrap();
        for n in 0..50_000 {
            capture.write_packet(tuple(n), false, &[0; 40]);
        }
        capture.finish().unwrap();
        let file = file.0.lock().unwrap();
        assert_eq!(blocks(&file, 1), 1);
        // The clock may have passed into another second meanwhile, or a few on a slow machine.
        let written = blocks(&file, 6);
        assert!((1000..=10_000).contains(&written), "{written} packets");
    }

    #[test]
    fn a_path_keeps_its_interface_and_few_are_remembered() {
        let file = File::default();
        let capture = Capture::new(file.clone()).unwrap();
        for n in 0..5_000 {
            capture.note_association(tuple(n));
            capture.note_association(tuple(0));
            capture.write_packet(tuple(0), true, &[0; 40]);
            capture.write_packet(tuple(n), false, &[0; 40]);
        }
        let inner = capture.lock();
        assert!(inner.paths.latest.len() + inner.paths.earlier.len() <= 2 * REMEMBERED);
        drop(inner);
        capture.finish().unwrap();
        let file = file.0.lock().unwrap();
        assert_eq!((blocks(&file, 1), blocks(&file, 6)), (5_000, 10_000));
    }
}
