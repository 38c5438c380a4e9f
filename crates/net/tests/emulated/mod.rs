//! Emulated networks of two paths for tests on real sockets. They need root; without it tests say that they are skipped, and fail
//! where POLYPATH_REQUIRE_ROOT=1 says that they must not be.

use polypath_emu::{Emulation, Error, HostSpec, InterfaceSpec, LinkSpec, NetworkSpec, RouteSpec};
use polypath_link::{LinkConfig, LinkSeed};

/// Two paths, called like their `devices`: 10.0.1.1 to 10.0.1.2 and 10.0.2.1 to 10.0.2.2, over a link of this kind each way.
pub(crate) fn two_paths(devices: [&str; 2], link: &LinkConfig) -> NetworkSpec {
    let mut spec = NetworkSpec::default();
    for (n, path) in devices.into_iter().enumerate() {
        let ends = [1, 2].map(|host| format!("10.0.{}.{host}", n + 1).parse().unwrap());
        let interface = |address| InterfaceSpec { name: path.into(), addresses: vec![address] };
        let add = |host: &mut HostSpec, address| host.interfaces.push(interface(address));
        add(&mut spec.client, ends[0]);
        add(&mut spec.server, ends[1]);
        for (direction, from, to) in [("forward", ends[0], ends[1]), ("reverse", ends[1], ends[0])]
        {
            let links = vec![spec.links.len()];
            let seed = LinkSeed::new(1, spec.links.len() as u64);
            let name = format!("{path}.{direction}");
            spec.links.push(LinkSpec { name, config: link.clone(), seed });
            spec.routes.push(RouteSpec { path: path.into(), from, to, links, vanish_above: None });
        }
    }
    spec
}

/// The network, or nothing without root.
pub(crate) fn build(spec: NetworkSpec) -> Option<Emulation> {
    match Emulation::build(spec) {
        Ok(emulation) => Some(emulation),
        Err(error @ (Error::NotRoot | Error::Missing { .. })) => {
            let required = std::env::var_os("POLYPATH_REQUIRE_ROOT").is_some_and(|v| v == "1");
            assert!(!required, "{error}");
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}
