//! Which chunks are handed over in one order: the ordered messages of a stream, or one unordered
//! message.

use std::collections::BTreeMap;

use crate::chunks::Chunks;

/// The groups of one direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Groups {
    /// Positions of chunks, in the order in which they are waited for.
    pub(crate) members: Vec<Vec<usize>>,
    /// The group of each chunk, and its place there.
    pub(crate) of: Vec<(usize, usize)>,
}

/// What names a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Ordered(u16),
    /// Of I-DATA: stream and MID.
    Numbered(u16, u32),
    /// Of DATA: the position of its first chunk.
    Run(usize),
}

impl Groups {
    pub(crate) fn of(chunks: &Chunks) -> Self {
        let (mut groups, mut known) = (Self::default(), BTreeMap::new());
        let mut streams: BTreeMap<u16, Last> = BTreeMap::new();
        for at in 0..chunks.0.len() {
            let Some(chunk) = chunks.0.get(at) else { break };
            let last = streams.entry(chunk.stream).or_default();
            let key = last.key_of(at, chunks);
            let next = groups.members.len();
            let group = *known.entry(key).or_insert(next);
            if group == next {
                groups.members.push(Vec::new());
            }
            if let Some(members) = groups.members.get_mut(group) {
                groups.of.push((group, members.len()));
                members.push(at);
            }
        }
        groups
    }
}

/// The chunk before in the same stream.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    key: Option<Key>,
    /// It ended an unordered message.
    ended: bool,
}

impl Last {
    fn key_of(&mut self, at: usize, chunks: &Chunks) -> Key {
        let Some(chunk) = chunks.0.get(at) else { return Key::Run(at) };
        let ordered = Key::Ordered(chunk.stream);
        let Some(label) = chunk.label else {
            // It never came: of what was before it, unless that was over.
            let open = self.key.filter(|key| *key != ordered && !self.ended);
            return open.unwrap_or(ordered);
        };
        if !label.unordered {
            *self = Self { key: Some(ordered), ended: false };
            return ordered;
        }
        let run = match self.key {
            Some(Key::Run(run)) if !self.ended && !label.begins => Key::Run(run),
            _ => Key::Run(at),
        };
        let key = if label.interleaved { Key::Numbered(chunk.stream, label.message) } else { run };
        *self = Self { key: Some(key), ended: label.ends };
        key
    }
}
