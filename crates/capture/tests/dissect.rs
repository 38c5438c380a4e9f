//! What two endpoints say to each other, with path MTU discovery and without checksums, as tshark
//! reads it: it finds every chunk and parameter where it should be, and nothing to complain of.
#![expect(clippy::disallowed_types, reason = "tests ask tshark")]

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use polypath_capture::pcapng::{IpFramer, PacketOptions, PcapngWriter, Route};
use polypath_proto::config::{
    AssocConfig, Edmid, EndpointConfig, ExtensionConfig, PathMtuDiscovery,
};
use polypath_proto::ids::StreamId;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{Endpoint, FourTuple, SendOptions};
use polypath_wire::chunk::kind;

/// Zero Checksum Acceptable (RFC 9653 section 4).
const ZERO_CHECKSUM_ACCEPTABLE: &str = "0x8001";

fn config(zero_checksum: Option<Edmid>) -> Arc<AssocConfig> {
    Arc::new(AssocConfig {
        zero_checksum,
        path_mtu_discovery: Some(PathMtuDiscovery { max: 9000, ..PathMtuDiscovery::default() }),
        extensions: ExtensionConfig::ALL,
        ..AssocConfig::default()
    })
}

fn endpoint(port: u16, ip: &str, assoc: &Arc<AssocConfig>) -> Endpoint {
    let config = EndpointConfig {
        port,
        addresses: vec![ip.parse().expect("an address")],
        error_detection: assoc.zero_checksum,
        assoc: assoc.clone(),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Rng::from_u64(port.into()))
}

/// Two endpoints set an association up, find path MTUs and exchange a message, in virtual time
/// without delay; what they sent.
fn conversation(zero_checksum: Option<Edmid>) -> Vec<(FourTuple, Vec<u8>)> {
    let (assoc, mut now) = (config(zero_checksum), Time::from_secs(1));
    let ips = ["10.0.0.1", "10.0.0.2"];
    let mut ends = [endpoint(5000, ips[0], &assoc), endpoint(5001, ips[1], &assoc)];
    let [local, remote] = ips.map(|ip| SocketAddr::new(ip.parse().expect("an address"), 0));
    let handle = ends[0].connect(now, &[FourTuple { local, remote }], 5001, assoc).expect("fine");
    let (mut log, mut sent) = (Vec::new(), false);
    for _ in 0..400 {
        for i in 0..2 {
            let mut packet = Vec::new();
            while let Some(transmit) = ends[i].poll_transmit(now, &mut packet) {
                let FourTuple { local, remote } = transmit.tuple;
                let arrival = FourTuple { local: remote, remote: local };
                ends[1 - i].handle_datagram(now, arrival, &packet);
                log.push((transmit.tuple, std::mem::take(&mut packet)));
            }
            while ends[i].poll_event().is_some() {}
            ends[i].handle_timeout(now);
        }
        now += Duration::from_millis(25);
        if log.len() > 10 && !sent {
            let assoc = ends[0].association_mut(handle).expect("it lives");
            let data = vec![7; 3000].into();
            sent = assoc.send(now, StreamId(0), data, SendOptions::default()).is_ok();
        }
    }
    log
}

fn capture(packets: &[(FourTuple, Vec<u8>)]) -> Vec<u8> {
    let mut writer = PcapngWriter::new(Vec::new(), "polypath").expect("memory");
    let interface = writer.add_interface("path", "", 65_535).expect("memory");
    for (tuple, packet) in packets {
        let (source, destination) = (tuple.local.ip(), tuple.remote.ip());
        let mut frame = Vec::new();
        let route = Route { source, destination, udp: None };
        IpFramer::default().frame_packet(&route, packet, &mut frame).expect("it fits");
        writer.add_packet(interface, 0, &frame, PacketOptions::default()).expect("memory");
    }
    writer.finish().expect("memory")
}

/// Per packet: chunk types, parameter types, checksum status, what is malformed, what experts say.
/// `None` where tshark is not installed.
fn tshark(file: &[u8]) -> Option<Vec<Vec<String>>> {
    let fields =
        ["sctp.chunk_type", "sctp.parameter_type", "sctp.checksum.status", "_ws.malformed"];
    let mut command = Command::new("tshark");
    command.args(["-r", "-", "-T", "fields", "-o", "sctp.checksum:CRC 32C"]);
    command.args(fields.iter().chain(&["_ws.expert.message"]).flat_map(|field| ["-e", field]));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    child.stdin.take().expect("stdin is piped").write_all(file).expect("tshark reads it all");
    let output = child.wait_with_output().expect("tshark ends");
    let text = String::from_utf8_lossy(&output.stdout);
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

#[test]
fn probes_of_path_mtus_and_packets_without_checksums_are_dissected() {
    for zero_checksum in [None, Some(Edmid::Dtls)] {
        let packets = conversation(zero_checksum);
        let zeroed = packets.iter().filter(|(_, packet)| packet[8..12] == [0; 4]).count();
        assert_eq!(zeroed > packets.len() / 2, zero_checksum.is_some());
        let Some(lines) = tshark(&capture(&packets)) else {
            println!("skipped: tshark is not installed");
            return;
        };
        assert_eq!(lines.len(), packets.len());
        let probe = format!("{},{}", kind::HEARTBEAT, kind::PAD);
        // Behind an AUTH chunk: where addresses may change, heartbeats are authenticated.
        let probes = lines.iter().filter(|line| line[0].ends_with(&probe)).count();
        assert!(probes >= 4, "{probes} probes in {lines:?}");
        for (line, (_, packet)) in lines.iter().zip(&packets) {
            assert_eq!(line[3], "", "malformed: {line:?}");
            // This tshark may be older than RFC 9653.
            let checked = packet[8..12] != [0; 4];
            if checked {
                assert_eq!((&*line[2], &*line[4]), ("1", ""), "{line:?}");
            }
            let opens = line[0] == kind::INIT.to_string() || line[0] == kind::INIT_ACK.to_string();
            let offers = line[1].split(',').any(|param| param == ZERO_CHECKSUM_ACCEPTABLE);
            assert_eq!(offers, opens && zero_checksum.is_some(), "{line:?}");
        }
    }
}
