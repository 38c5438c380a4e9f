//! What is known of paths that carry nothing: never heard of, or not any more.

use std::sync::Arc;

use bytes::Bytes;
use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::ids::{PathId, StreamId};
use polypath_proto::stats::PathContact;
use polypath_proto::time::{Duration, Time};
use polypath_proto::view::PathState;
use polypath_proto::{AssocHandle, RecvFrom, SendOptions};
use polypath_testkit::world::{HostId, World};

const CLIENT: HostId = HostId::CLIENT;

struct Two {
    world: World,
    client: AssocHandle,
}

impl Two {
    /// An association over two paths, the second of which may be cut from the beginning.
    fn new(second: bool) -> Self {
        let config = || EndpointConfig { port: 5000, ..EndpointConfig::default() };
        let delays = [10, 30].map(Duration::from_millis);
        let mut world = World::new([config(), config()], &delays, 1);
        world.set_up(1, second);
        let heartbeat_interval = Some(Duration::from_secs(1));
        let assoc = AssocConfig { heartbeat_interval, ..AssocConfig::default() };
        let client = world.connect(CLIENT, 2, Arc::new(assoc));
        Self { world, client }
    }

    /// Lets time pass, with data under way.
    fn run(&mut self, seconds: u64) {
        for _ in 0..seconds * 10 {
            let now = self.world.now();
            if let Some(assoc) = self.world.assoc_mut(CLIENT, self.client) {
                let data = Bytes::from_static(&[7; 3000]);
                let _full = assoc.send(now, StreamId(0), data, SendOptions::default());
            }
            let server = &mut self.world.host(HostId::SERVER).endpoint;
            let accepted = server.associations().next();
            if let Some(assoc) = accepted.and_then(|h| server.association_mut(h)) {
                while assoc.recv(now, RecvFrom::Any).is_some() {}
            }
            self.world.run_for(Duration::from_millis(100)).expect("no trouble");
        }
    }

    fn path(&self, path: u8) -> (PathState, PathContact) {
        let assoc = self.world.assoc(CLIENT, self.client).expect("it lives");
        let state = assoc.stats().paths[usize::from(path)].state;
        (state, assoc.path_contact(PathId(path)).expect("there is such a path"))
    }

    fn silent_for(&self, path: u8) -> Option<Duration> {
        self.path(path).1.last_heard.map(|heard: Time| self.world.clock(CLIENT).since(heard))
    }
}

#[test]
fn a_path_that_never_answers_was_never_heard_of() {
    let mut two = Two::new(false);
    two.run(8);
    // Who names a path vouches for its address (RFC 9260 section 5.4): its state does not tell.
    let (_, contact) = two.path(1);
    assert_eq!(contact.last_heard, None);
    assert!(contact.unanswered >= 2, "{contact:?}");
    assert!(two.silent_for(0).expect("heard") < Duration::from_secs(1));
}

#[test]
fn a_path_that_is_cut_was_heard_of_until_then() {
    let mut two = Two::new(true);
    two.run(3);
    let (state, contact) = two.path(1);
    assert_eq!((state, contact.unanswered), (PathState::Active, 0));
    assert!(two.silent_for(1).expect("heard") < Duration::from_secs(2));
    two.world.set_up(1, false);
    two.run(150);
    let (state, contact) = two.path(1);
    assert_eq!(state, PathState::Inactive);
    assert!(contact.unanswered > 5, "{contact:?}");
    let silent = two.silent_for(1).expect("heard once").as_secs();
    assert!((148..=152).contains(&silent), "{silent} s");
    // It works again.
    two.world.set_up(1, true);
    two.run(70);
    let (state, contact) = two.path(1);
    assert_eq!((state, contact.unanswered), (PathState::Active, 0));
}
