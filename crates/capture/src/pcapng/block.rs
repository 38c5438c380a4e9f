//! Blocks and options as the format lays them out: little-endian, padded to 32 bits, with the
//! length at both ends.

const END_OF_OPTIONS: u16 = 0;

/// A block being put together. Its memory is used again for the next one.
#[derive(Debug, Default)]
pub(super) struct Block {
    bytes: Vec<u8>,
    has_options: bool,
}

impl Block {
    /// Begins a block of this type, forgetting the one before.
    pub(super) fn begin_type(&mut self, block_type: u32) -> &mut Self {
        self.bytes.clear();
        self.has_options = false;
        // The second word is the length, known at the end.
        self.push_u32(block_type).push_u32(0)
    }

    pub(super) fn push_u16(&mut self, value: u16) -> &mut Self {
        self.push_raw(&value.to_le_bytes())
    }

    pub(super) fn push_u32(&mut self, value: u32) -> &mut Self {
        self.push_raw(&value.to_le_bytes())
    }

    pub(super) fn push_u64(&mut self, value: u64) -> &mut Self {
        self.push_raw(&value.to_le_bytes())
    }

    /// Bytes, followed by zeros up to a multiple of four.
    pub(super) fn push_padded(&mut self, bytes: &[u8]) -> &mut Self {
        self.push_raw(bytes);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self
    }

    /// An option; what exceeds the 65,535 bytes of its length field is cut off.
    pub(super) fn push_option(&mut self, code: u16, value: &[u8]) -> &mut Self {
        self.has_options = true;
        let len = u16::try_from(value.len()).unwrap_or(u16::MAX);
        self.push_u16(code).push_u16(len).push_padded(value.get(..len.into()).unwrap_or_default())
    }

    /// A text option, cut at a character's border; an empty text is left out.
    pub(super) fn text_option(&mut self, code: u16, text: &str) -> &mut Self {
        let end = (0..=text.len().min(u16::MAX.into())).rev().find(|&at| text.is_char_boundary(at));
        let text = end.and_then(|end| text.get(..end)).unwrap_or_default();
        if text.is_empty() { self } else { self.push_option(code, text.as_bytes()) }
    }

    /// Ends the options and fills in the lengths. `None` if the block is too long for the format.
    pub(super) fn finish(&mut self) -> Option<&[u8]> {
        if self.has_options {
            self.push_u16(END_OF_OPTIONS).push_u16(0);
        }
        let len = u32::try_from(self.bytes.len() + 4).ok()?;
        self.bytes.get_mut(4..8)?.copy_from_slice(&len.to_le_bytes());
        Some(&self.push_u32(len).bytes)
    }

    fn push_raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }
}
