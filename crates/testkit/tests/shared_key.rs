//! Two ends whose shared keys differ (RFC 4895): what must be authenticated is dropped in silence,
//! while heartbeats are answered.

use std::sync::Arc;

use bytes::Bytes;
use polypath_policies::profile;
use polypath_proto::config::{
    AssocConfig, AuthConfig, AuthKey, EndpointConfig, ExtensionConfig, StallDetectionConfig,
};
use polypath_proto::event::AuthNotice;
use polypath_proto::ids::StreamId;
use polypath_proto::stats::Stall;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{AssocHandle, CloseReason, Event, RecvFrom, SendOptions};
use polypath_testkit::world::{HostId, World};
use polypath_wire::chunk::kind;

const SECOND: Duration = Duration::from_secs(1);
const CLIENT: HostId = HostId::CLIENT;
const SERVER: HostId = HostId::SERVER;
const NOTICE: Event = Event::Authentication(AuthNotice::NothingAcknowledged);

/// The profiles, each wanting DATA and SACK authenticated.
fn profiles() -> [(&'static str, AssocConfig); 2] {
    let config = |stack| profile::config(stack).expect("built in");
    [("fast", config(profile::fast())), ("paper", config(profile::paper()))]
}

fn keyed(base: &AssocConfig, secret: &[u8]) -> Arc<AssocConfig> {
    let auth = AuthConfig {
        keys: vec![AuthKey { id: 1, secret: secret.to_vec() }],
        active: 1,
        chunks: vec![kind::DATA, kind::SACK],
        ..AuthConfig::default()
    };
    let extensions = ExtensionConfig { authentication: true, ..base.extensions };
    let stall_detection = Some(StallDetectionConfig::default());
    Arc::new(AssocConfig { auth, extensions, stall_detection, ..base.clone() })
}

/// A client with this key, connected over two paths to a server whose key is "right", with a
/// megabyte to send.
fn sending(base: &AssocConfig, secret: &[u8]) -> (World, AssocHandle) {
    let (ours, theirs) = (keyed(base, secret), keyed(base, b"right"));
    let end = |port, assoc: &Arc<AssocConfig>| EndpointConfig {
        port,
        assoc: assoc.clone(),
        ..EndpointConfig::default()
    };
    let delays = [Duration::from_millis(5), Duration::from_millis(20)];
    let mut world = World::new([end(5000, &ours), end(5001, &theirs)], &delays, 1);
    let client = world.connect(CLIENT, 2, ours);
    world.run_for(2 * SECOND).expect("no trouble");
    let now = world.clock(CLIENT);
    let assoc = world.assoc_mut(CLIENT, client).expect("it lives");
    for _ in 0..100 {
        let data = Bytes::from(vec![7; 10_000]);
        let sent = assoc.send(now, StreamId(0), data, SendOptions::default());
        if sent.is_err() {
            break;
        }
    }
    (world, client)
}

/// What became of the client.
#[derive(Default)]
struct Seen {
    told: Vec<Event>,
    /// When its association ended.
    ended: Option<Time>,
    /// DATA chunks sent until the end of each second, retransmissions included.
    sent: Vec<u64>,
}

impl Seen {
    /// Lets time pass.
    fn watch(&mut self, world: &mut World, client: AssocHandle, seconds: u64) {
        for _ in 0..seconds {
            world.run_for(SECOND).expect("no trouble");
            self.told.extend(world.host(CLIENT).events.drain(..).map(|(_, event)| event));
            let now = world.clock(CLIENT);
            let Some(assoc) = world.assoc(CLIENT, client) else { continue };
            self.sent.push(assoc.stats().paths.iter().map(|p| p.data_chunks).sum());
            if assoc.close_reason().is_some() && self.ended.is_none() {
                self.ended = Some(now);
            }
        }
    }

    /// The most seconds in a row without DATA before the end.
    fn longest_pause(&self) -> usize {
        let before_the_last = self.sent.iter().filter(|sent| **sent < self.total());
        let counts: Vec<_> = before_the_last.collect();
        counts.chunk_by(|a, b| a == b).map(|same| same.len() - 1).max().unwrap_or(0)
    }

    fn total(&self) -> u64 {
        self.sent.last().copied().unwrap_or(0)
    }
}

/// Messages that reached the server.
fn arrived(world: &mut World) -> usize {
    let server = world.host(SERVER).endpoint.associations().next().expect("accepted");
    let now = world.clock(SERVER);
    let assoc = world.assoc_mut(SERVER, server).expect("it lives");
    core::iter::from_fn(|| assoc.recv(now, RecvFrom::Any)).count()
}

#[test]
fn a_wrong_key_is_told_as_what_it_may_be_and_given_up_in_time() {
    for (name, base) in profiles() {
        let (mut world, client) = sending(&base, b"wrong");
        let mut seen = Seen::default();
        seen.watch(&mut world, client, 900);
        let (pause, sent, told) = (seen.longest_pause(), seen.total(), &seen.told);
        let paths = told.iter().filter(|e| matches!(e, Event::PathState { .. })).count();
        println!("{name}: end {:?}, {sent} chunks, {paths} events of paths", seen.ended);
        let ended = seen.ended.unwrap_or_else(|| panic!("{name}: it goes on for ever"));
        let bound = Time::ZERO + if name == "fast" { 120 * SECOND } else { 800 * SECOND };
        assert!(ended < bound, "{name}: {ended:?}");
        assert!(told.contains(&Event::Closed(CloseReason::NothingAcknowledged)), "{told:?}");
        assert_eq!(told.iter().filter(|event| **event == NOTICE).count(), 1, "{name}: {told:?}");
        assert!(!told.iter().any(|e| matches!(e, Event::PacketsTooBig { .. })), "{name}");
        assert!(paths <= 16, "{name}: {paths} events of paths");
        let stalls = told.iter().filter(|e| matches!(e, Event::Stalled { .. }));
        for stall in stalls {
            assert!(matches!(stall, Event::Stalled { cause: Stall::SharedKey, .. }), "{stall:?}");
        }
        assert!(pause >= 3, "{name}: no back-off, {pause} s without data at most");
    }
}

#[test]
fn the_right_key_is_not_doubted_because_the_paths_fail() {
    for (name, base) in profiles() {
        for seconds in [2, 8, 20] {
            // Four paths, and each counts.
            let patient = AssocConfig { assoc_max_retrans: 100, ..base.clone() };
            let (mut world, client) = sending(&patient, b"right");
            // Both paths are cut off before anything was acknowledged, and come back.
            (0..2).for_each(|link| world.set_up(link, false));
            let mut seen = Seen::default();
            seen.watch(&mut world, client, seconds);
            (0..2).for_each(|link| world.set_up(link, true));
            let mut got = 0;
            for _ in 0..90 {
                seen.watch(&mut world, client, 1);
                got += arrived(&mut world);
            }
            assert!(got >= 10, "{name}, {seconds} s: {got} messages, {:?}", seen.told);
            let blamed = |event: &Event| {
                let stall = matches!(event, Event::Stalled { cause: Stall::SharedKey, .. });
                stall || *event == NOTICE
            };
            assert!(!seen.told.iter().any(blamed), "{name}, {seconds} s: {:?}", seen.told);
        }
    }
}

#[test]
fn a_key_that_comes_late_is_in_time_while_the_association_lives() {
    for (name, base) in profiles() {
        let (mut world, client) = sending(&base, b"wrong");
        let mut seen = Seen::default();
        for _ in 0..300 {
            if seen.told.contains(&NOTICE) {
                break;
            }
            seen.watch(&mut world, client, 1);
        }
        assert!(seen.told.contains(&NOTICE), "{name}: {:?}", seen.told);
        let assoc = world.assoc_mut(CLIENT, client).expect("it lives");
        assoc.set_auth_key(1, b"right").expect("authentication is on");
        let mut got = 0;
        for _ in 0..120 {
            seen.watch(&mut world, client, 1);
            got += arrived(&mut world);
        }
        assert!(got >= 10, "{name}: {got} messages, {:?}", seen.told);
    }
}
