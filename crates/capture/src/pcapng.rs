//! pcapng files (draft-ietf-opsawg-pcapng) of IP packets, with times in nanoseconds.
//!
//! ```
//! use polypath_capture::pcapng::{Direction, IpFramer, PacketOptions, PcapngWriter, Route};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let route = Route::new("10.0.0.1".parse()?, "10.0.0.2".parse()?);
//! let (mut framer, mut packet) = (IpFramer::default(), Vec::new());
//! framer.frame_packet(&route, b"an SCTP packet", &mut packet)?;
//!
//! let mut writer = PcapngWriter::new(Vec::new(), "polypath")?;
//! let interface = writer.add_interface("path-a", "client to server", 65_535)?;
//! let options = PacketOptions { direction: Some(Direction::Outbound), ..PacketOptions::default() };
//! writer.add_packet(interface, 1_500_000_000, &packet, options)?;
//! let file: Vec<u8> = writer.finish()?;
//! # assert!(file.len() > packet.len());
//! # Ok(())
//! # }
//! ```

mod block;
mod ip;
mod writer;

#[cfg(test)]
mod tests;

pub use ip::{FrameError, IpFramer, Route, UdpPorts};
pub use writer::{Direction, InterfaceId, PacketOptions, PcapngWriter, WriteError};
