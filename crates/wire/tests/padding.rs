//! Padding is anything on the way in, and zeros, as few as may be, on the way out (RFC 9260
//! sections 3.2 and 3.2.1).

use polypath_wire::checksum::crc32c;
use polypath_wire::{
    ChecksumCheck, ChecksumMode, Chunk, CookieEchoChunk, InitFixed, InitRepr, PacketView,
    PacketWriter, Parameter, ParamsBuf, Tsn,
};

fn reseal(packet: &mut [u8]) {
    packet[8..12].fill(0);
    let crc = crc32c(packet).to_le_bytes();
    packet[8..12].copy_from_slice(&crc);
}

fn packet(push: impl FnOnce(&mut PacketWriter<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = PacketWriter::new(&mut out, 1500, 1, 2, 0);
    push(&mut writer);
    writer.finish(ChecksumMode::Crc32c);
    out
}

fn init(cookie: &[u8]) -> InitRepr {
    let fixed = InitFixed {
        initiate_tag: 1,
        a_rwnd: 1500,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: Tsn(1),
    };
    let params: ParamsBuf =
        [Parameter::StateCookie(cookie), Parameter::StateCookie(cookie)].into_iter().collect();
    InitRepr { fixed, params }
}

fn cookies(packet: &[u8]) -> Vec<Vec<u8>> {
    let view = PacketView::parse(packet, ChecksumCheck::Verify).expect("a packet");
    let Ok(Chunk::Init(init)) = view.chunks().next().expect("a chunk").expect("whole").decode()
    else {
        panic!("INIT expected")
    };
    init.params.iter().map(|p| p.expect("whole").value.to_vec()).collect()
}

#[test]
fn a_chunk_is_padded_with_up_to_three_zeros_that_its_length_does_not_count() {
    for len in 1..=8_usize {
        let cookie = vec![0xff; len];
        let bytes = packet(|w| w.push(&CookieEchoChunk { cookie: &cookie }).expect("fits"));
        assert_eq!(bytes.len(), 12 + (4 + len).next_multiple_of(4));
        assert_eq!(usize::from(u16::from_be_bytes([bytes[14], bytes[15]])), 4 + len);
        assert!(bytes[16 + len..].iter().all(|b| *b == 0));
    }
}

#[test]
fn what_stands_in_the_padding_of_a_chunk_does_not_matter() {
    let mut bytes = packet(|w| {
        w.push(&CookieEchoChunk { cookie: b"c" }).expect("fits");
        w.push(&Chunk::CookieAck).expect("fits");
    });
    bytes[17..20].copy_from_slice(b"\xff\x01\x7f");
    reseal(&mut bytes);
    let view = PacketView::parse(&bytes, ChecksumCheck::Verify).expect("a packet");
    let chunks: Vec<_> = view.chunks().map(|c| c.expect("whole").decode().expect("good")).collect();
    assert_eq!(chunks, [Chunk::CookieEcho(CookieEchoChunk { cookie: b"c" }), Chunk::CookieAck]);
}

#[test]
fn the_padding_of_parameters_is_ignored_and_that_of_the_last_may_count_or_not() {
    for len in 1..=4 {
        let cookie = vec![7; len];
        let plain = packet(|w| w.push(&init(&cookie)).expect("fits"));
        assert_eq!(cookies(&plain), [cookie.clone(), cookie.clone()]);
        // The first parameter's padding says something.
        let mut noisy = plain.clone();
        let padding = 32 + 4 + len..32 + (4 + len).next_multiple_of(4);
        noisy[padding].fill(0xee);
        reseal(&mut noisy);
        assert_eq!(cookies(&noisy), cookies(&plain));
        // The chunk's length counts the padding of the last one.
        let mut counted = plain.clone();
        let length = u16::try_from(plain.len() - 12).expect("small").to_be_bytes();
        counted[14..16].copy_from_slice(&length);
        reseal(&mut counted);
        assert_eq!(cookies(&counted), cookies(&plain));
    }
}
