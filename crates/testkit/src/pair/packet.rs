//! Packets on their way between two ends.

use polypath_proto::FourTuple;
use polypath_proto::time::{Duration, Time};
use polypath_wire::{ChecksumCheck, PacketView};

/// Which way a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From the client.
    ToServer,
    /// From the server.
    ToClient,
}

/// A packet under way, as its receiver sees it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// When it arrives, unless its fate is another.
    pub at: Time,
    /// Which way it goes.
    pub way: Way,
    /// Its path, as the receiver sees it.
    pub tuple: FourTuple,
    /// Its bytes.
    pub data: Vec<u8>,
    /// Don't Fragment is off.
    pub may_fragment: bool,
}

impl Packet {
    /// Types of the chunks.
    pub fn kinds(&self) -> Vec<u8> {
        let view = PacketView::parse(&self.data, ChecksumCheck::Verify).expect("valid packet");
        view.chunks().map(|chunk| chunk.expect("valid chunk").kind).collect()
    }

    /// Type of the first chunk.
    pub fn first_kind(&self) -> u8 {
        self.kinds()[0]
    }

    /// Flags of the first chunk.
    pub fn first_flags(&self) -> u8 {
        let view = PacketView::parse(&self.data, ChecksumCheck::Verify).expect("valid");
        view.chunks().next().expect("a chunk").expect("valid").flags
    }

    /// The verification tag.
    pub fn tag(&self) -> u32 {
        PacketView::parse(&self.data, ChecksumCheck::Verify)
            .expect("valid")
            .header()
            .verification_tag
    }
}

/// What to do with a packet that was just sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It arrives.
    Deliver,
    /// It does not.
    Lose,
    /// It arrives later by this much.
    Delay(Duration),
}
