//! No cipher: the content stays readable, and a tag that anybody could make tells changed packets
//! apart. As cheap as that can be, for worlds of many packets.

use super::direction::{Cipher, Header, Nonce, SAMPLE_LEN, TAG_LEN};
use super::suite::{KeyMaterial, Suite};
use crate::mix::{absorb, mix};

/// What stands for a cipher.
#[derive(Debug)]
pub(super) struct StandInCipher {
    content: u64,
    numbers: u64,
}

impl StandInCipher {
    pub(super) fn new(keys: &KeyMaterial) -> Option<Self> {
        let len = Suite::StandIn.key_len();
        let whole = keys.key.len() == len && keys.number_key.len() == len;
        let key = |bytes| absorb(0x6b65_7973, bytes);
        whole.then(|| Self { content: key(&keys.key), numbers: key(&keys.number_key) })
    }

    fn tag(&self, nonce: Nonce, header: Header, content: &[u8]) -> [u8; TAG_LEN] {
        let start = absorb(absorb(self.content, &nonce), &header);
        let sum = absorb(start, content);
        let mut tag = [0; TAG_LEN];
        let (low, high) = tag.split_at_mut(TAG_LEN / 2);
        low.copy_from_slice(&sum.to_le_bytes());
        high.copy_from_slice(&mix(sum).to_le_bytes());
        tag
    }
}

impl Cipher for StandInCipher {
    fn seal(&self, nonce: Nonce, header: Header, content: &mut [u8]) -> Option<[u8; TAG_LEN]> {
        Some(self.tag(nonce, header, content))
    }

    fn open(&self, nonce: Nonce, header: Header, record: &mut [u8]) -> bool {
        record
            .split_last_chunk::<TAG_LEN>()
            .is_some_and(|(content, tag)| self.tag(nonce, header, content) == *tag)
    }

    fn mask(&self, sample: &[u8; SAMPLE_LEN]) -> Option<[u8; 2]> {
        let [first, second, ..] = absorb(self.numbers, sample).to_le_bytes();
        Some([first, second])
    }
}
