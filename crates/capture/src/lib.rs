//! What a run leaves behind for people to look at: packets in pcapng for Wireshark and tshark
//! ([`pcapng`]), and typed events as lines of JSON ([`trace`]).
//!
//! ```
//! use polypath_capture::pcapng::{IpFramer, PacketOptions, PcapngWriter, Route};
//!
//! let route = Route::new("10.0.0.1".parse()?, "10.0.0.2".parse()?);
//! let (mut framer, mut packet) = (IpFramer::default(), Vec::new());
//! framer.frame_packet(&route, b"an SCTP packet", &mut packet)?;
//!
//! let mut writer = PcapngWriter::new(Vec::new(), "polypath")?;
//! let interface = writer.add_interface("path-a", "client to server", 65_535)?;
//! // At 1.5 s.
//! writer.add_packet(interface, 1_500_000_000, &packet, PacketOptions::default())?;
//! let file: Vec<u8> = writer.finish()?;
//! # assert!(file.len() > packet.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! - `schema` (off by default): JSON schemas of trace files by `schemars`.

pub mod pcapng;
pub mod trace;
