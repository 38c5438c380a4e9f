//! Ethernet frames, and what routing looks at in them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub(crate) const ETHERNET_HEADER: usize = 14;

/// A frame in a buffer that is larger than it.
#[derive(Debug)]
pub(crate) struct Frame {
    buffer: Box<[u8]>,
    len: usize,
}

impl Frame {
    /// An empty frame with room for an IP packet of `mtu` bytes.
    pub(crate) fn with_room(mtu: u32) -> Self {
        let room = ETHERNET_HEADER + mtu as usize;
        Self { buffer: vec![0; room].into_boxed_slice(), len: 0 }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(..self.len).unwrap_or_default()
    }

    pub(crate) fn buffer(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Says how many bytes of the buffer are the frame.
    pub(crate) fn set_len(&mut self, len: usize) {
        self.len = len.min(self.buffer.len());
    }

    /// The IP packet inside.
    pub(crate) fn packet(&self) -> &[u8] {
        self.bytes().get(ETHERNET_HEADER..).unwrap_or_default()
    }

    /// The IP packet inside, to be changed.
    pub(crate) fn packet_mut(&mut self) -> &mut [u8] {
        let len = self.len;
        self.buffer.get_mut(ETHERNET_HEADER..len).unwrap_or_default()
    }

    /// Another packet, as far as there is room, in a frame with the same header and room.
    pub(crate) fn with_packet(&self, packet: &[u8]) -> Self {
        let mut buffer = self.buffer.clone();
        let room = buffer.get_mut(ETHERNET_HEADER..).unwrap_or_default();
        let len = packet.len().min(room.len());
        room.iter_mut().zip(packet).for_each(|(place, byte)| *place = *byte);
        Self { buffer, len: ETHERNET_HEADER + len }
    }

    /// Bytes of the IP packet inside.
    pub(crate) fn ip_bytes(&self) -> u32 {
        // Frames are below 64 KiB.
        self.len.saturating_sub(ETHERNET_HEADER) as u32
    }

    /// Source and destination, if it is an IP packet.
    pub(crate) fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        let bytes = self.bytes();
        match bytes.get(12..ETHERNET_HEADER)? {
            [0x08, 0x00] => Some((read_ipv4(bytes.get(26..30)?)?, read_ipv4(bytes.get(30..34)?)?)),
            [0x86, 0xdd] => Some((read_ipv6(bytes.get(22..38)?)?, read_ipv6(bytes.get(38..54)?)?)),
            _ => None,
        }
    }
}

fn read_ipv4(bytes: &[u8]) -> Option<IpAddr> {
    Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into())
}

fn read_ipv6(bytes: &[u8]) -> Option<IpAddr> {
    Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A frame with an IPv4 packet of `bytes` bytes.
    pub(crate) fn ipv4(from: [u8; 4], to: [u8; 4], bytes: usize) -> Frame {
        let mut frame = Frame::with_room(1500);
        frame.set_len(ETHERNET_HEADER + bytes);
        frame.buffer()[12..14].copy_from_slice(&[0x08, 0x00]);
        frame.buffer()[26..30].copy_from_slice(&from);
        frame.buffer()[30..34].copy_from_slice(&to);
        frame
    }

    #[test]
    fn addresses_are_found_in_both_families() {
        let frame = ipv4([10, 0, 1, 1], [10, 0, 1, 2], 20);
        let addresses = ("10.0.1.1".parse().unwrap(), "10.0.1.2".parse().unwrap());
        assert_eq!(frame.addresses(), Some(addresses));
        assert_eq!(frame.ip_bytes(), 20);
        let mut frame = Frame::with_room(100);
        frame.set_len(54);
        frame.buffer()[12..14].copy_from_slice(&[0x86, 0xdd]);
        frame.buffer()[37] = 1;
        frame.buffer()[53] = 2;
        assert_eq!(frame.addresses(), Some(("::1".parse().unwrap(), "::2".parse().unwrap())));
    }

    #[test]
    fn what_is_no_ip_packet_or_cut_short_has_none() {
        let mut frame = ipv4([1; 4], [2; 4], 20);
        frame.buffer()[12..14].copy_from_slice(&[0x08, 0x06]);
        assert_eq!(frame.addresses(), None);
        for len in 0..34 {
            let mut frame = ipv4([1; 4], [2; 4], 20);
            frame.set_len(len);
            assert_eq!(frame.addresses(), None, "{len}");
        }
    }
}
