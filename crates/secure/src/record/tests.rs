//! Records against those of an independent encoder (`tools/records-golden.py`), and what is
//! refused.

use polypath_proto::PathId;
use polypath_proto::protection::{HEADROOM, OVERHEAD, OpenError, TRAILER};
use polypath_proto::time::Time;

use super::*;
use crate::aead::{IV_LEN, KeyMaterial, Suite};

/// A chunk around `content`, without padding behind it.
fn seal(sealer: &mut Sealer, content: &[u8]) -> Vec<u8> {
    let mut packet = vec![0xaa; 12 + HEADROOM];
    packet.extend_from_slice(content);
    assert!(sealer.seal(&mut packet, 12));
    assert_eq!(packet[..12], [0xaa; 12]);
    assert_eq!(packet.len() % 4, 0);
    let chunk = &packet[12..];
    let len = HEADROOM + content.len() + TRAILER;
    assert!(chunk[len..].iter().all(|byte| *byte == 0) && chunk.len() - len < 4);
    chunk[..len].to_vec()
}

fn open(opener: &mut Opener, paths: &mut Paths, chunk: &[u8]) -> Result<Vec<u8>, OpenError> {
    let mut chunk = chunk.to_vec();
    let arrival = Arrival { now: Time::ZERO, path: Some(PathId(0)) };
    let record = Record::parse(&chunk)?;
    if !opener.is_named_by(&record) {
        return Err(OpenError::NoKey);
    }
    let content = opener.open(arrival, paths, &record, &mut chunk)?;
    Ok(chunk[content].to_vec())
}

fn keys() -> KeyMaterial {
    KeyMaterial { key: vec![5; 16], number_key: vec![6; 16], iv: [7; IV_LEN] }
}

fn pair() -> (Sealer, Opener, Paths) {
    let suite = Suite::StandIn;
    let sealer = Sealer::new(4, suite, &keys()).unwrap();
    (sealer, Opener::new(4, suite, &keys()).unwrap(), Paths::default())
}

#[test]
fn what_was_sealed_is_opened_once() {
    let (mut sealer, mut opener, mut paths) = pair();
    for len in (0..70).chain([1400, layout::MAX_CONTENT]) {
        let content = vec![9; len];
        let chunk = seal(&mut sealer, &content);
        assert_eq!(open(&mut opener, &mut paths, &chunk), Ok(content), "{len}");
        assert_eq!(open(&mut opener, &mut paths, &chunk), Err(OpenError::Replayed), "{len}");
    }
    assert_eq!(OVERHEAD, 28);
}

#[test]
fn no_byte_may_change_but_those_that_are_ignored() {
    let (mut sealer, mut opener, mut paths) = pair();
    let chunk = seal(&mut sealer, &[9; 20]);
    for at in 0..chunk.len() {
        for bit in 0..8 {
            let mut changed = chunk.clone();
            changed[at] ^= 1 << bit;
            let (mut opener, mut paths) =
                (Opener::new(4, Suite::StandIn, &keys()).unwrap(), Paths::default());
            let result = open(&mut opener, &mut paths, &changed);
            // Flags but that of a restart are reserved, and pre-padding is ignored.
            let ignored = at == 4 || (at == 1 && bit > 0);
            assert_eq!(result.is_ok(), ignored, "{at} {bit}: {result:?}");
        }
    }
    let mut restart = chunk.clone();
    restart[1] = 1;
    assert_eq!(open(&mut opener, &mut paths, &restart), Err(OpenError::NoKey));
    for form in (0..=255).filter(|form| *form & 0b1111_1100 != 0b0010_1000) {
        let mut other = chunk.clone();
        other[5] = form;
        assert_eq!(open(&mut opener, &mut paths, &other), Err(OpenError::Malformed), "{form}");
    }
    for end in 0..chunk.len() {
        let mut short = chunk[..end].to_vec();
        if let Some(len) = short.get_mut(2..4) {
            len.copy_from_slice(&(end as u16).to_be_bytes());
        }
        assert!(open(&mut opener, &mut paths, &short).is_err(), "{end}");
    }
    assert!(open(&mut opener, &mut paths, &chunk).is_ok());
}

/// Seals `inner` as it is.
fn seal_inner(number: u64, inner: &[u8]) -> Vec<u8> {
    let cipher = crate::aead::cipher(Suite::StandIn, &keys()).unwrap();
    let header = layout::header(4, number);
    let mut sealed = inner.to_vec();
    let tag = cipher.seal(nonce(keys().iv, number), header, &mut sealed).unwrap();
    sealed.extend_from_slice(&tag);
    let mask = cipher.mask(sealed.first_chunk().unwrap()).unwrap();
    let record = [header[0], header[1] ^ mask[0], header[2] ^ mask[1]];
    let mut chunk = layout::front((HEADROOM + sealed.len()) as u16, record).to_vec();
    chunk.extend_from_slice(&sealed);
    chunk
}

#[test]
fn padding_behind_the_content_type_is_dropped_and_other_types_are_refused() {
    let (_, mut opener, mut paths) = pair();
    let mut open = |inner: &[u8], number| open(&mut opener, &mut paths, &seal_inner(number, inner));
    assert_eq!(open(&[1, 2, 0, 23, 0, 0, 0], 0), Ok(vec![1, 2, 0]));
    assert_eq!(open(&[23, 0], 1), Ok(vec![]));
    for (number, bad) in [&[1, 2, 22][..], &[1, 2, 21, 0], &[0, 0], &[0]].into_iter().enumerate() {
        assert_eq!(open(bad, 2 + number as u64), Err(OpenError::Malformed), "{bad:?}");
    }
    // A refusal takes no number away.
    assert_eq!(open(&[7, 23], 2), Ok(vec![7]));
}

#[test]
fn after_the_loss_of_40_000_records_one_more_is_lost_at_most() {
    let (mut sealer, mut opener, mut paths) = pair();
    let first = seal(&mut sealer, &[1; 30]);
    assert!(open(&mut opener, &mut paths, &first).is_ok());
    for lost in [40_000, 80_000, 200_000] {
        sealer.set_sealed(lost);
        // It looks like one of before, and is spoilt by the attempt.
        let next = seal(&mut sealer, &[2; 30]);
        let _ = open(&mut opener, &mut paths, &next);
        for _ in 0..3 {
            let next = seal(&mut sealer, &[3; 30]);
            assert!(open(&mut opener, &mut paths, &next).is_ok(), "{lost}");
        }
    }
}

#[test]
fn a_key_that_is_used_up_seals_nothing() {
    let material = keys();
    let mut sealer = Sealer::new(4, Suite::StandIn, &material).unwrap();
    sealer.set_sealed(Suite::StandIn.max_sealed() - 1);
    let mut packet = vec![0; HEADROOM + 4];
    assert!(sealer.seal(&mut packet, 0));
    let mut packet = vec![0; HEADROOM + 4];
    assert!(!sealer.seal(&mut packet, 0));
    assert!(!sealer.seal(&mut vec![0; HEADROOM - 1], 0));
    let mut sealer = Sealer::new(4, Suite::StandIn, &material).unwrap();
    assert!(!sealer.seal(&mut vec![0; HEADROOM + layout::MAX_CONTENT + 1], 0));
}

#[test]
fn forged_records_move_nothing_and_cost_a_bounded_number_of_openings() {
    let (mut sealer, mut opener, mut paths) = pair();
    let first = seal(&mut sealer, &[1; 30]);
    assert!(open(&mut opener, &mut paths, &first).is_ok());
    let before = format!("{opener:?}");
    let genuine = seal(&mut sealer, &[2; 30]);
    for number in 0..=u16::MAX {
        let mut forged = genuine.clone();
        forged[6..8].copy_from_slice(&number.to_be_bytes());
        forged[20] ^= 1;
        assert!(open(&mut opener, &mut paths, &forged).is_err());
    }
    // One opening each, and 256 of the search.
    assert!(opener.failed_openings() <= 65_536 + 256);
    let failed = opener.failed_openings();
    opener.set_failed(0);
    // That copies are made meanwhile is no more than a matter of speed.
    let now = format!("{opener:?}").replace("in_doubt: true", "in_doubt: false");
    assert_eq!(now, before, "{failed}");
    assert!(open(&mut opener, &mut paths, &genuine).is_ok());
}

#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod golden {
    use super::*;

    const FILE: &str = include_str!("../../tests/data/records.json");

    /// A value of a line of the file.
    fn field<'a>(line: &'a str, name: &str) -> &'a str {
        let (_, rest) = line.split_once(&format!("\"{name}\": ")).unwrap();
        rest.split([',', '}']).next().unwrap().trim_matches('"')
    }

    fn bytes(line: &str, name: &str) -> Vec<u8> {
        let hex = field(line, name);
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    }

    #[test]
    fn records_are_those_of_an_independent_encoder() {
        let mut count = 0;
        for line in FILE.lines().filter(|line| line.starts_with('{')) {
            let suite = match field(line, "suite") {
                "Aes128Gcm" => Suite::Aes128Gcm,
                "Aes256Gcm" => Suite::Aes256Gcm,
                _ => Suite::ChaCha20Poly1305,
            };
            let iv = bytes(line, "iv").try_into().unwrap();
            let keys =
                KeyMaterial { key: bytes(line, "key"), number_key: bytes(line, "number_key"), iv };
            let epoch = field(line, "epoch").parse().unwrap();
            let number = field(line, "number").parse().unwrap();
            let (content, chunk) = (bytes(line, "content"), bytes(line, "chunk"));
            if field(line, "inner_padding") == "0" {
                let mut sealer = Sealer::new(epoch, suite, &keys).unwrap();
                sealer.set_sealed(number);
                // Beyond what AES-GCM may seal with one key there is a refusal in place of a
                // record.
                if number < suite.max_sealed() {
                    assert_eq!(seal(&mut sealer, &content), chunk, "{line}");
                    count += 1;
                }
            }
            let mut opener = Opener::new(epoch, suite, &keys).unwrap();
            if let Some(before) = number.checked_sub(1) {
                opener.set_taken(before);
            }
            let mut paths = Paths::default();
            assert_eq!(open(&mut opener, &mut paths, &chunk), Ok(content), "{line}");
            count += 1;
        }
        assert_eq!(count, 48 + 24 - 2);
    }
}
