//! Messages that leave the send queues unsent.

use std::collections::VecDeque;

use bytes::Bytes;
use polypath_wire::DataFlags;

use super::{Kind, Queued, SendQueue};
use crate::ids::{MessageId, StreamId};
use crate::policy::StreamScheduler;
use crate::sender::lists::trim;
use crate::sender::types::DequeuedFragment;

/// What [`SendQueue::remove`] took out.
#[derive(Debug)]
pub(in crate::sender) struct Removed {
    /// Unsent bytes.
    pub(in crate::sender) bytes: u64,
    /// Where the message was begun: an empty last chunk, so that its TSN, which is never sent, can
    /// be skipped.
    pub(in crate::sender) tail: Option<DequeuedFragment>,
}

impl SendQueue {
    /// Unsent bytes of a message.
    pub(in crate::sender) fn unsent_of(&self, stream: StreamId, id: MessageId) -> u64 {
        let mut unsent = self.stream(stream).into_iter().flat_map(super::Stream::unsent);
        unsent.find(|m| m.id == id).map_or(0, |message| message.remaining() as u64)
    }

    /// Removes what is unsent of a message that was handed in whole.
    pub(in crate::sender) fn remove(
        &mut self,
        stream: StreamId,
        id: MessageId,
        scheduler: &mut dyn StreamScheduler,
    ) -> Option<Removed> {
        let in_order = self.key_messages == 0;
        let s = self.streams.get_mut(usize::from(stream.0))?;
        let message =
            take(&mut s.queue, id, in_order).or_else(|| take(s.held.as_mut()?, id, in_order))?;
        let (bytes, begun) = (message.remaining() as u64, !message.begins());
        let flags = DataFlags {
            unordered: message.options.unordered,
            ending: true,
            ..DataFlags::default()
        };
        s.unsent_bytes -= bytes;
        self.unsent -= bytes;
        self.messages -= 1;
        let mut tail = None;
        if begun {
            let kind = if self.interleaving { Kind::IData } else { Kind::Data };
            let number = s.numbers.next(kind, flags.unordered, true);
            s.ordered_in_flight += u32::from(!flags.unordered);
            if self.interleaving {
                self.note_begun(stream, None);
            } else {
                self.in_progress = None;
            }
            let (payload, ppid) = (Bytes::new(), message.options.ppid);
            tail = Some(DequeuedFragment {
                message: id,
                payload,
                number,
                ppid,
                flags,
                may_be_abandoned: true,
            });
        }
        self.refresh_head(stream);
        scheduler.on_removed(&self.heads(), stream);
        Some(Removed { bytes, tail })
    }
}

/// The application's messages are in the order of their ids. Of key management's, a few stand before
/// messages that are older: where there are any, a search by halves may miss what is there.
fn take(queue: &mut VecDeque<Queued>, id: MessageId, in_order: bool) -> Option<Queued> {
    let found = queue.binary_search_by_key(&id, |m| m.id).ok();
    let anywhere = || queue.iter().position(|m| m.id == id).filter(|_| !in_order);
    let at = found.or_else(anywhere)?;
    let removed = queue.remove(at);
    trim(queue);
    removed
}
