//! Files are read back by a small parser of their own, and by tshark where there is one.
#![expect(clippy::disallowed_types, reason = "tests ask tshark")]

use std::io::{self, Write};
use std::process::{Command, Stdio};

use super::*;

/// A COOKIE ACK from port 5000 to 5001 with a right CRC32c.
const COOKIE_ACK: [u8; 16] = [
    0x13, 0x88, 0x13, 0x89, 0x01, 0x02, 0x03, 0x04, 0x8b, 0x62, 0x83, 0x95, 0x0b, 0x00, 0x00, 0x04,
];

#[derive(Debug, PartialEq)]
struct ParsedBlock {
    block_type: u32,
    body: Vec<u8>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn parse_blocks(mut file: &[u8]) -> Vec<ParsedBlock> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let len = u32_at(file, 4) as usize;
        assert_eq!(len % 4, 0, "blocks are aligned");
        assert_eq!(u32_at(file, len - 4) as usize, len, "both lengths agree");
        let body = file[8..len - 4].to_vec();
        blocks.push(ParsedBlock { block_type: u32_at(file, 0), body });
        file = &file[len..];
    }
    blocks
}

fn parse_options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    while !bytes.is_empty() {
        let (code, len) = (u16_at(bytes, 0), u16_at(bytes, 2) as usize);
        if code == 0 {
            assert_eq!(bytes.len(), 4, "nothing follows the end of options");
            return options;
        }
        options.push((code, bytes[4..4 + len].to_vec()));
        bytes = &bytes[4 + len.next_multiple_of(4)..];
    }
    assert!(options.is_empty(), "options have an end");
    options
}

fn route(source: &str, destination: &str, udp: bool) -> Route {
    let udp = udp.then_some(UdpPorts { source: 9899, destination: 9900 });
    Route { source: source.parse().unwrap(), destination: destination.parse().unwrap(), udp }
}

fn framed(route: &Route, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    IpFramer::default().frame_packet(route, payload, &mut out).unwrap();
    out
}

/// The ones' complement sum that is all ones over anything with a right checksum.
fn ones_complement_sum(bytes: &[u8]) -> u16 {
    bytes.chunks(2).fold(0u16, |sum, pair| {
        let word = u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]);
        let (sum, carry) = sum.overflowing_add(word);
        sum + u16::from(carry)
    })
}

#[test]
fn a_file_is_a_section_its_interfaces_and_their_packets() {
    let mut writer = PcapngWriter::new(Vec::new(), "polypath 0").unwrap();
    let first = writer.add_interface("path-a", "client to server", 0).unwrap();
    let second = writer.add_interface("path-b", "", 3).unwrap();
    let options =
        PacketOptions { direction: Some(Direction::Outbound), comment: Some("rtx"), dropped: 7 };
    writer.add_packet(first, 0x1_0000_0002, b"abcde", options).unwrap();
    writer.add_packet(second, 5, b"vwxyz", PacketOptions::default()).unwrap();
    let blocks = parse_blocks(&writer.finish().unwrap());

    let types: Vec<_> = blocks.iter().map(|block| block.block_type).collect();
    assert_eq!(types, [0x0A0D_0D0A, 1, 1, 6, 6]);
    let [section, interface, bare_interface, packet, bare_packet] =
        [0, 1, 2, 3, 4].map(|n| &blocks[n].body);
    assert_eq!(section[..8], [0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0]);
    assert_eq!(section[8..16], [0xFF; 8]);
    assert_eq!(parse_options(&section[16..]), [(4, b"polypath 0".to_vec())]);
    assert_eq!(interface[..8], [101, 0, 0, 0, 0, 0, 0, 0]);
    let named = [(2, b"path-a".to_vec()), (3, b"client to server".to_vec()), (9, vec![9])];
    assert_eq!(parse_options(&interface[8..]), named);
    assert_eq!(parse_options(&bare_interface[8..]), [(2, b"path-b".to_vec()), (9, vec![9])]);
    assert_eq!([0, 4, 8, 12, 16].map(|at| u32_at(packet, at)), [0, 1, 2, 5, 5]);
    assert_eq!(packet[20..28], *b"abcde\0\0\0");
    let said = [(1, b"rtx".to_vec()), (2, vec![2, 0, 0, 0]), (4, 7u64.to_le_bytes().to_vec())];
    assert_eq!(parse_options(&packet[28..]), said);
    assert_eq!([0, 4, 8, 12, 16].map(|at| u32_at(bare_packet, at)), [1, 0, 5, 3, 5]);
    assert_eq!(bare_packet[20..], *b"vwx\0");
}

#[test]
fn a_long_comment_is_cut_at_a_character() {
    let mut writer = PcapngWriter::new(Vec::new(), "").unwrap();
    let interface = writer.add_interface("", "", 0).unwrap();
    let comment = "é".repeat(40_000);
    let options = PacketOptions { comment: Some(&comment), ..PacketOptions::default() };
    writer.add_packet(interface, 0, b"", options).unwrap();
    let blocks = parse_blocks(&writer.finish().unwrap());
    let kept = &parse_options(&blocks[2].body[20..])[0].1;
    assert_eq!(kept.len(), 65_534);
    assert!(comment.starts_with(str::from_utf8(kept).unwrap()));
}

#[test]
fn interfaces_of_another_writer_are_refused() {
    let mut other = PcapngWriter::new(Vec::new(), "").unwrap();
    let foreign = other.add_interface("", "", 0).unwrap();
    let mut writer = PcapngWriter::new(Vec::new(), "").unwrap();
    let error = writer.add_packet(foreign, 0, b"", PacketOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "interface 0: unknown (allowed: below 0)");
}

#[test]
fn a_failing_output_is_reported() {
    #[derive(Debug)]
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("disk full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = PcapngWriter::new(Full, "").unwrap_err();
    assert_eq!(error.to_string(), "pcapng output: disk full");
}

#[test]
fn an_ipv4_header_has_its_fields_and_checksum() {
    let mut framer = IpFramer::default();
    let (route, mut out) = (route("10.0.0.1", "192.168.1.2", false), Vec::new());
    for identification in 0..3 {
        framer.frame_packet(&route, &COOKIE_ACK, &mut out).unwrap();
        assert_eq!(out[..10], [0x45, 0, 0, 36, 0, identification, 0x40, 0, 64, 132]);
        assert_eq!(out[12..20], [10, 0, 0, 1, 192, 168, 1, 2]);
        assert_eq!(ones_complement_sum(&out[..20]), 0xFFFF);
        assert_eq!(out[20..], COOKIE_ACK);
    }
}

#[test]
fn an_ipv6_header_has_its_fields() {
    let out = framed(&route("2001:db8::1", "2001:db8::2", false), &COOKIE_ACK);
    assert_eq!(out[..8], [0x60, 0, 0, 0, 0, 16, 132, 64]);
    assert_eq!(out[8..24], [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(out[40..], COOKIE_ACK);
}

#[test]
fn impossible_packets_are_refused() {
    let (mut framer, mut out) = (IpFramer::default(), vec![1]);
    let mixed = framer.frame_packet(&route("10.0.0.1", "::1", false), b"", &mut out).unwrap_err();
    assert_eq!(
        mixed.to_string(),
        "destination: ::1 from 10.0.0.1 (allowed: two addresses of one family)"
    );
    assert!(out.is_empty());
    let v4 = route("10.0.0.1", "10.0.0.2", true);
    assert_eq!(framer.frame_packet(&v4, &[0; 65_507], &mut out), Ok(()));
    assert_eq!(
        framer.frame_packet(&v4, &[0; 65_508], &mut out),
        Err(FrameError::TooLong { len: 65_536 })
    );
    let v6 = route("::1", "::2", false);
    assert_eq!(framer.frame_packet(&v6, &[0; 65_535], &mut out), Ok(()));
    assert!(framer.frame_packet(&v6, &[0; 65_536], &mut out).is_err());
}

/// Pseudo-random bytes of every length below `lengths`.
fn samples(lengths: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 1u64;
    let mut byte = move || {
        // Knuth's MMIX generator.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..lengths).map(move |len| (0..len).map(|_| byte()).collect())
}

#[test]
fn udp_checksums_are_right() {
    for payload in samples(200) {
        let len = (payload.len() + 8) as u16;
        let v4 = framed(&route("10.1.2.3", "10.3.2.1", true), &payload);
        let v6 = framed(&route("2001:db8::1", "fe80::2", true), &payload);
        for (addresses, datagram) in [(&v4[12..20], &v4[20..]), (&v6[8..40], &v6[40..])] {
            assert_eq!(datagram[..6], [0x26, 0xAB, 0x26, 0xAC, (len >> 8) as u8, len as u8]);
            let covered = [addresses, &[0, 17], &len.to_be_bytes(), datagram].concat();
            assert_eq!(ones_complement_sum(&covered), 0xFFFF);
        }
    }
}

#[test]
fn a_udp_checksum_of_zero_is_sent_as_all_ones() {
    let route = route("10.0.0.1", "10.0.0.2", true);
    // A payload word that equals the checksum over zeros brings the sum to 0xFFFF.
    let over_zeros = framed(&route, &[0, 0]);
    let out = framed(&route, &over_zeros[26..28]);
    assert_eq!(out[26..28], [0xFF, 0xFF]);
}

#[test]
fn any_packet_is_read_back() {
    let mut writer = PcapngWriter::new(Vec::new(), "").unwrap();
    let interface = writer.add_interface("", "", 0).unwrap();
    let time = |len: usize| u64::MAX - len as u64 * 0x1234_5678_9ABC;
    for data in samples(200) {
        writer.add_packet(interface, time(data.len()), &data, PacketOptions::default()).unwrap();
    }
    let blocks = parse_blocks(&writer.finish().unwrap());
    for (block, data) in blocks[2..].iter().zip(samples(200)) {
        let (high, low) = (u32_at(&block.body, 4), u32_at(&block.body, 8));
        assert_eq!(u64::from(high) << 32 | u64::from(low), time(data.len()));
        assert_eq!(u32_at(&block.body, 12) as usize, data.len());
        assert_eq!(block.body[20..20 + data.len()], data);
    }
    assert_eq!(blocks.len(), 202);
}

/// The fields of each packet as tshark sees them, or `None` where it is not installed.
fn tshark(file: &[u8], fields: &[&str]) -> Option<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field]));
    let checks = ["sctp.checksum:CRC 32C", "ip.check_checksum:TRUE", "udp.check_checksum:TRUE"];
    command.args(checks.iter().flat_map(|check| ["-o", check]));
    command.args(["-d", "udp.port==9899,sctp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    child.stdin.take().expect("stdin is piped").write_all(file).expect("tshark reads it all");
    let output = child.wait_with_output().expect("tshark ends");
    Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

#[test]
fn tshark_finds_nothing_wrong() {
    let mut writer = PcapngWriter::new(Vec::new(), "polypath").unwrap();
    let interface = writer.add_interface("path-a", "client to server", 65_535).unwrap();
    let options = PacketOptions {
        direction: Some(Direction::Inbound),
        comment: Some("hello"),
        ..PacketOptions::default()
    };
    for (source, destination, udp) in [
        ("10.0.0.1", "10.0.0.2", false),
        ("10.0.0.1", "10.0.0.2", true),
        ("2001:db8::1", "2001:db8::2", false),
        ("2001:db8::1", "2001:db8::2", true),
    ] {
        let packet = framed(&route(source, destination, udp), &COOKIE_ACK);
        writer.add_packet(interface, 1_000_000_007, &packet, options).unwrap();
    }
    let fields = [
        "frame.time_epoch",
        "frame.interface_name",
        "frame.comment",
        "sctp.chunk_type",
        "sctp.checksum.status",
        "ip.checksum.status",
        "udp.checksum.status",
        "_ws.expert.message",
    ];
    let Some(lines) = tshark(&writer.finish().unwrap(), &fields) else {
        println!("skipped: tshark is not installed");
        return;
    };
    let line =
        |ip: &str, udp: &str| format!("1.000000007\tpath-a\thello\t11\t1\t{ip}\t{udp}\thello");
    assert_eq!(lines, [line("1", ""), line("1", "1"), line("", ""), line("", "1")]);
}

#[test]
fn tshark_complains_about_a_flipped_byte() {
    let mut packet = framed(&route("10.0.0.1", "10.0.0.2", false), &COOKIE_ACK);
    packet[24] ^= 1;
    let mut writer = PcapngWriter::new(Vec::new(), "polypath").unwrap();
    let interface = writer.add_interface("path-a", "", 0).unwrap();
    writer.add_packet(interface, 0, &packet, PacketOptions::default()).unwrap();
    match tshark(&writer.finish().unwrap(), &["sctp.checksum.status"]) {
        Some(lines) => assert_eq!(lines, ["0"]),
        None => println!("skipped: tshark is not installed"),
    }
}
