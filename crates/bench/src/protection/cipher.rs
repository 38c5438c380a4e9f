//! A cipher alone: what it takes to seal and to open what is in a packet.

use std::hint::black_box;

use anyhow::{Result, anyhow, ensure};
use polypath_secure::Suite;
use ring::aead::quic::{self, HeaderProtectionKey};
use ring::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};

use super::packets::{BATCH, Times};
use crate::cpu;

/// A key, and packets under way.
pub(crate) struct Cipher {
    key: LessSafeKey,
    numbers: HeaderProtectionKey,
    plain: Vec<u8>,
    sealed: Vec<u8>,
    batch: Vec<Vec<u8>>,
    /// What reading the clock takes.
    clock: f64,
}

/// As long as a record's header.
const HEADER: [u8; 3] = [0x2f, 1, 2];

impl Cipher {
    /// For records of `chunks` bytes of chunks, and the content type behind them.
    pub(crate) fn new(suite: Suite, chunks: usize) -> Result<Self> {
        let (algorithm, numbers) = match suite {
            Suite::Aes128Gcm => (&aead::AES_128_GCM, &quic::AES_128),
            Suite::ChaCha20Poly1305 => (&aead::CHACHA20_POLY1305, &quic::CHACHA20),
            other => return Err(anyhow!("{other:?}: not measured")),
        };
        let (bytes, bad) = (vec![7; algorithm.key_len()], |_| anyhow!("a key of another length"));
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &bytes).map_err(bad)?);
        let numbers = HeaderProtectionKey::new(numbers, &bytes).map_err(bad)?;
        let plain = vec![0xa5; chunks + 1];
        let mut sealed = plain.clone();
        key.seal_in_place_append_tag(nonce(), Aad::from(HEADER), &mut sealed)
            .map_err(|_| anyhow!("too long"))?;
        let batch = (0..BATCH).map(|_| Vec::with_capacity(2048)).collect();
        let clock = cpu::clock_cost()?;
        Ok(Self { key, numbers, plain, sealed, batch, clock })
    }

    /// Nanoseconds for each of `packets`; as `all`, those for the mask of a record's number (RFC
    /// 9147 section 4.2.3), which is in neither of the others.
    pub(crate) fn work(&mut self, packets: usize) -> Result<Times> {
        let (mut seal, mut open, mut mask) = (0.0, 0.0, 0.0);
        let batches = packets / BATCH;
        for _ in 0..batches {
            self.fill_batch(false);
            seal += self.time(|this, packet| {
                let tag = this.key.seal_in_place_separate_tag(nonce(), Aad::from(HEADER), packet);
                tag.is_ok_and(|tag| black_box(tag.as_ref().len()) > 0)
            })?;
            self.fill_batch(true);
            mask += self.time(|this, packet| {
                let sample = packet.get(..16).and_then(|sample| this.numbers.new_mask(sample).ok());
                black_box(sample).is_some()
            })?;
            open += self.time(|this, packet| {
                this.key.open_in_place(nonce(), Aad::from(HEADER), packet).is_ok()
            })?;
        }
        let [send, receive, all] = [seal, open, mask].map(|time| time / (batches * BATCH) as f64);
        Ok(Times { send, receive, all })
    }

    fn fill_batch(&mut self, sealed: bool) {
        let content = if sealed { &self.sealed } else { &self.plain };
        for packet in &mut self.batch {
            packet.clear();
            packet.extend_from_slice(content);
        }
    }

    fn time(&mut self, one: impl Fn(&Self, &mut Vec<u8>) -> bool) -> Result<f64> {
        let mut batch = core::mem::take(&mut self.batch);
        let (good, time) =
            cpu::measure_thread(|| batch.iter_mut().all(|packet| one(self, packet)))?;
        self.batch = batch;
        ensure!(good, "the cipher failed");
        Ok(time - self.clock)
    }
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([9; 12])
}
