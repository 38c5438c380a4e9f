//! Records that ours seals, opened by another library's DTLS 1.3 connection (dimpl), with the keys of
//! that connection: `cargo run` in this folder. The keys come out of its key derivation, of which it
//! lets anyone bring a part. For each cipher and each direction: numbers in order, after a gap, out
//! of order, and beyond 16 bits; and what was changed on its way is dropped.
//!
//! Not the reverse: dimpl writes the length into its records (RFC 9147 section 4, L), which the DTLS
//! chunk has not, and the header is part of what the tag covers. There `tools/records-golden.py`
//! stands for the other side.

mod derivation;

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use derivation::Derivation;
use dimpl::crypto::Dtls13CipherSuite;
use dimpl::{Config, Dtls, DtlsCertificate, Output};
use polypath_proto::protection::{FIRST_EPOCH, HEADROOM, Protection};
use polypath_proto::time::Time;
use polypath_secure::{FixedKeys, RecordKeys, Suite};

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    for (theirs, ours) in [
        (Dtls13CipherSuite::AES_128_GCM_SHA256, Suite::Aes128Gcm),
        (Dtls13CipherSuite::AES_256_GCM_SHA384, Suite::Aes256Gcm),
        (Dtls13CipherSuite::CHACHA20_POLY1305_SHA256, Suite::ChaCha20Poly1305),
    ] {
        for (direction, label) in [("client", "c ap traffic"), ("server", "s ap traffic")] {
            let mut pair = Pair::connected(theirs)?;
            let opened = pair.open_ours(ours, direction == "client", label)?;
            println!("{ours:?}, as {direction}: {opened} records of ours opened by dimpl");
        }
    }
    Ok(())
}

struct Pair {
    client: Dtls,
    server: Dtls,
    derivation: &'static Derivation,
}

impl Pair {
    fn connected(suite: Dtls13CipherSuite) -> Result<Self, Failure> {
        let mut provider = dimpl::crypto::rust_crypto::default_provider();
        let derivation = Derivation::of(provider.hmac_provider);
        provider.hmac_provider = derivation;
        let config =
            Config::builder().with_crypto_provider(provider).dtls13_cipher_suites(&[suite]);
        let config = Arc::new(config.build()?);
        let certificate = || DtlsCertificate {
            certificate: include_bytes!("../certificate.der").to_vec(),
            private_key: include_bytes!("../key.der").to_vec(),
        };
        let now = Instant::now();
        let mut client = Dtls::new_13(Arc::clone(&config), certificate(), now);
        let mut server = Dtls::new_13(config, certificate(), now);
        client.set_active(true);
        client.handle_timeout(now)?;
        server.handle_timeout(now)?;
        let mut connected = [false; 2];
        for _ in 0..50 {
            connected[0] |= pump(&mut client, &mut server)?;
            connected[1] |= pump(&mut server, &mut client)?;
        }
        if connected != [true; 2] {
            return Err("dimpl's two ends did not connect".into());
        }
        Ok(Self { client, server, derivation })
    }

    /// Seals with one end's keys, and gives that to the other.
    fn open_ours(&mut self, suite: Suite, as_client: bool, label: &str) -> Result<u32, Failure> {
        let secret = self.derivation.last(label).ok_or("no secret of that name")?;
        let [key, number_key, iv] =
            ["key", "sn", "iv"].map(|part| self.derivation.of_secret(&secret, part));
        let (key, number_key) = (key.ok_or("no key")?, number_key.ok_or("no number key")?);
        let iv = iv.ok_or("no iv")?.try_into().map_err(|_| "an iv of another length")?;
        let keys = RecordKeys { key: &key, number_key: &number_key, iv };
        let mut ours = FixedKeys::new(Time::ZERO, suite, FIRST_EPOCH, keys, keys)
            .ok_or("keys of other lengths")?;
        let receiver = if as_client { &mut self.server } else { &mut self.client };

        // Numbers that dimpl has used itself, for acknowledgements, are passed over.
        (0..100).for_each(|_| drop(seal(&mut ours, b"passed over")));
        let mut opened = 0;
        let mut expect = |record: &[u8], content: Option<&[u8]>| -> Result<(), Failure> {
            receiver.handle_packet(record)?;
            if data(receiver).as_deref() != content {
                return Err(format!("record {opened} is not what was sealed").into());
            }
            opened += u32::from(content.is_some());
            Ok(())
        };
        for len in [1, 4, 64, 1000, 1400] {
            let content = vec![0xa5; len];
            expect(&seal(&mut ours, &content), Some(&content))?;
        }
        let [first, second] = [b"first", b"secon"].map(|content| seal(&mut ours, content));
        expect(&second, Some(b"secon"))?;
        expect(&first, Some(b"first"))?;
        expect(&first, None)?;
        for at in 0..first.len() {
            let mut changed = seal(&mut ours, b"changed");
            if let Some(byte) = changed.get_mut(at) {
                *byte ^= 0x80;
            }
            expect(&changed, None)?;
        }
        for number in 0..70_000_u32 {
            expect(&seal(&mut ours, &number.to_be_bytes()), Some(&number.to_be_bytes()))?;
        }
        Ok(opened)
    }
}

/// Carries what one end says to the other, and tells whether it is connected.
fn pump(from: &mut Dtls, to: &mut Dtls) -> Result<bool, Failure> {
    let (mut buffer, mut connected) = (vec![0; 4096], false);
    loop {
        match from.poll_output(&mut buffer) {
            Output::Packet(packet) => to.handle_packet(packet)?,
            Output::Connected => connected = true,
            Output::Timeout(_) => return Ok(connected),
            _ => {}
        }
    }
}

/// Application data that came.
fn data(end: &mut Dtls) -> Option<Vec<u8>> {
    let (mut buffer, mut data) = (vec![0; 4096], None);
    loop {
        match end.poll_output(&mut buffer) {
            Output::ApplicationData(content) => data = Some(content.to_vec()),
            Output::Timeout(_) => return data,
            _ => {}
        }
    }
}

/// The record in a DTLS chunk of ours.
fn seal(keys: &mut FixedKeys, content: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; HEADROOM];
    packet.extend_from_slice(content);
    assert!(keys.seal(Time::ZERO, &mut packet, 0));
    // The chunk's header has its length; a zero byte stands before the record.
    let len = usize::from(u16::from_be_bytes([packet[2], packet[3]]));
    packet[5..len].to_vec()
}
