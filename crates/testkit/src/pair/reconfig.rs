//! Two ends that agreed on stream reconfiguration, and what a test asks of them.

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, ExtensionConfig};
use polypath_proto::ids::StreamId;
use polypath_proto::time::Duration;
use polypath_proto::{Event, ReconfigId, ReconfigOutcome, SendOptions, State, StreamDirection};
use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, Chunk, PacketView};

use super::{End, Packet, Pair, Way, client};

/// Milliseconds.
pub const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Stream reconfiguration, and nothing else.
pub const RECONFIG: ExtensionConfig =
    ExtensionConfig { stream_reconfiguration: true, ..ExtensionConfig::NONE };

/// Settings of an end with the extension.
pub fn config() -> AssocConfig {
    AssocConfig { extensions: RECONFIG, ..AssocConfig::default() }
}

/// A pair with an association, with these settings.
pub fn pair(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = Pair::connecting(client, server);
    pair.run_for(ms(400));
    assert_eq!(pair.client.state(), State::Established);
    pair
}

/// The client sends a message of `len` times `byte`.
pub fn send(pair: &mut Pair, stream: u16, byte: u8, len: usize) {
    let now = pair.now;
    let data = Bytes::from(vec![byte; len]);
    client(pair).send(now, StreamId(stream), data, SendOptions::default()).unwrap();
}

/// The client resets streams.
pub fn reset_streams(pair: &mut Pair, direction: StreamDirection, streams: &[u16]) -> ReconfigId {
    let streams: Vec<_> = streams.iter().map(|s| StreamId(*s)).collect();
    let now = pair.now;
    client(pair).reset_streams(now, direction, &streams).unwrap()
}

/// What became of a request; `None`: nothing yet.
pub fn request_outcome(host: &End, id: ReconfigId) -> Option<ReconfigOutcome> {
    host.events.iter().find_map(|(_, e)| match e {
        Event::Reconfigured { request, outcome } if *request == id => Some(*outcome),
        _ => None,
    })
}

/// The resets that the application was told of.
pub fn told_resets(host: &End) -> Vec<(StreamDirection, Vec<u16>)> {
    let reset = |(_, e): &(_, Event)| match e {
        Event::StreamsReset { direction, streams } => {
            Some((*direction, streams.iter().map(|s| s.0).collect()))
        }
        _ => None,
    };
    host.events.iter().filter_map(reset).collect()
}

/// (stream, SSN, first byte) of all DATA that the client sent since, once per TSN.
pub fn numbers(pair: &Pair, since: usize) -> Vec<(u16, u16, u8)> {
    let mut seen = std::collections::BTreeSet::new();
    let mut out = Vec::new();
    for packet in pair.sent_since(since).iter().filter(|p| p.way == Way::ToServer) {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        for raw in view.chunks() {
            if let Ok(Chunk::Data(d)) = raw.unwrap().decode()
                && seen.insert(d.tsn.0)
                && d.flags.beginning
            {
                out.push((d.stream.0, d.ssn.0, d.payload[0]));
            }
        }
    }
    out
}

/// Whether the packet has a RE-CONFIG.
pub fn is_reconfig(packet: &Packet) -> bool {
    packet.kinds().contains(&kind::RECONFIG)
}

/// Packets with a RE-CONFIG sent this way.
pub fn reconfigs(pair: &Pair, way: Way) -> usize {
    pair.log.iter().filter(|p| p.way == way && is_reconfig(p)).count()
}

/// Types of the parameters of all RE-CONFIGs.
pub fn params(pair: &Pair, way: Way) -> Vec<Vec<u16>> {
    let mut out = Vec::new();
    for packet in pair.log.iter().filter(|p| p.way == way) {
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).unwrap();
        for raw in view.chunks() {
            if let Ok(Chunk::Reconfig(r)) = raw.unwrap().decode() {
                out.push(r.params.iter().map(|p| p.unwrap().kind).collect());
            }
        }
    }
    out
}
