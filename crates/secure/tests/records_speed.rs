//! What a packet costs, beside what its cipher alone does in the same program:
//! `cargo test --release -p polypath-secure --test records_speed -- --ignored --nocapture`.
#![cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]
#![expect(clippy::disallowed_types, reason = "it measures")]

use std::hint::black_box;
use std::time::Instant;

use polypath_proto::PathId;
use polypath_proto::protection::{HEADROOM, Protection};
use polypath_proto::time::Time;
use polypath_secure::{FixedKeys, RecordKeys, Suite};
use ring::aead::{AES_128_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

const PACKETS: usize = 2000;
const ROUNDS: usize = 60;
const BATCH: usize = 50;

/// The least of some rounds, nanoseconds for each of a number of packets.
fn least(mut round: impl FnMut()) -> f64 {
    let time = |round: &mut dyn FnMut()| {
        let start = Instant::now();
        round();
        start.elapsed().as_nanos() as f64 / PACKETS as f64
    };
    (0..ROUNDS).map(|_| time(&mut round)).fold(f64::MAX, f64::min)
}

fn alone(algorithm: &'static Algorithm, len: usize) -> [f64; 2] {
    let key = LessSafeKey::new(UnboundKey::new(algorithm, &vec![1; algorithm.key_len()]).unwrap());
    let nonce = || Nonce::assume_unique_for_key([7; 12]);
    let mut packet = vec![1; len + 1];
    let seal = least(|| {
        for _ in 0..PACKETS {
            let tag = key.seal_in_place_separate_tag(nonce(), Aad::from([1, 2, 3]), &mut packet);
            black_box(tag.is_ok());
        }
    });
    let tag = key.seal_in_place_separate_tag(nonce(), Aad::from([1, 2, 3]), &mut packet).unwrap();
    packet.extend_from_slice(tag.as_ref());
    let mut copy = Vec::new();
    let open = least(|| {
        for _ in 0..PACKETS {
            copy.clear();
            copy.extend_from_slice(&packet);
            assert!(key.open_in_place(nonce(), Aad::from([1, 2, 3]), &mut copy).is_ok());
        }
    });
    [seal, open]
}

fn records(suite: Suite, len: usize) -> [f64; 2] {
    let bytes = vec![1; if suite == Suite::ChaCha20Poly1305 { 32 } else { 16 }];
    let keys = || RecordKeys { key: &bytes, number_key: &bytes, iv: [7; 12] };
    let end = || FixedKeys::new(Time::ZERO, suite, 3, keys(), keys()).unwrap();
    let mut sender = end();
    let mut packet = Vec::new();
    let plain = vec![1; HEADROOM + len];
    let seal = least(|| {
        for _ in 0..PACKETS {
            packet.clear();
            packet.extend_from_slice(&plain);
            assert!(sender.seal(Time::ZERO, &mut packet, 0));
        }
    });
    let copies = least(|| {
        for _ in 0..PACKETS {
            packet.clear();
            packet.extend_from_slice(black_box(&plain));
        }
    });
    // Few at a time, so that they are where the cipher alone has its packet: in the cache.
    let (mut sender, mut receiver) = (end(), end());
    let mut chunks = vec![Vec::new(); BATCH];
    let mut open = f64::MAX;
    for round in 0..ROUNDS * PACKETS / BATCH {
        for chunk in &mut chunks {
            chunk.clear();
            chunk.extend_from_slice(&plain);
            assert!(sender.seal(Time::ZERO, chunk, 0));
            chunk.truncate(HEADROOM + len + 17);
        }
        let start = Instant::now();
        for (n, chunk) in chunks.iter_mut().enumerate() {
            let now = Time((round * BATCH + n) as u64 * 1120);
            assert!(receiver.open(now, Some(PathId(0)), chunk).is_ok());
        }
        open = open.min(start.elapsed().as_nanos() as f64 / BATCH as f64);
    }
    [seal - copies, open]
}

#[test]
#[ignore = "prints times and asserts nothing: to be run by hand, with --release and --nocapture"]
fn records_cost_little_more_than_their_cipher() {
    for (suite, algorithm) in
        [(Suite::Aes128Gcm, &AES_128_GCM), (Suite::ChaCha20Poly1305, &CHACHA20_POLY1305)]
    {
        for len in [1400, 64] {
            let ([seal, open], [seal_alone, open_alone]) =
                (records(suite, len), alone(algorithm, len));
            println!(
                "{suite:?} {len} bytes: seal {seal:.0} ns, cipher alone {seal_alone:.0} ({:.2}); \
                 open {open:.0} ns, cipher alone {open_alone:.0} ({:.2})",
                seal / seal_alone,
                open / open_alone,
            );
        }
    }
    let [seal, open] = records(Suite::StandIn, 1400);
    println!("StandIn 1400 bytes: seal {seal:.0} ns, open {open:.0} ns");
}
