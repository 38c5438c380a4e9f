//! Two uplinks to a server with one address, one of which this host does not send on, in a network
//! namespace of the test's own. They need root; without it they say that they are skipped, and fail
//! where POLYPATH_REQUIRE_ROOT=1 says that they must not be.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use polypath_emu::{Namespace, for_tests};
use polypath_net::{Association, Config, ConnectError, Endpoint, PathState};

const PORT: u16 = 5000;
const FIRST: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
const SECOND: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// A host whose packets to itself are real ones.
struct Host(Namespace);

impl Host {
    fn new() -> Option<Self> {
        let host = Self(for_tests::or_skip(Namespace::new())?);
        // Rules may stand before the one that finds this host's own addresses.
        host.run("ip link set lo up");
        host.run("ip rule add pref 10 lookup local");
        host.run("ip rule del pref 0");
        host.run("nft add table ip uplinks");
        for hook in ["output", "input"] {
            let chain = format!("{hook} {{ type filter hook {hook} priority 0 ; }}");
            host.run(&format!("nft add chain ip uplinks {chain}"));
        }
        Some(host)
    }

    fn run(&self, command: &str) {
        let mut words = command.split(' ');
        let mut process = Command::new(words.next().expect("a command"));
        let mut child = self.0.spawn(process.args(words)).expect("it starts");
        assert!(child.wait().expect("it ends").success(), "{command}");
    }

    fn bind(&self, config: Config) -> Endpoint {
        self.0.run(|| Endpoint::bind(config)).unwrap().unwrap()
    }

    fn server(&self) -> Endpoint {
        self.bind(Config::insecure_server([SERVER.into()], PORT))
    }

    fn client(&self) -> Endpoint {
        self.bind(Config::insecure_client([FIRST, SECOND].map(IpAddr::from)))
    }
}

/// Ways in which packets from an address do not get to the server, each with the system's word.
const WAYS: [(&str, &str); 4] = [
    ("nft add rule ip uplinks output ip saddr ADDRESS drop", "operation not permitted"),
    ("nft add rule ip uplinks output ip saddr ADDRESS reject", "operation not permitted"),
    ("ip rule add pref 1 from ADDRESS unreachable", "network is unreachable"),
    // Not refused here: the server's host says so.
    ("nft add rule ip uplinks input ip saddr ADDRESS reject", OF_SERVER),
];

/// What the server's host says by ICMP.
const OF_SERVER: &str = "connection refused";

async fn connect(client: &Endpoint, server: &Endpoint) -> Result<Association, ConnectError> {
    let there = server.local_addresses();
    let connecting = client.connect(&there, PORT);
    tokio::time::timeout(Duration::from_secs(20), connecting).await.expect("an outcome in time")
}

async fn carry(a: &Association, b: &Association, blocks: u8) {
    let sending = async {
        for i in 0..blocks {
            a.send(0, vec![i; 50_000]).await.unwrap();
        }
    };
    let receiving = async {
        for i in 0..blocks {
            assert!(b.recv().await.unwrap().unwrap().data == vec![i; 50_000], "block {i}");
        }
    };
    let both = async { tokio::join!(sending, receiving) };
    tokio::time::timeout(Duration::from_secs(60), both).await.expect("it arrives in time");
}

#[tokio::test]
async fn one_uplink_that_is_refused_does_not_stop_the_other() {
    for (n, refused) in [FIRST, SECOND].into_iter().enumerate() {
        for (way, word) in WAYS {
            let Some(host) = Host::new() else { return };
            let (server, client) = (host.server(), host.client());
            host.run(&way.replace("ADDRESS", &refused.to_string()));
            let a = connect(&client, &server).await;
            let a = a.unwrap_or_else(|error| panic!("{refused}, {way}: {error}"));
            let b = server.accept().await.unwrap();
            carry(&a, &b, 20).await;
            let paths = a.paths();
            assert_eq!(paths[n].stats.local.ip(), IpAddr::from(refused));
            if word != OF_SERVER {
                assert_eq!(paths[n].contact.refusal.as_deref(), Some(word), "{way}");
            }
            assert_eq!(paths[1 - n].contact.refusal, None, "{way}");
            assert!(paths[1 - n].stats.payload_bytes >= 1_000_000, "{way}");
        }
    }
}

#[tokio::test]
async fn where_all_uplinks_are_refused_it_is_said_at_once_and_of_each() {
    for (way, word) in WAYS {
        let Some(host) = Host::new() else { return };
        let (server, client) = (host.server(), host.client());
        for refused in [FIRST, SECOND] {
            host.run(&way.replace("ADDRESS", &refused.to_string()));
        }
        let error = connect(&client, &server).await.unwrap_err();
        let ConnectError::Unreachable { remote, why } = &error else { panic!("{error}") };
        let there = server.local_addresses();
        assert_eq!(*remote, there, "each once");
        let from = client.local_addresses();
        let each = from.iter().map(|from| format!("{from} -> {}: {word}", there[0]));
        assert_eq!(*why, each.collect::<Vec<_>>().join("; "), "{way}");
    }
}

#[tokio::test]
async fn what_was_named_and_is_not_tried_keeps_nobody_waiting() {
    let Some(host) = Host::new() else { return };
    let mut config = Config::insecure_client([FIRST, SECOND].map(IpAddr::from));
    // Such an INIT goes from the first address alone.
    Arc::make_mut(&mut config.assoc).minimal_init = true;
    let (server, client) = (host.server(), host.bind(config));
    host.run(&WAYS[0].0.replace("ADDRESS", &FIRST.to_string()));
    let error = connect(&client, &server).await.unwrap_err();
    let [from, there] = [&client, &server].map(|endpoint| endpoint.local_addresses()[0]);
    let told = format!("no path to [{there}]: {from} -> {there}: {}", WAYS[0].1);
    assert_eq!(error.to_string(), told);
}

/// Whether the first uplink is known to fail, in this `word` if it is this host's own. What the
/// server sends still comes on it, so it need not be silent.
fn is_noticed(a: &Association, word: &str) -> bool {
    let first = &a.paths()[0];
    let fails = first.contact.silent || first.stats.state != PathState::Active;
    first.contact.refusal.as_deref() == Some(word) || word == OF_SERVER && fails
}

#[tokio::test]
async fn an_uplink_that_is_refused_later_leaves_the_transfer_to_the_other() {
    for (way, word) in WAYS {
        let Some(host) = Host::new() else { return };
        let (server, client) = (host.server(), host.client());
        let (a, b) = tokio::join!(connect(&client, &server), server.accept());
        let (a, b) = (a.unwrap(), b.unwrap());
        carry(&a, &b, 20).await;
        host.run(&way.replace("ADDRESS", &FIRST.to_string()));
        let first = a.paths()[0].stats.path;
        let noticed = async {
            while !is_noticed(&a, word) {
                a.request_heartbeat(first);
                carry(&a, &b, 5).await;
            }
        };
        let noticed = tokio::time::timeout(Duration::from_secs(60), noticed).await;
        assert!(noticed.is_ok(), "{way}: {:?}", a.paths());
        carry(&a, &b, 20).await;
        assert!(!a.is_closed() && !b.is_closed(), "{way}");
        assert_eq!(a.paths()[1].contact.refusal, None, "{way}");
    }
}
