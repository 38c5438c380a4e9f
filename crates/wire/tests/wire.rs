//! Encoding and decoding against golden vectors, themselves, and hostile bytes.

mod common;

use common::{arbitrary, describe, errors_in, hex, vectors};
use polypath_wire::{
    CausesBuf, ChecksumCheck, ChecksumMode, Chunk, ChunkBuf, EncodeChunk, Item, PacketView,
    PacketWriter, Params, ParamsBuf, RawChunk, WireErrorKind,
};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn golden_vectors_decode_to_the_stated_fields() {
    for vector in vectors() {
        let packet = PacketView::parse(&vector.packet, ChecksumCheck::Verify).expect(&vector.name);
        let header = packet.header();
        assert_eq!(header.source_port, vector.source_port, "{}", vector.name);
        assert_eq!(header.destination_port, vector.destination_port, "{}", vector.name);
        assert_eq!(header.verification_tag, vector.verification_tag, "{}", vector.name);
        let chunks: Vec<_> = decoded(&packet).iter().map(describe::chunk).collect();
        assert_eq!(chunks, vector.chunks, "{}", vector.name);
    }
}

#[test]
fn golden_vectors_encode_to_the_same_bytes() {
    for vector in vectors() {
        let packet = PacketView::parse(&vector.packet, ChecksumCheck::Verify).expect(&vector.name);
        let again = written(&packet, &decoded(&packet));
        assert_eq!(hex(&again), hex(&vector.packet), "{}", vector.name);
    }
}

/// Views encode the lists they borrow: only rebuilding them item by item tests how items encode.
#[test]
fn golden_lists_rebuilt_item_by_item_are_the_same() {
    for vector in vectors() {
        let packet = PacketView::parse(&vector.packet, ChecksumCheck::Verify).expect(&vector.name);
        for chunk in decoded(&packet) {
            match chunk {
                Chunk::Init(c) => assert_rebuilds(c.params, &vector.name),
                Chunk::InitAck(c) => assert_rebuilds(c.params, &vector.name),
                Chunk::Heartbeat(c) => assert_rebuilds(c.params, &vector.name),
                Chunk::Asconf(c) => assert_rebuilds(c.params, &vector.name),
                Chunk::AsconfAck(c) => assert_rebuilds(c.params, &vector.name),
                Chunk::Reconfig(c) => assert_rebuilds(c.params, &vector.name),
                Chunk::Abort(c) => {
                    let rebuilt: CausesBuf =
                        c.causes.iter().map(|raw| raw.unwrap().decode().unwrap()).collect();
                    assert_eq!(rebuilt, c.causes.to_buf(), "{}", vector.name);
                }
                _ => {}
            }
        }
    }
}

/// The same bytes, but for the padding of the last parameter, which our lists do not count.
fn assert_rebuilds(params: Params<'_>, name: &str) {
    let rebuilt: ParamsBuf = params.iter().map(|raw| raw.unwrap().decode().unwrap()).collect();
    let (rebuilt, original) = (rebuilt.as_params().as_bytes(), params.as_bytes());
    let padding = original.len() - rebuilt.len();
    assert!(padding < 4, "{name}");
    assert_eq!(rebuilt, &original[..rebuilt.len()], "{name}");
}

#[test]
fn golden_vectors_cover_every_chunk_parameter_and_cause() {
    let text: String =
        vectors().into_iter().map(|v| serde_json::json!(v.chunks).to_string()).collect();
    let count = |key: &str| {
        let mut names: Vec<_> = text
            .split(&format!("\"{key}\":\""))
            .skip(1)
            .filter_map(|s| s.split('"').next())
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    };
    assert_eq!((count("chunk"), count("param"), count("cause")), (24, 30, 24));
}

#[test]
fn a_truncated_packet_yields_its_whole_chunks_and_one_error_inside_it() {
    for vector in vectors() {
        let whole = PacketView::parse(&vector.packet, ChecksumCheck::Skip).expect(&vector.name);
        for len in 0..vector.packet.len() {
            let truncated = &vector.packet[..len];
            for error in errors_in(truncated) {
                assert!(error.offset <= len, "{}: {error} of {len}", vector.name);
            }
            let Ok(view) = PacketView::parse(truncated, ChecksumCheck::Skip) else {
                assert!(len < 12, "{}", vector.name);
                continue;
            };
            let expected = whole.chunks().map(Result::unwrap);
            let fitting = expected.take_while(|c| c.offset + c.bytes().len() <= len);
            let found: Vec<_> = view.chunks().collect();
            let good: Vec<_> = found.iter().filter_map(|c| c.ok()).collect();
            assert_eq!(good, fitting.collect::<Vec<_>>(), "{}", vector.name);
            assert!(found.len() <= good.len() + 1, "{}", vector.name);
        }
    }
}

#[test]
fn lying_lengths_are_reported_where_they_stand() {
    let shutdown = [7, 0, 0, 8, 0, 0, 0, 1];
    for (length, left) in [(0u16, 8usize), (3, 8), (9, 8), (u16::MAX, 8)] {
        let mut packet = header();
        packet.extend(shutdown);
        packet[14..16].copy_from_slice(&length.to_be_bytes());
        let errors = errors_in(&packet);
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].offset, 14);
        assert_eq!(errors[0].kind, WireErrorKind::Length { item: Item::Chunk(7), length, left });
    }
}

#[test]
fn lying_counts_are_reported_where_the_lists_start() {
    let mut sack = header();
    sack.extend([3, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 1, 0, 2, 0, 2]);
    let error = errors_in(&sack)[0];
    let field = "gap ack blocks and duplicate TSNs";
    assert_eq!(
        (error.offset, error.kind),
        (28, WireErrorKind::Count { field, needed: 8, left: 4 })
    );

    let mut missing = header();
    missing.extend([9, 0, 0, 14, 0, 2, 0, 10, 0xff, 0xff, 0xff, 0xff, 0, 7, 0, 0]);
    let error = errors_in(&missing)[0];
    assert_eq!(error.offset, 24);
    assert!(matches!(error.kind, WireErrorKind::Count { left: 2, .. }));
}

#[test]
fn fixed_length_chunks_must_have_that_length() {
    for kind in [8, 11, 14] {
        let mut packet = header();
        packet.extend([kind, 0, 0, 5, 1, 0, 0, 0]);
        let error = errors_in(&packet)[0];
        let expected = WireErrorKind::Trailing { item: Item::Chunk(kind), extra: 1 };
        assert_eq!((error.offset, error.kind), (16, expected));
    }
}

#[test]
fn a_heartbeat_must_have_info_and_a_reconfig_an_allowed_combination() {
    for bad in [
        vec![4, 0, 0, 4],
        vec![5, 0, 0, 8, 0, 2, 0, 4],
        vec![130, 0, 0, 4],
        vec![130, 0, 0, 20, 0, 14, 0, 8, 0, 0, 0, 1, 0, 14, 0, 8, 0, 0, 0, 2],
        vec![130, 0, 0, 8, 0, 19, 0, 4],
    ] {
        let mut packet = header();
        packet.extend(bad);
        let errors = errors_in(&packet);
        assert!(matches!(errors[..], [e] if matches!(e.kind, WireErrorKind::Value { .. })));
    }
}

#[test]
fn asconf_needs_exactly_one_address_where_one_is_due() {
    let request = |length: u8, address: &[u8]| {
        let mut packet = header();
        packet.extend([193, 0, 0, 16 + length, 0, 0, 0, 1, 0, 5, 0, 8, 192, 0, 2, 1]);
        packet.extend([0xc0, 1, 0, length, 0, 0, 0, 1]);
        packet.extend(address);
        errors_in(&packet)
    };
    assert_eq!(request(16, &[0, 5, 0, 8, 192, 0, 2, 2]), []);
    let item = Item::Parameter(0xc001);
    let extra = request(20, &[0, 5, 0, 8, 192, 0, 2, 2, 0, 0, 0, 0])[0];
    assert_eq!((extra.offset, extra.kind), (44, WireErrorKind::Trailing { item, extra: 4 }));
    let wrong_type = request(16, &[0, 7, 0, 8, 192, 0, 2, 2])[0];
    assert!(matches!(wrong_type.kind, WireErrorKind::Value { value: 7, .. }));
    let missing = request(8, &[])[0];
    assert!(matches!(missing.kind, WireErrorKind::Count { left: 0, .. }));
}

#[test]
fn errors_read_as_one_line_that_says_where_and_what() {
    let mut packet = header();
    packet.extend([7, 0, 0, 9, 0, 0, 0, 1]);
    let message = errors_in(&packet)[0].to_string();
    assert_eq!(message, "byte 14: chunk of type 7 length 9, must be 4 to 8");
}

#[test]
fn a_packet_of_nothing_but_empty_parameters_ends() {
    let mut packet = header();
    packet.extend([1, 0, 0xff, 0xf0]);
    packet.extend([0; 16]);
    packet.extend([0xff, 0xff, 0, 4].repeat((0xfff0 - 20) / 4));
    assert_eq!(errors_in(&packet), []);
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_and_encoded_again(chunks in vec(arbitrary::chunk(), 0..6)) {
        let mut packet = Vec::new();
        let mut writer = PacketWriter::new(&mut packet, 1 << 16, 1, 2, 3);
        for chunk in &chunks {
            writer.push(chunk).unwrap();
        }
        writer.finish(ChecksumMode::Crc32c);
        prop_assert_eq!(errors_in(&packet), []);
        let view = PacketView::parse(&packet, ChecksumCheck::Verify).unwrap();
        let bufs: Vec<_> = view.chunks().map(|raw| raw.unwrap().to_buf()).collect();
        prop_assert_eq!(bufs, chunks);
        prop_assert_eq!(written(&view, &decoded(&view)), packet);
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(
        mut packet in vec(any::<u8>(), 0..200),
        ports in any::<bool>(),
    ) {
        if let (true, Some(field)) = (ports, packet.get_mut(..4)) {
            field.copy_from_slice(&[0, 1, 0, 2]);
        }
        for error in errors_in(&packet) {
            prop_assert!(error.offset <= packet.len());
        }
    }

    #[test]
    fn changed_vectors_are_decoded_or_refused(
        which in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let vectors = vectors();
        let mut packet = which.get(&vectors).packet.clone();
        for (place, byte) in changes {
            let place = place.index(packet.len());
            packet[place] = byte;
        }
        for error in errors_in(&packet) {
            prop_assert!(error.offset <= packet.len());
        }
        if let Ok(view) = PacketView::parse(&packet, ChecksumCheck::Skip) {
            for raw in view.chunks().map_while(Result::ok) {
                assert_stable(&raw)?;
            }
        }
    }
}

/// Encoding may drop reserved bits, but only once.
fn assert_stable(raw: &RawChunk<'_>) -> Result<(), TestCaseError> {
    let Ok(chunk) = raw.decode() else { return Ok(()) };
    let once = ChunkBuf::new(&chunk);
    let twice = ChunkBuf::new(&once.as_raw().unwrap().decode().unwrap());
    prop_assert_eq!(&once, &twice);
    prop_assert_eq!(once.encoded_len(), raw.bytes().len());
    Ok(())
}

fn decoded<'a>(packet: &PacketView<'a>) -> Vec<Chunk<'a>> {
    packet.chunks().map(|raw| raw.unwrap().decode().unwrap()).collect()
}

fn written(packet: &PacketView<'_>, chunks: &[Chunk<'_>]) -> Vec<u8> {
    let header = packet.header();
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(
        &mut bytes,
        packet.bytes().len(),
        header.source_port,
        header.destination_port,
        header.verification_tag,
    );
    for chunk in chunks {
        writer.push(chunk).unwrap();
    }
    assert_eq!(writer.finish(ChecksumMode::Crc32c), packet.bytes().len());
    bytes
}

fn header() -> Vec<u8> {
    let mut packet = Vec::new();
    PacketWriter::new(&mut packet, 12, 1, 2, 3).finish(ChecksumMode::Crc32c);
    packet
}
