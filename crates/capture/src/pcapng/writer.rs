//! The file: one section, its interfaces, and the packets seen on them.

use std::io::{self, Write};

use super::block::Block;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
/// The writer streams and does not know how long the section gets.
const UNKNOWN_LENGTH: u64 = u64::MAX;
/// LINKTYPE_RAW: packets begin with their IPv4 or IPv6 header.
const RAW_IP: u16 = 101;
/// Times in units of 10^-9 s.
const NANOSECONDS: u8 = 9;

const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;
const EPB_DROPCOUNT: u16 = 4;

/// Writes one pcapng section of IP packets.
///
/// It makes one write per block; give it a [`std::io::BufWriter`] if that is costly.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    block: Block,
    /// Snapshot length of each interface in bytes.
    snaplens: Vec<u32>,
}

/// An interface of one [`PcapngWriter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InterfaceId(u32);

/// Which way a packet crossed its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the host.
    Inbound,
    /// Out of the host.
    Outbound,
}

/// What can be said about a packet besides its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketOptions<'a> {
    /// Which way it went, if that is known.
    pub direction: Option<Direction>,
    /// A remark for the reader, of which the first 65,535 bytes are kept.
    pub comment: Option<&'a str>,
    /// Packets lost on this interface between the packet before and this one.
    pub dropped: u64,
}

/// Why something could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The output refused the bytes.
    #[error("pcapng output: {0}")]
    Io(#[from] io::Error),
    /// The interface belongs to another writer.
    #[error("interface {interface}: unknown (allowed: below {interfaces})")]
    UnknownInterface {
        /// The interface's number.
        interface: u32,
        /// How many interfaces this writer has.
        interfaces: usize,
    },
    /// A block, or the number of interfaces, exceeds the format's 32 bits.
    #[error("pcapng block: too long (allowed: 32-bit lengths and interface numbers)")]
    TooLong,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a section and names the application that writes it.
    ///
    /// # Errors
    /// When the output fails.
    pub fn new(out: W, application: &str) -> Result<Self, WriteError> {
        Self::with_comment(out, application, None)
    }

    /// The same, with a remark on the whole section, of which the first 65,535 bytes are kept.
    ///
    /// # Errors
    /// When the output fails.
    pub fn with_comment(
        out: W,
        application: &str,
        comment: Option<&str>,
    ) -> Result<Self, WriteError> {
        let mut writer = Self { out, block: Block::default(), snaplens: Vec::new() };
        let block = writer.block.begin_type(SECTION_HEADER);
        block.push_u32(BYTE_ORDER_MAGIC).push_u16(1).push_u16(0).push_u64(UNKNOWN_LENGTH);
        if let Some(comment) = comment {
            block.text_option(OPT_COMMENT, comment);
        }
        block.text_option(SHB_USERAPPL, application);
        writer.write_block()?;
        Ok(writer)
    }

    /// Adds an interface, which keeps the first `snaplen` bytes of each packet, or all of them when
    /// `snaplen` is 0.
    ///
    /// # Errors
    /// When the output fails.
    pub fn add_interface(
        &mut self,
        name: &str,
        description: &str,
        snaplen: u32,
    ) -> Result<InterfaceId, WriteError> {
        let id = u32::try_from(self.snaplens.len()).map_err(|_| WriteError::TooLong)?;
        let block = self.block.begin_type(INTERFACE_DESCRIPTION);
        block.push_u16(RAW_IP).push_u16(0).push_u32(snaplen);
        block.text_option(IF_NAME, name).text_option(IF_DESCRIPTION, description);
        block.push_option(IF_TSRESOL, &[NANOSECONDS]);
        self.write_block()?;
        self.snaplens.push(snaplen);
        Ok(InterfaceId(id))
    }

    /// Adds a packet, which begins with its IP header and was seen `at_ns` nanoseconds after the
    /// epoch.
    ///
    /// # Errors
    /// When the output fails, the interface is another writer's, or the packet exceeds 4 GiB.
    pub fn add_packet(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        data: &[u8],
        options: PacketOptions<'_>,
    ) -> Result<(), WriteError> {
        let captured = self.captured_part(interface, data)?;
        let captured_len = u32::try_from(captured.len()).map_err(|_| WriteError::TooLong)?;
        let len = u32::try_from(data.len()).map_err(|_| WriteError::TooLong)?;
        let block = self.block.begin_type(ENHANCED_PACKET);
        // The halves of the time go high word first, whatever the byte order.
        block.push_u32(interface.0).push_u32((at_ns >> 32) as u32).push_u32(at_ns as u32);
        block.push_u32(captured_len).push_u32(len).push_padded(captured);
        put_options(block, options);
        self.write_block()
    }

    /// Flushes the output and gives it back.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn captured_part<'a>(
        &self,
        interface: InterfaceId,
        data: &'a [u8],
    ) -> Result<&'a [u8], WriteError> {
        let unknown = WriteError::UnknownInterface {
            interface: interface.0,
            interfaces: self.snaplens.len(),
        };
        match self.snaplens.get(interface.0 as usize) {
            None => Err(unknown),
            Some(0) => Ok(data),
            Some(&snaplen) => Ok(data.get(..snaplen as usize).unwrap_or(data)),
        }
    }

    fn write_block(&mut self) -> Result<(), WriteError> {
        let block = self.block.finish().ok_or(WriteError::TooLong)?;
        Ok(self.out.write_all(block)?)
    }
}

fn put_options(block: &mut Block, options: PacketOptions<'_>) {
    if let Some(comment) = options.comment {
        block.text_option(OPT_COMMENT, comment);
    }
    if let Some(direction) = options.direction {
        let flags: u32 = match direction {
            Direction::Inbound => 0b01,
            Direction::Outbound => 0b10,
        };
        block.push_option(EPB_FLAGS, &flags.to_le_bytes());
    }
    if options.dropped > 0 {
        block.push_option(EPB_DROPCOUNT, &options.dropped.to_le_bytes());
    }
}
