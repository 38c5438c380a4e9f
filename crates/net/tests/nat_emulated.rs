//! Two uplinks, each behind a NAT of its own (nft masquerade), in an emulated network. They need
//! root; without it they say that they are skipped, and fail where POLYPATH_REQUIRE_ROOT=1 says
//! that they must not be.

use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use polypath_emu::{Emulation, Host, NetworkSpec, for_tests};
use polypath_link::{LinkConfig, Queue};
use polypath_net::{AssocConfig, Association, Config, Endpoint, ExtensionConfig};

const MS: u64 = 1_000_000;
const PORT: u16 = 5000;
const BLOCK: usize = 50_000;
const BLOCKS: usize = 120;

fn network() -> NetworkSpec {
    let queue = Queue::DropTailBytes(50_000);
    let config =
        LinkConfig { rate: Some(10_000_000), delay: 10 * MS, queue, ..LinkConfig::default() };
    for_tests::two_paths(["aa", "ab"], &config)
}

/// The addresses of this host change during transfers, as the applications have it.
fn config(config: Config) -> Config {
    let extensions =
        ExtensionConfig { authentication: true, dynamic_addresses: true, ..ExtensionConfig::NONE };
    let assoc = AssocConfig { extensions, ..(*config.assoc).clone() };
    config.assoc(Arc::new(assoc))
}

/// Runs a command where the emulation has its client, which is the two NATs here.
fn run(emulation: &Emulation, command: &str) {
    let mut words = command.split(' ');
    let mut process = Command::new(words.next().expect("a command"));
    let mut child =
        emulation.namespace(Host::Client).spawn(process.args(words)).expect("it starts");
    assert!(child.wait().expect("it ends").success(), "{command}");
}

/// A host behind the NATs, in a namespace with a name, which goes with it.
struct Inside(String);

impl Inside {
    /// Two uplinks, each with a private address, translated to a port of the NAT's choice.
    fn new(emulation: &Emulation) -> Self {
        let inside = Self(format!("polypath-nat-{}", std::process::id()));
        let name = &inside.0;
        run(emulation, &format!("ip netns add {name}"));
        run(emulation, "sysctl -qw net.ipv4.ip_forward=1");
        run(emulation, "nft add table ip uplinks");
        let hook = "{ type nat hook postrouting priority 100 ; }";
        run(emulation, &format!("nft add chain ip uplinks out {hook}"));
        for (n, device) in [(1, "aa"), (2, "ab")] {
            run(emulation, &format!("ip link add in{n} type veth peer name up{n} netns {name}"));
            run(emulation, &format!("ip address add 192.168.{n}.254/24 dev in{n}"));
            run(emulation, &format!("ip link set in{n} up"));
            let within = |command: String| run(emulation, &format!("ip -n {name} {command}"));
            within(format!("address add 192.168.{n}.1/24 dev up{n}"));
            // One packet each: the emulated devices compute no checksums of batches, which a NAT
            // then gets wrong.
            within(format!("link set up{n} gso_max_segs 1 up"));
            within(format!("route add 10.0.{n}.0/24 via 192.168.{n}.254"));
            run(
                emulation,
                &format!("nft add rule ip uplinks out oifname {device} masquerade random"),
            );
        }
        inside
    }

    /// Binds an endpoint there.
    fn bind(&self, config: Config) -> Endpoint {
        let file = std::fs::File::open(format!("/var/run/netns/{}", self.0)).expect("it is there");
        let bind = move || {
            nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).expect("root may");
            Endpoint::bind(config).expect("its addresses are there")
        };
        let thread = std::thread::Builder::new().spawn(bind).expect("a thread starts");
        thread.join().expect("no panic")
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _gone = Command::new("ip").args(["netns", "del", &self.0]).status();
    }
}

/// Payload bytes that each path of the client carried.
fn carried(association: &Association) -> Vec<u64> {
    association.paths().iter().map(|p| p.stats.payload_bytes).filter(|n| *n > 0).collect()
}

/// Sends [`BLOCKS`] blocks, and gives the shares of the paths, in per cent, the smaller first.
async fn transfer(emulation: &Emulation, client: &Endpoint) -> Vec<u64> {
    let server = config(Config::insecure_server(emulation.addresses(Host::Server), PORT));
    let server = emulation.namespace(Host::Server).run(|| Endpoint::bind(server));
    let server = server.unwrap().unwrap();
    let remote = server.local_addresses();
    let (a, b) = tokio::join!(client.connect(&remote, PORT), server.accept());
    let (a, b) = (a.unwrap(), b.unwrap());
    let receiving = tokio::spawn(async move {
        for i in 0..BLOCKS {
            let message = b.recv().await.unwrap().unwrap();
            assert!(message.data == vec![i as u8; BLOCK], "block {i}");
        }
        b
    });
    for i in 0..BLOCKS {
        a.send(0, Bytes::from(vec![i as u8; BLOCK])).await.unwrap();
    }
    let b = tokio::time::timeout(Duration::from_secs(60), receiving).await.unwrap().unwrap();
    let mut carried = carried(&a);
    a.abort("done");
    b.closed().await;
    let all: u64 = carried.iter().sum();
    carried.sort_unstable();
    carried.iter().map(|bytes| 100 * bytes / all).collect()
}

#[tokio::test]
async fn two_uplinks_behind_two_nats_carry_as_without() {
    let Some(emulation) = for_tests::build(network()) else { return };
    emulation.start().unwrap();
    let local = |addresses: [&str; 2]| {
        config(Config::insecure_client(addresses.map(|a| a.parse::<IpAddr>().unwrap())))
    };
    let direct = local(["10.0.1.1", "10.0.2.1"]);
    let client = emulation.namespace(Host::Client).run(|| Endpoint::bind(direct));
    let without = transfer(&emulation, &client.unwrap().unwrap()).await;
    let inside = Inside::new(&emulation);
    let client = inside.bind(local(["192.168.1.1", "192.168.2.1"]));
    let with = transfer(&emulation, &client).await;
    println!("shares without NAT {without:?}, with {with:?}");
    assert_eq!((without.len(), with.len()), (2, 2), "{without:?} {with:?}");
    assert!(with[0] + 10 >= without[0], "shares without NAT {without:?}, with {with:?}");
}
