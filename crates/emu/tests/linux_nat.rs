//! A box of ours beside one of Linux: nftables' masquerade between three namespaces, asked the
//! same. It needs root and `nft`; without it says that it is skipped, and fails where
//! POLYPATH_REQUIRE_ROOT=1 says that it must not be.
//!
//! What was found (Linux 6): mapping is endpoint-independent, ports are preserved where they are
//! free, filtering is address-and-port-dependent, who is not let in hears that the port is
//! unreachable, and there is no hairpinning. One thing a table of RFC 4787 cannot say is left out
//! here: once an endpoint outside has knocked in vain, Linux maps what the client then sends to it
//! to another port, as the one that was knocked at is taken by the attempt.

mod common;

use std::any::Any;
use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::{Command, Stdio};

use common::{SHORT, V4, WAIT, build, ip, receive, uplinks};
use nix::sched::{CloneFlags, setns};
use polypath_emu::for_tests::or_skip;
use polypath_emu::{Error, Host};

/// Hosts inside and outside, and how to open sockets there.
struct Site {
    inside: Box<dyn Fn(IpAddr, u16) -> UdpSocket>,
    outside: Box<dyn Fn(IpAddr, u16) -> UdpSocket>,
    /// Takes it all away in the end.
    _keep: Box<dyn Any>,
}

/// Namespaces of `ip netns`, removed in the end.
struct Named(Vec<String>);

impl Drop for Named {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

#[test]
fn a_box_answers_as_linux_does() {
    let Some(linux) = linux() else { return };
    let Some(ours) = ours() else { return };
    let [theirs, own] = [linux, ours].map(|site| probe(&site));
    assert_eq!(theirs, own);
    // Both may be wrong together: what is expected of them.
    assert_eq!(own.len(), 10);
    assert_eq!(own[..3], ["known: port 5000", "other port: port 5000", "other host: port 5000"]);
}

/// What each of the probes finds.
fn probe(site: &Site) -> Vec<String> {
    let external = ip(V4.external[0]);
    let inside = |n: usize, port| (site.inside)(ip(V4.clients[n]), port);
    let outside = |n: usize, port| (site.outside)(ip(V4.servers[n]), port);
    let (client, neighbour) = (inside(0, 5000), inside(1, 5000));
    let (known, other_port, other_host) = (outside(0, 9899), outside(0, 9900), outside(1, 9899));
    let sends = |from: &UdpSocket, to: &UdpSocket| {
        from.send_to(b"hello", to.local_addr().unwrap()).unwrap();
        receive(to, WAIT)
    };
    let gets_in = |from: &UdpSocket, to: SocketAddr, whom: &UdpSocket, wait| {
        from.send_to(b"hello", to).unwrap();
        receive(whom, wait).is_some()
    };
    let refused = |from: &UdpSocket, to: SocketAddr| {
        from.connect(to).unwrap();
        from.send(b"hello").unwrap();
        from.set_read_timeout(Some(WAIT)).unwrap();
        from.recv(&mut [0; 10]).unwrap_err().kind()
    };
    let mut found = Vec::new();
    for (name, to) in [("known", &known), ("other port", &other_port), ("other host", &other_host)]
    {
        let mapped = sends(&client, to).filter(|mapped| mapped.ip() == external);
        found.push(format!("{name}: port {}", mapped.map_or(0, |mapped| mapped.port())));
    }
    let second = sends(&neighbour, &known).unwrap();
    found.push(format!("a neighbour has the same port: {}", second.port() == 5000));
    let elsewhere = sends(&neighbour, &outside(2, 9901));
    found.push(format!("elsewhere, too: {}", elsewhere == Some(second)));
    let mapped = SocketAddr::new(external, 5000);
    let answer = gets_in(&known, mapped, &client, WAIT);
    found.push(format!("an answer gets in: {answer}"));
    let stranger = gets_in(&outside(2, 9899), mapped, &client, SHORT);
    found.push(format!("a stranger gets in: {stranger}"));
    let hairpin = gets_in(&neighbour, mapped, &client, SHORT);
    found.push(format!("a neighbour gets in: {hairpin}"));
    let kinds =
        [refused(&outside(2, 9902), mapped), refused(&outside(2, 9903), unmapped(external))];
    found.push(format!("strangers hear: {kinds:?}"));
    let closed = refused(&inside(0, 5003), SocketAddr::new(ip(V4.servers[0]), 9));
    found.push(format!("of a closed port outside the client hears: {closed:?}"));
    found
}

fn unmapped(external: IpAddr) -> SocketAddr {
    SocketAddr::new(external, 7777)
}

/// Both uplinks behind one box, set as Linux's was found to be.
fn ours() -> Option<Site> {
    let like_linux = |config: &mut polypath_link::NatConfig| {
        (config.answers, config.hairpin) = (true, false);
    };
    let emulation = build(uplinks(V4, [0, 0], like_linux))?;
    emulation.start().unwrap();
    let on = |host| {
        let namespace = emulation.namespace(host).clone();
        Box::new(move |address, port| common::socket(&namespace, address, port)) as Box<_>
    };
    Some(Site { inside: on(Host::Client), outside: on(Host::Server), _keep: Box::new(emulation) })
}

/// Masquerade between namespaces.
fn linux() -> Option<Site> {
    or_skip(
        Command::new("nft")
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .map_err(|_| Error::Missing { command: "nft", package: "nftables" }),
    )?;
    let names = ["in", "box", "out"].map(|part| format!("polypath-{}-{part}", std::process::id()));
    let named = Named(names.to_vec());
    for name in &names {
        let made = Command::new("ip").args(["netns", "add", name]).output().unwrap();
        or_skip(if made.status.success() { Ok(()) } else { Err(Error::NotRoot) })?;
    }
    let [inside, router, outside] = &names;
    let [one, two] = V4.clients;
    let external = V4.external[0];
    run(
        router,
        "ip",
        &format!(
            "link add in type veth peer name eth0 netns {inside}\n\
         link add out type veth peer name eth0 netns {outside}\n\
         addr add 10.0.9.1/32 dev in\naddr add {external}/32 dev out\n\
         link set lo up\nlink set in up\nlink set out up\n\
         route add {one}/32 dev in\nroute add {two}/32 dev in\nroute add 203.0.113.0/24 dev out\n"
        ),
    );
    run(
        inside,
        "ip",
        &format!(
            "addr add {one}/32 dev eth0\naddr add {two}/32 dev eth0\nlink set eth0 up\n\
         route add 10.0.9.1/32 dev eth0\nroute add default via 10.0.9.1\n"
        ),
    );
    let [a, b, c] = V4.servers;
    run(
        outside,
        "ip",
        &format!(
            "addr add {a}/24 dev eth0\naddr add {b}/24 dev eth0\naddr add {c}/24 dev eth0\n\
         link set eth0 up\nroute add {external}/32 dev eth0\n"
        ),
    );
    run(router, "sysctl", "net.ipv4.ip_forward=1\n");
    run(
        router,
        "nft",
        "add table ip nat\n\
         add chain ip nat post { type nat hook postrouting priority srcnat; }\n\
         add rule ip nat post oifname out masquerade\n",
    );
    let on = |name: &String| {
        let name = name.clone();
        Box::new(move |address, port| in_namespace(&name, address, port)) as Box<_>
    };
    Some(Site { inside: on(inside), outside: on(outside), _keep: Box::new(named) })
}

/// Runs one of the programs that read commands, in a namespace.
fn run(namespace: &str, program: &str, script: &str) {
    let options: &[&str] = match program {
        "ip" => &["-batch", "-"],
        "sysctl" => &["-q", "-p", "-"],
        _ => &["-f", "-"],
    };
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]).args(options);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{program}: {script}");
}

fn in_namespace(name: &str, address: IpAddr, port: u16) -> UdpSocket {
    let open = || {
        let namespace = File::open(format!("/run/netns/{name}")).unwrap();
        setns(namespace, CloneFlags::CLONE_NEWNET).unwrap();
        UdpSocket::bind((address, port)).unwrap()
    };
    std::thread::scope(|scope| scope.spawn(open).join().unwrap())
}
