//! Memory of protected associations, counted by the allocator: what an idle one costs once it has
//! its keys, and that nothing of the exchange stays.

mod counting;

use std::sync::Arc;

use counting::{KIB, held};
use polypath_proto::config::{AssocConfig, EndpointConfig, PathPairing};
use polypath_proto::protection::KeyManagement;
use polypath_proto::rng::Rng;
use polypath_proto::time::{Duration, Time};
use polypath_proto::{Endpoint, FourTuple};
use polypath_secure::{Identity, PreShared, StandIn, Suite, Tls, Trust};
use polypath_testkit::world::{HostId, address, tuple};

/// As many as lists have room for when they have grown in powers of two, nearly.
const COUNT: u16 = 1000;

fn endpoint(host: HostId, port: u16, paths: usize, assoc: &Arc<AssocConfig>) -> Endpoint {
    let config = EndpointConfig {
        port,
        addresses: (0..paths).map(|link| address(host, link)).collect(),
        pairing: PathPairing::Index,
        max_associations: COUNT.into(),
        max_associations_per_address: COUNT.into(),
        assoc: Arc::clone(assoc),
        ..EndpointConfig::default()
    };
    Endpoint::new(config, Rng::from_u64(port.into()))
}

/// Hands the packets of each to the other until both are silent.
fn converse(a: &mut Endpoint, b: &mut Endpoint, now: Time) {
    let mut packet = Vec::with_capacity(2048);
    let mut pass = |from: &mut Endpoint, to: &mut Endpoint| {
        let mut any = false;
        loop {
            packet.clear();
            let Some(transmit) = from.poll_transmit(now, &mut packet) else { return any };
            let FourTuple { local, remote } = transmit.tuple;
            to.handle_datagram(now, FourTuple { local: remote, remote: local }, &packet);
            any = true;
        }
    };
    while pass(a, b) | pass(b, a) {}
    while a.poll_event().is_some() || b.poll_event().is_some() {}
}

/// Long enough for what is acknowledged late, and for paths to be proven: then all is idle.
fn settle(client: &mut Endpoint, server: &mut Endpoint, start: Time) -> Time {
    let end = start + Duration::from_secs(3);
    while let Some(now) = [&*client, server]
        .into_iter()
        .filter_map(Endpoint::poll_timeout)
        .min()
        .filter(|at| *at <= end)
    {
        let now = now.max(start);
        client.handle_timeout(now);
        server.handle_timeout(now);
        converse(client, server, now);
    }
    end
}

/// What each of [`COUNT`] associations takes, bytes: at the server, and at its client.
fn shares(paths: usize, ends: [Arc<dyn KeyManagement>; 2]) -> [i64; 2] {
    let [client, server] =
        ends.map(|keys| Arc::new(AssocConfig { protection: Some(keys), ..AssocConfig::default() }));
    let tuples: Vec<_> = (0..paths).map(|link| tuple(HostId::CLIENT, link)).collect();
    let mut listener = endpoint(HostId::SERVER, 7, paths, &server);
    // One client endpoint per association: the server tells them apart by port.
    let mut clients: Vec<_> =
        (0..COUNT).map(|i| endpoint(HostId::CLIENT, 10_000 + i, paths, &client)).collect();
    let (before, mut now) = (held(), Time::ZERO);
    for end in &mut clients {
        end.connect(now, &tuples, 7, Arc::clone(&client)).expect("nothing speaks against it");
        converse(end, &mut listener, now);
        now = settle(end, &mut listener, now);
        let h = end.associations().next().expect("it is there");
        assert!(end.association(h).is_some_and(polypath_proto::Association::is_protected));
    }
    assert_eq!(listener.associations().count(), usize::from(COUNT));
    let both = (held() - before) / i64::from(COUNT);
    // Ending all of them at the server tells its share.
    let full = held();
    drop(listener);
    let of_server = (full - held()) / i64::from(COUNT);
    [of_server, both - of_server]
}

fn tls() -> [Arc<dyn KeyManagement>; 2] {
    let [a, b] = [1, 2].map(|_| Identity::generate().expect("random numbers"));
    let only = |who: &Identity| Trust::pinned([who.public().fingerprint()]);
    [Arc::new(Tls::new(&a, only(&b))), Arc::new(Tls::new(&b, only(&a)))]
}

fn both(keys: impl KeyManagement + 'static) -> [Arc<dyn KeyManagement>; 2] {
    let keys: Arc<dyn KeyManagement> = Arc::new(keys);
    [Arc::clone(&keys), keys]
}

/// What each path after the first may take.
const PATH: i64 = 3 * KIB / 2;

#[test]
fn an_idle_protected_association_costs_less_than_10_kib_over_one_path() {
    for paths in [1, 2, 3] {
        let bound = 10 * KIB + (paths as i64 - 1) * PATH;
        let ways = [
            ("TLS 1.3", tls()),
            ("keys shared before", both(PreShared::new([7; 32]))),
            ("stand-in, ChaCha20", both(StandIn::default().with_cipher(Suite::ChaCha20Poly1305))),
        ];
        for (name, keys) in ways {
            let [server, client] = shares(paths, keys);
            println!("{name}, {paths} paths: {server} bytes at the server, {client} at the client");
            assert!(server < bound, "{name}, {paths} paths: {server} bytes at the server");
            assert!(client < bound, "{name}, {paths} paths: {client} bytes at the client");
        }
    }
}

/// Who the peer is: its key, the box around it, and what a list of them has room for.
const IDENTITY: i64 = 256;

#[test]
fn nothing_of_the_exchange_stays() {
    // A TLS connection takes tens of KiB; the stand-in's exchange is a struct of a hundred bytes.
    let cipher = both(StandIn::default().with_cipher(Suite::Aes128Gcm));
    let (with, without) = (shares(1, tls()), shares(1, cipher));
    for (with, without) in with.into_iter().zip(without) {
        // AES-256 where both ends prefer it has larger keys.
        assert!((with - without).abs() <= IDENTITY, "{with} bytes, {without} without TLS");
    }
}
