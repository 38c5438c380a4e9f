//! HMACs against values computed independently (Python's `hmac` and `hashlib`, the vectors built by hand):
//!
//! ```text
//! par(t, v) = pack('>HH', t, len(v) + 4) + v
//! a = par(0x8002, 00..1f) + par(0x8003, 80 c1) + par(0x8004, 0003 0001)
//! b = par(0x8002, 20..3f) + par(0x8003, 00 80 c1) + par(0x8004, 0001 0003)
//! hmac(secret + b + a, AUTH with zeros + ASCONF)      # a is the longer, hence the larger
//! ```

use polypath_wire::{Chunk, PacketView};

use super::*;
use crate::config::{AssocConfig, AuthConfig, AuthKey, ExtensionConfig, HmacAlgorithm};

const ASCONF: [u8; 16] = [0xc1, 0, 0, 16, 0, 0, 0, 7, 0, 5, 0, 8, 10, 0, 0, 1];

fn offer(first: u8, chunks: &[u8], hmacs: &[u16]) -> AuthOffer {
    let random = core::array::from_fn(|i| first + i as u8);
    AuthOffer { random, chunks: Some(chunks.to_vec()), hmacs: hmacs.to_vec() }
}

fn a() -> AuthOffer {
    offer(0, &[0x80, 0xc1], &[3, 1])
}

fn b() -> AuthOffer {
    offer(32, &[0, 0x80, 0xc1], &[1, 3])
}

fn auth(ours: AuthOffer, peer: &AuthOffer, key: u16) -> Auth {
    let keys = vec![
        AuthKey { id: 0, secret: Vec::new() },
        AuthKey { id: 5, secret: b"polypath shared secret".to_vec() },
    ];
    let mut auth = Auth::new(ours, &AuthConfig { keys, active: key, ..AuthConfig::default() });
    auth.agree(peer, &[]);
    auth
}

/// The signed AUTH chunk of `auth` and the ASCONF behind it.
fn signed(auth: &mut Auth) -> Vec<u8> {
    let mut bytes = auth.blank().unwrap().to_vec();
    bytes.extend_from_slice(&ASCONF);
    auth.sign(&mut bytes);
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn judge(auth: &mut Auth, covered: &[u8]) -> Result<Option<u16>, AuthFault> {
    let mut packet = vec![0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
    packet.extend_from_slice(covered);
    let view = PacketView::parse(&packet, polypath_wire::ChecksumCheck::Skip).unwrap();
    let Chunk::Auth(chunk) = view.chunks().next().unwrap().unwrap().decode().unwrap() else {
        panic!("AUTH expected")
    };
    auth.verify(&chunk, covered)
}

#[test]
fn hmacs_are_those_that_others_compute() {
    // What `b` sends is for `a`, which likes SHA-256 best; and the other way round.
    let golden = [
        (0, true, "171cb1656242064e6a63376279beb57ad3a561bd"),
        (0, false, "2e231265e88b72501e54b7214be18531b74b74beaa1c5e61ad6c86b13c4d1dbc"),
        (5, true, "c105b6b48ac3c28a2f1a580af387c9092b5d787b"),
        (5, false, "65e2b44e4d6b8cbf52f300f7dd2802df6f01c5098a181d2efff75fb6c084be0c"),
    ];
    for (key, a_sends, wanted) in golden {
        let (from, to) = if a_sends { (a(), b()) } else { (b(), a()) };
        let mut sender = auth(from.clone(), &to, key);
        let bytes = signed(&mut sender);
        let end = bytes.len() - ASCONF.len();
        assert_eq!(hex(&bytes[8..end]), wanted);
        let mut receiver = auth(to, &from, 0);
        assert_eq!(judge(&mut receiver, &bytes), Ok((key != 0).then_some(key)));
        assert_eq!(judge(&mut receiver, &bytes), Ok(None), "news once");
    }
}

#[test]
fn what_must_be_authentic_must_be_so_in_any_form() {
    use crate::config::{AssocConfig, ExtensionConfig, NrSack};
    let (data, i_data, sack, nr_sack) = (0, 64, 3, 16);
    let mut config = AssocConfig::default();
    config.auth.chunks = vec![data, sack];
    let listed = |config: &AssocConfig| AuthOffer::ours(config, [0; 32]).chunks.unwrap();
    assert_eq!(listed(&config), [data, sack]);
    config.extensions = ExtensionConfig { interleaving: true, ..ExtensionConfig::NONE };
    config.cmt.nr_sack = NrSack::Received;
    assert_eq!(listed(&config), [data, sack, nr_sack, i_data]);
    config.auth.chunks = vec![nr_sack];
    assert_eq!(listed(&config), [sack, nr_sack]);
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = signed(&mut auth(a(), &b(), 5));
    let mut receiver = auth(b(), &a(), 0);
    for bit in 0..bytes.len() * 8 {
        // Type and length of the AUTH chunk itself decide whether it is one.
        if bit < 32 {
            continue;
        }
        let mut forged = bytes.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(judge(&mut receiver, &forged).is_err(), "bit {bit}");
    }
}

#[test]
fn short_hmacs_unknown_keys_and_hmacs_not_offered_prove_nothing() {
    let mut sender = auth(a(), &b(), 5);
    let bytes = signed(&mut sender);
    let mut receiver = auth(b(), &a(), 0);
    let mut short = bytes.clone();
    short.drain(24..28);
    short[3] -= 4;
    assert_eq!(judge(&mut receiver, &short), Err(AuthFault::Forged));
    receiver.keys_mut().delete(5).unwrap();
    assert_eq!(judge(&mut receiver, &bytes), Err(AuthFault::Forged));
    let mut other = bytes;
    other[7] = 2;
    assert_eq!(judge(&mut receiver, &other), Err(AuthFault::UnsupportedHmac(2)));
    // Known, but not offered.
    let mut picky = auth(offer(32, &[], &[1]), &a(), 0);
    other[7] = 3;
    assert_eq!(judge(&mut picky, &other), Err(AuthFault::UnsupportedHmac(3)));
}

#[test]
fn types_that_cannot_be_authenticated_are_neither_listed_nor_heeded() {
    let peer = offer(0, &[0, 1, 2, 14, 15], &[9, 3, 1]);
    let auth = auth(a(), &peer, 0);
    assert!(auth.demands(0));
    assert!([1, 2, 14, 15].into_iter().all(|kind| !auth.demands(kind)));
    assert_eq!(peer.preferred_hmac(), Some(HmacAlgorithm::Sha256));
    let mut config = AssocConfig { extensions: ExtensionConfig::ALL, ..AssocConfig::default() };
    config.auth.chunks = vec![15, 14, 2, 1, 10, 0, 0xc1];
    config.auth.hmacs = vec![HmacAlgorithm::Sha256];
    let ours = AuthOffer::ours(&config, [0; 32]);
    assert_eq!(ours.chunks, Some(vec![0, 4, 5, 10, 64, 0x80, 0xc1]));
    assert_eq!(ours.hmacs, [3, 1], "SHA-1 is never left out");
    assert_eq!(AuthOffer::ours(&AssocConfig::default(), [0; 32]).chunks, None);
}

#[test]
fn absent_chunk_lists_are_left_out_of_the_keys() {
    let none = AuthOffer { chunks: None, ..a() };
    assert_eq!(none.vector().len(), 36 + 8);
    assert_eq!(a().vector().len(), 36 + 6 + 8);
}
