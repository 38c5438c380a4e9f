//! Packets that the system here refused to send: their data never left, so it need not wait for a
//! timer to be known as lost.

use polypath_wire::{ChecksumCheck, Chunk, PacketView};

use super::sending_half::Sender;
use crate::ids::PathId;
use crate::path::PathSet;
use crate::tsn_map::extend;

impl Sender {
    /// `packet` was too large for the interface of `p`, which is known to carry less now: its data
    /// goes out again at once, in smaller packets or in one that IP may fragment. No chunk is taken
    /// back for ever: only from its first flight, or when the path is `newly` known to carry less;
    /// what is refused again waits for T3. Gives whether there is something to send again.
    pub(crate) fn take_back_packet(
        &mut self,
        p: PathId,
        packet: &[u8],
        newly: bool,
        paths: &mut PathSet,
    ) -> bool {
        let Ok(view) = PacketView::parse(packet, ChecksumCheck::Skip) else { return false };
        let mut taken = false;
        for raw in view.chunks().map_while(Result::ok) {
            let tsn = match raw.decode() {
                Ok(Chunk::Data(data)) => data.tsn,
                Ok(Chunk::IData(data)) => data.tsn,
                _ => continue,
            };
            taken |= self.take_back(extend(self.cum_ack(), tsn), p, newly, paths);
        }
        taken
    }
}
