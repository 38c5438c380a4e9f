//! INIT and INIT ACK that tell of nothing but what is needed.

use polypath_proto::State;
use polypath_proto::config::{AssocConfig, CmtConfig, ExtensionConfig, NrSack};
use polypath_proto::time::Duration;
use polypath_testkit::pair::{self, Pair, client_paths};
use polypath_wire::chunk::kind;
use polypath_wire::{ChecksumCheck, Chunk, PacketView};

fn bare(extensions: ExtensionConfig) -> AssocConfig {
    let cmt = CmtConfig { nr_sack: NrSack::Delivered, ..CmtConfig::default() };
    AssocConfig { minimal_init: true, cmt, extensions, ..AssocConfig::default() }
}

/// The types of the parameters of the first INIT and the first INIT ACK.
fn parameters(pair: &Pair) -> [Vec<u16>; 2] {
    [kind::INIT, kind::INIT_ACK].map(|wanted| {
        let packet = pair.last_with(wanted);
        let view = PacketView::parse(&packet.data, ChecksumCheck::Verify).expect("valid");
        let chunk = view.chunks().next().expect("a chunk").expect("valid");
        let params = match chunk.decode().expect("valid") {
            Chunk::Init(init) => init.params,
            Chunk::InitAck(ack) => ack.params,
            other => panic!("{other:?}"),
        };
        params.into_iter().map(|param| param.expect("valid").kind).collect()
    })
}

fn connected(client: AssocConfig, server: AssocConfig) -> Pair {
    let mut pair = Pair::connecting(client, server);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.client.state(), State::Established);
    assert_eq!(pair.server.state(), State::Established, "no packet of a stranger's kills it");
    pair
}

#[test]
fn nothing_but_the_cookie_is_in_them() {
    let pair = connected(bare(ExtensionConfig::NONE), bare(ExtensionConfig::NONE));
    assert_eq!(parameters(&pair), [vec![], vec![7]]);
}

#[test]
fn extensions_that_were_asked_for_are_told_and_no_others() {
    let on = ExtensionConfig { partial_reliability: true, ..ExtensionConfig::NONE };
    let pair = connected(bare(on), bare(on));
    assert_eq!(parameters(&pair), [vec![0x8008, 0xc000], vec![7, 0x8008, 0xc000]]);
}

#[test]
fn only_the_address_that_the_peer_saw_is_used() {
    for server in [AssocConfig::default(), bare(ExtensionConfig::NONE)] {
        let pair = connected(bare(ExtensionConfig::NONE), server);
        let second = client_paths()[1].local;
        let from_second = |p: &&pair::Packet| p.tuple.remote == second || p.tuple.local == second;
        assert_eq!(pair.log.iter().filter(from_second).count(), 0);
        let assoc = pair.client.endpoint.association(pair.client.handle()).expect("association");
        assert!(assoc.view(pair.now).paths.iter().all(|p| {
            assoc.path_tuple(p.id).is_some_and(|tuple| tuple.local == client_paths()[0].local)
        }));
    }
}
