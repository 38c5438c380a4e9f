//! Packets that leave and come as one DTLS chunk.

use core::ops::Range;

use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, CommonHeader, PacketView, PacketWriter};

use crate::association::Association;
use crate::extension::protection::ProtectionState;
use crate::ids::PathId;
use crate::protection::OVERHEAD;
use crate::time::Time;

impl Association {
    /// Whether packets leave protected: all, once there are keys for it, but those that set an
    /// association up (draft-ietf-tsvwg-sctp-dtls-chunk section 5.2).
    #[inline]
    pub(in crate::association) fn seals(&self) -> bool {
        let sealing = |state: &ProtectionState| {
            state.keys.as_ref().is_some_and(|keys| keys.seals()) && !self.state.is_setup()
        };
        self.protection.as_deref().is_some_and(sealing)
    }

    /// Bytes that protection takes of each packet, whether it is there yet or not: messages are cut
    /// for it from the beginning.
    #[inline]
    pub(in crate::association) fn protection_reserve(&self) -> usize {
        if self.protection.is_some() { OVERHEAD } else { 0 }
    }

    /// Makes one DTLS chunk of all chunks of the packet. `None` if there is no key any more: then
    /// the packet must not leave.
    #[inline]
    pub(in crate::association) fn seal<'b>(
        &mut self,
        now: Time,
        writer: PacketWriter<'b>,
    ) -> Option<PacketWriter<'b>> {
        let keeps_plain = self.endpoint.keeps_plain;
        let Some(state) = self.protection.as_mut() else {
            writer.abandon();
            return None;
        };
        if keeps_plain {
            let header = CommonHeader {
                source_port: self.local.port,
                destination_port: self.peer.port,
                verification_tag: self.peer.tag,
                checksum: 0,
            };
            state.plain.clear();
            state.plain.extend_from_slice(&header.to_bytes());
            state.plain.extend_from_slice(writer.chunk_area());
        }
        let keys = &mut state.keys;
        let sealed =
            writer.seal(|packet, at| keys.as_mut().is_some_and(|keys| keys.seal(now, packet, at)));
        if sealed.is_none() {
            self.drive_keys(now);
            self.end_without_words();
        }
        sealed
    }

    /// A packet of ours that was not sent, as it would have been without protection: what it holds
    /// can go out again. `None` if it cannot be opened any more.
    pub(in crate::association) fn reopen_packet(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let view = PacketView::parse(packet, ChecksumCheck::Skip).ok()?;
        let raw = view.chunks().next()?.ok().filter(|raw| raw.kind == kind::DTLS)?;
        let mut plain = view.header().to_bytes().to_vec();
        let keys = self.protection.as_ref()?.keys.as_ref()?;
        keys.open_own(raw.bytes(), &mut plain).then_some(plain)
    }

    /// Whether packets that come as a DTLS chunk can be opened.
    pub(crate) fn opens_packets(&self) -> bool {
        self.protection.as_ref().is_some_and(|state| state.keys.is_some())
    }

    /// Opens a DTLS chunk, given with its header and without padding: where the chunks in it are.
    /// Nothing but counters changes if it is not the peer's, or came before.
    pub(crate) fn open_packet(
        &mut self,
        now: Time,
        path: Option<PathId>,
        chunk: &mut [u8],
    ) -> Option<Range<usize>> {
        let state = self.protection.as_mut()?;
        let opened = state.keys.as_mut()?.open(now, path, chunk);
        if opened.is_ok() {
            state.probe.answered();
        }
        // A first packet may be what was waited for, and one too many that is forged the end.
        if opened.is_err() || !state.established {
            self.drive_keys(now);
        }
        opened.ok()
    }
}
