//! Packets that the system here refused to send: their data never left, so nobody need wait for a timer to learn that it is lost.

use polypath_wire::{ChecksumCheck, Chunk, PacketView};

use super::Association;
use crate::ids::PathId;
use crate::policy::Trigger;
use crate::tsn_map::extend;

impl Association {
    /// `packet` was too large for the interface of `p`, which is known to carry less now: its data goes out again at once, in smaller packets
    /// or in one that IP may fragment. But no chunk is taken back for ever: only from its first flight, or when the path is `newly` known to
    /// carry less; what is refused again waits for T3.
    pub(super) fn take_back(&mut self, p: PathId, packet: &[u8], newly: bool) {
        let Ok(view) = PacketView::parse(packet, ChecksumCheck::Skip) else { return };
        let mut taken = false;
        for raw in view.chunks().map_while(Result::ok) {
            let tsn = match raw.decode() {
                Ok(Chunk::Data(data)) => data.tsn,
                Ok(Chunk::IData(data)) => data.tsn,
                _ => continue,
            };
            taken |= self.tx.take_back(extend(self.tx.cum_ack(), tsn), p, newly, &mut self.paths);
        }
        if taken {
            self.trigger(Trigger::Path);
        }
    }
}
