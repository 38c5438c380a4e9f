//! A router in the middle whose next link is narrow.

use polypath_emu::Namespace;
use polypath_emu::for_tests::or_skip;

use super::stage::{Stage, run_nft};

const SERVER: &str = "10.9.2.2";

/// A client, a router, and a server behind a link of 1280 bytes.
struct Narrow {
    client: Namespace,
    router: Namespace,
    server: Namespace,
}

impl Narrow {
    fn build() -> Option<Self> {
        let [client, router, server] = [(); 3].map(|()| Namespace::new());
        let narrow =
            Self { client: or_skip(client)?, router: or_skip(router)?, server: or_skip(server)? };
        let Self { client, router, server } = &narrow;
        // The hosts' own devices send more than the second link carries.
        for (host, device, net, width) in [(client, "wan0", 1, 1500), (server, "net0", 2, 1280)] {
            let (path, own) = (router.path().display().to_string(), if net == 1 { 1 } else { 2 });
            or_skip(host.run_ip_commands(&format!(
                "link set lo up\nlink add name {device} type veth peer name to{net} netns {path}\n\
                 addr add 10.9.{net}.{own}/24 dev {device}\nlink set {device} up\n\
                 route add default via 10.9.{net}.254\n"
            )))?;
            or_skip(router.run_ip_commands(&format!(
                "addr add 10.9.{net}.254/24 dev to{net}\nlink set to{net} mtu {width} up\n"
            )))?;
        }
        let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        router.run(forward).unwrap().unwrap();
        Some(narrow)
    }
}

#[test]
fn a_narrow_link_whose_router_says_so_is_found() {
    let Some(narrow) = Narrow::build() else { return };
    let stage = Stage::new();
    let _server = stage.serve(&narrow.server, SERVER, &[]);
    let found = stage.doctor(&narrow.client, SERVER, &[]);
    assert_eq!(found.code, 0, "{found:#?}");
    let mtu = &found.path(0)["mtu"];
    assert_eq!((&mtu["passes"], &mtu["device"]), (&1280.into(), &1500.into()), "{found:#?}");
    let (what, remedy) = found.only("mtu", "warn");
    assert!(what.contains("1280") && remedy.contains("--mtu auto"), "{what}; {remedy}");
}

#[test]
fn a_narrow_link_of_which_nobody_tells_is_found() {
    let Some(narrow) = Narrow::build() else { return };
    let mute = "table ip t { chain o { type filter hook output priority 0;
                icmp type destination-unreachable drop; }; }";
    if !run_nft(&narrow.router, mute) {
        return;
    }
    let stage = Stage::new();
    let _server = stage.serve(&narrow.server, SERVER, &[]);
    let found = stage.doctor(&narrow.client, SERVER, &[]);
    assert_eq!(found.code, 0, "{found:#?}");
    let passes = found.path(0)["mtu"]["passes"].as_u64().unwrap();
    assert!((1200..=1280).contains(&passes), "{found:#?}");
    found.only("mtu", "warn");
}
