//! Messages in parts: those that an application hands in part by part, and those that it receives
//! so.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use polypath_proto::event::Part;
use polypath_proto::ids::StreamId;
use polypath_proto::{AssocHandle, Message, SendOptions};

/// A message that was begun and not ended.
#[derive(Clone, Debug)]
pub(super) struct Unfinished {
    pub(super) handle: AssocHandle,
    pub(super) stream: StreamId,
    pub(super) options: SendOptions,
    /// What is still to be handed in.
    pub(super) rest: Bytes,
    /// Bytes of a part.
    pub(super) part: usize,
}

impl Unfinished {
    /// The next part, and whether it is the last.
    pub(super) fn next_part(&self) -> (Bytes, bool) {
        let len = self.part.min(self.rest.len());
        (self.rest.slice(..len), len == self.rest.len())
    }

    /// The next part was taken.
    pub(super) fn note_taken(&mut self) {
        let (part, _) = self.next_part();
        self.rest = self.rest.slice(part.len()..);
    }
}

/// The stream of an association, and whether its ordered or its unordered messages.
type Key = (AssocHandle, StreamId, bool);

/// Messages of which parts were received.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    begun: BTreeMap<Key, (Message, BytesMut)>,
    /// Messages whose rest will not come, as was said.
    aborted: BTreeMap<Key, u32>,
}

impl Assembly {
    /// A message or a part of one was received: the whole message, if this ends it.
    ///
    /// # Errors
    /// The part fits nothing.
    pub(super) fn take_part(
        &mut self,
        handle: AssocHandle,
        part: Message,
    ) -> Result<Option<Message>, String> {
        let key = (handle, part.stream, part.unordered);
        // Whole unordered messages may come in between the parts of another.
        if part.part.is_whole() && part.unordered {
            return Ok(Some(part));
        }
        let Part { first, last } = part.part;
        if first {
            self.drop_unfinished(key)?;
            let mut head = part.clone();
            head.data = Bytes::new();
            self.begun.insert(key, (head, BytesMut::new()));
        }
        let Some((_, data)) = self.begun.get_mut(&key) else {
            return Err(format!("a part that continues nothing: {part:?}"));
        };
        data.extend_from_slice(&part.data);
        let ended = last.then(|| self.begun.remove(&key)).flatten();
        Ok(ended.map(|(mut message, data)| {
            (message.data, message.part) = (data.freeze(), Part::WHOLE);
            message
        }))
    }

    /// The rest of a message will not come.
    pub(super) fn abort_message(&mut self, handle: AssocHandle, stream: StreamId, unordered: bool) {
        *self.aborted.entry((handle, stream, unordered)).or_default() += 1;
    }

    /// The association ended, or begins anew.
    ///
    /// # Errors
    /// A message was begun, and nobody said that its rest will not come.
    pub(super) fn end_association(&mut self, handle: AssocHandle) -> Result<(), String> {
        let keys: Vec<Key> = self.begun.keys().filter(|key| key.0 == handle).copied().collect();
        let forgotten = keys.into_iter().try_for_each(|key| self.drop_unfinished(key));
        self.begun.retain(|key, _| key.0 != handle);
        self.aborted.retain(|key, _| key.0 != handle);
        forgotten
    }

    /// Drops what was begun there, if it was said that it will not be ended.
    fn drop_unfinished(&mut self, key: Key) -> Result<(), String> {
        let Some((message, data)) = self.begun.remove(&key) else { return Ok(()) };
        match self.aborted.get_mut(&key).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                Ok(())
            }
            None => Err(format!(
                "message {} was begun on stream {}, {} bytes, and its rest never came",
                message.ppid,
                message.stream,
                data.len()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: AssocHandle = AssocHandle(1);

    fn part(data: &'static [u8], first: bool, last: bool) -> Message {
        let mut message = Message::new(StreamId(3), Bytes::from_static(data));
        (message.ppid, message.part) = (7, Part { first, last });
        message
    }

    #[test]
    fn parts_become_their_message() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.take_part(HERE, part(b"one ", true, false)), Ok(None));
        assert_eq!(assembly.take_part(HERE, part(b"two ", false, false)), Ok(None));
        let whole = assembly.take_part(HERE, part(b"three", false, true)).unwrap().unwrap();
        assert_eq!((&whole.data[..], whole.part), (&b"one two three"[..], Part::WHOLE));
        assert!(assembly.take_part(HERE, part(b"four", false, true)).is_err());
        assert_eq!(assembly.end_association(HERE), Ok(()));
    }

    #[test]
    fn what_is_begun_is_ended_or_said_to_be_aborted() {
        let mut assembly = Assembly::default();
        assert_eq!(assembly.take_part(HERE, part(b"one", true, false)), Ok(None));
        assembly.abort_message(HERE, StreamId(3), false);
        assert_eq!(assembly.take_part(HERE, part(b"two", true, false)), Ok(None));
        assert!(assembly.take_part(HERE, part(b"three", true, true)).is_err());
        assert_eq!(assembly.take_part(HERE, part(b"four", true, false)), Ok(None));
        assert!(assembly.end_association(HERE).is_err());
    }
}
