//! An end that gives up says so, once: the other one need not find out by itself (RFC 9260 sections
//! 8.1, 9.2 and 5.1).

use std::sync::Arc;

use polypath_proto::config::{AssocConfig, AuthConfig, CcConfig, ExtensionConfig};
use polypath_proto::policy::{PathPick, PathScheduler, Policy, PolicyFactory, PolicySet};
use polypath_proto::rng::Rng;
use polypath_proto::time::Duration;
use polypath_proto::view::{AssocView, ChunkMeta};
use polypath_proto::{CloseReason, State};
use polypath_testkit::pair::craft::*;
use polypath_testkit::pair::*;
use polypath_wire::chunk::kind;

const SECOND: Duration = Duration::from_secs(1);

/// The client gives up long before the server would.
fn pair(client: AssocConfig, server: AssocConfig) -> Pair {
    let patient = AssocConfig { heartbeat_interval: None, assoc_max_retrans: 100, ..server };
    Pair::connecting(client, patient)
}

fn aborts(pair: &Pair, way: Way) -> Vec<&Packet> {
    pair.log.iter().filter(|p| p.way == way && p.kinds().contains(&ABORT)).collect()
}

/// The client said it once, with the server's tag, and the server was free at once.
fn was_told(pair: &Pair) {
    let told = aborts(pair, Way::ToServer);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].tag(), read_init_ack(&pair.last_with(INIT_ACK)).0);
    assert_eq!(pair.server.closed(), Some(CloseReason::PeerAbort { cause: Some(12) }));
    let server = pair.server.endpoint.association(pair.server.handle()).unwrap();
    assert_eq!(server.abort_reason(), "too many retransmissions");
    assert_eq!(aborts(pair, Way::ToClient).len(), 0, "an ABORT is never answered");
}

#[test]
fn data_that_nobody_acknowledges() {
    let mut pair = pair(AssocConfig::default(), AssocConfig::default());
    pair.run_for(SECOND);
    // The first path is dead both ways, the second on the way back.
    let dead = client_paths()[0].remote.ip();
    pair.lose_packets(move |p| match p.way {
        Way::ToServer if p.tuple.local.ip() != dead => Verdict::Deliver,
        _ => Verdict::Lose,
    });
    let now = pair.now;
    pair.client.send(now, b"is anybody there?");
    pair.run_for(1000 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
    was_told(&pair);
}

#[test]
fn a_cookie_echo_that_nobody_acknowledges() {
    let config = AssocConfig { max_init_retrans: 2, ..AssocConfig::default() };
    let mut pair = pair(config, AssocConfig::default());
    pair.lose_packets(|p| match p.way {
        Way::ToClient if p.first_kind() != INIT_ACK => Verdict::Lose,
        _ => Verdict::Deliver,
    });
    pair.run_for(20 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::HandshakeTimeout));
    was_told(&pair);
}

#[test]
fn a_shutdown_that_nobody_acknowledges_has_left_nothing_undone() {
    let mut pair = pair(AssocConfig::default(), AssocConfig::default());
    pair.run_for(SECOND);
    pair.lose_packets(|p| if p.way == Way::ToClient { Verdict::Lose } else { Verdict::Deliver });
    let now = pair.now;
    pair.client.shutdown(now);
    pair.run_for(1000 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::Unreachable));
    // Both had everything, so the server need not think that something went wrong.
    assert_eq!(aborts(&pair, Way::ToServer).len(), 1);
    assert_eq!(pair.server.closed(), Some(CloseReason::Shutdown));
}

#[test]
fn an_init_that_nobody_answers_ends_in_silence() {
    let config = AssocConfig { max_init_retrans: 2, ..AssocConfig::default() };
    let mut pair = pair(config, AssocConfig::default());
    pair.lose_packets(|_| Verdict::Lose);
    pair.run_for(20 * SECOND);
    assert_eq!(pair.client.closed(), Some(CloseReason::HandshakeTimeout));
    assert!(pair.log.iter().all(|p| p.kinds() == [INIT]), "there is no tag to send it with");
}

#[test]
fn who_was_aborted_says_nothing() {
    let mut pair = Pair::connected();
    let (now, before) = (pair.now, pair.log.len());
    let h = pair.client.handle();
    pair.client.endpoint.association_mut(h).unwrap().abort(now, bytes::Bytes::new());
    pair.run_for(100 * SECOND);
    assert_eq!(pair.server.closed(), Some(CloseReason::PeerAbort { cause: Some(12) }));
    assert_eq!(pair.log.len(), before + 1);
}

#[test]
fn two_ends_that_lose_each_other_say_it_once_each() {
    let mut pair = Pair::connected();
    pair.lose_packets(|_| Verdict::Lose);
    let now = pair.now;
    pair.client.send(now, b"there");
    pair.server.send(now, b"back");
    pair.run_for(2000 * SECOND);
    for (host, way) in [(&pair.client, Way::ToServer), (&pair.server, Way::ToClient)] {
        assert_eq!(host.state(), State::Closed);
        assert_eq!(aborts(&pair, way).len(), 1);
        let last = pair.log.iter().rev().find(|p| p.way == way).expect("it sent something");
        assert_eq!(last.kinds(), [ABORT], "and nothing behind it");
    }
}

#[test]
fn it_is_authenticated_where_the_peer_wants_aborts_authenticated() {
    let proven = AssocConfig {
        extensions: ExtensionConfig { authentication: true, ..ExtensionConfig::NONE },
        auth: AuthConfig { chunks: vec![kind::ABORT], ..AuthConfig::default() },
        ..AssocConfig::default()
    };
    let mut pair = pair(proven.clone(), proven);
    pair.run_for(SECOND);
    pair.lose_packets(|p| if p.way == Way::ToClient { Verdict::Lose } else { Verdict::Deliver });
    let now = pair.now;
    pair.client.send(now, b"is anybody there?");
    pair.run_for(1000 * SECOND);
    assert_eq!(aborts(&pair, Way::ToServer)[0].kinds(), [kind::AUTH, ABORT]);
    was_told(&pair);
}

/// Decides so often, and then fails.
#[derive(Clone, Debug)]
struct Fails {
    after: u32,
}

impl Policy for Fails {
    fn name(&self) -> &'static str {
        "fails"
    }

    fn failure(&self) -> Option<String> {
        (self.after == 0).then(|| "line 3: division by zero".to_owned())
    }
}

impl PathScheduler for Fails {
    fn pick_path(&mut self, view: &AssocView<'_>, _: &ChunkMeta) -> PathPick {
        let path = view.sendable().next().filter(|_| self.after > 0);
        self.after = self.after.saturating_sub(1);
        path.map_or(PathPick::Wait, |path| PathPick::Use(path.id))
    }
}

impl PolicyFactory for Fails {
    fn build(&self, cc: &CcConfig, _: &mut Rng) -> PolicySet {
        PolicySet { path_scheduler: Box::new(self.clone()), ..PolicySet::rfc9260(cc) }
    }
}

#[test]
fn a_path_scheduler_that_fails() {
    let config = AssocConfig { policies: Arc::new(Fails { after: 5 }), ..AssocConfig::default() };
    let mut pair = pair(config, AssocConfig::default());
    pair.run_for(SECOND);
    let now = pair.now;
    pair.client.send(now, &[7; 20_000]);
    pair.run_for(SECOND);
    let told = CloseReason::PolicyFailed("line 3: division by zero".into());
    assert_eq!(pair.client.closed(), Some(told));
    // The peer hears that it is over, and nothing of how this side is made.
    assert_eq!(aborts(&pair, Way::ToServer).len(), 1);
    let server = pair.server.endpoint.association(pair.server.handle()).unwrap();
    assert_eq!(server.abort_reason(), "the path scheduler failed");
}
