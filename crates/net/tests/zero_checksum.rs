//! Packets without checksum (RFC 9653), where something below the sockets detects errors: here a
//! stack of this test's own on a UDP socket.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{AssocConfig, Config, Edmid, Endpoint};
use polypath_wire::chunk::kind;
use polypath_wire::{
    ChecksumCheck, ChecksumMode, Chunk, InitAckRepr, InitFixed, PacketView, PacketWriter,
    Parameter, Tsn,
};

const PORT: u16 = 5000;
const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Answers an INIT without checksum; then waits for the COOKIE ECHO. Gives its checksum, and
/// whether the INIT said that there need be none.
fn answer(socket: &UdpSocket) -> (bool, Option<u32>) {
    let mut buf = [0; 2000];
    let (mut told, mut echoed) = (false, None);
    for _ in 0..4 {
        let Ok((len, from)) = socket.recv_from(&mut buf) else { break };
        let view =
            PacketView::parse(&buf[..len], ChecksumCheck::Verify).expect("its checksum is right");
        let header = view.header();
        let raw = view.chunks().next().expect("a chunk").expect("whole");
        if raw.kind == kind::COOKIE_ECHO {
            echoed = Some(header.checksum);
            break;
        }
        let Ok(Chunk::Init(init)) = raw.decode() else { continue };
        told = init
            .params
            .iter()
            .any(|param| matches!(param.expect("whole").decode(), Ok(Parameter::ZeroChecksum(1))));
        let fixed = InitFixed { initiate_tag: 77, initial_tsn: Tsn(1), ..init.fixed };
        let params = [Parameter::StateCookie(b"cookie"), Parameter::ZeroChecksum(1)];
        let ack = InitAckRepr { fixed, params: params.into_iter().collect() };
        let mut packet = Vec::new();
        let (from_port, to_port) = (header.destination_port, header.source_port);
        let tag = init.fixed.initiate_tag;
        let mut writer = PacketWriter::new(&mut packet, 1500, from_port, to_port, tag);
        writer.push(&ack).expect("it fits");
        writer.finish(ChecksumMode::Zero);
        socket.send_to(&packet, from).expect("sent");
    }
    (told, echoed)
}

async fn talked(error_detection: Option<Edmid>) -> (bool, Option<u32>) {
    let socket = UdpSocket::bind((LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let there: [SocketAddr; 1] = [socket.local_addr().unwrap()];
    let peer = tokio::task::spawn_blocking(move || answer(&socket));
    let mut config = Config::insecure_client([LOCALHOST]);
    config.error_detection = error_detection;
    let assoc = AssocConfig {
        zero_checksum: Some(Edmid::Dtls),
        max_init_retrans: 1,
        ..AssocConfig::default()
    };
    config.assoc = Arc::new(assoc);
    let client = Endpoint::bind(config).unwrap();
    let connecting = client.connect(&there, PORT);
    let refused = tokio::time::timeout(Duration::from_secs(10), connecting);
    let (answered, refused) = tokio::join!(peer, refused);
    // The peer of this test says nothing more.
    assert!(!matches!(refused, Ok(Ok(_))));
    answered.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_vouches_for_the_lower_layer_takes_an_init_ack_without_checksum() {
    let (told, echoed) = talked(Some(Edmid::Dtls)).await;
    assert!(told, "Zero Checksum Acceptable is in the INIT");
    // A COOKIE ECHO has its checksum all the same; the peer has verified it.
    assert!(echoed.is_some_and(|checksum| checksum != 0), "{echoed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_such_a_word_it_is_neither_said_nor_taken() {
    assert_eq!(talked(None).await, (false, None));
}
