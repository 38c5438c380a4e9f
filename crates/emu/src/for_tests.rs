//! What tests on emulated networks share, in whatever crate they are.

use core::fmt::Display;

use polypath_link::{LinkConfig, LinkSeed};

use crate::emulation::Emulation;
use crate::error::Error;
use crate::spec::{HostSpec, InterfaceSpec, LinkSpec, NetworkSpec, RouteSpec};

/// Says that a test is skipped, and why.
///
/// # Panics
/// Where POLYPATH_REQUIRE_ROOT=1 says that it must not be.
pub fn skip(why: &dyn Display) {
    let required = std::env::var_os("POLYPATH_REQUIRE_ROOT").is_some_and(|v| v == "1");
    assert!(!required, "{why}");
    eprintln!("skipped: {why}");
}

/// What was made; `None`: the rights or programs that it takes are missing, and the test is
/// skipped.
///
/// # Panics
/// As [`skip`], and when something else went wrong.
pub fn or_skip<T>(made: Result<T, Error>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(error @ (Error::NotRoot | Error::Missing { .. })) => {
            skip(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The network, unless the test is skipped.
///
/// # Panics
/// As [`or_skip`].
pub fn build(spec: NetworkSpec) -> Option<Emulation> {
    or_skip(Emulation::build(spec))
}

/// Two paths, called like their `devices`: 10.0.1.1 to 10.0.1.2 and 10.0.2.1 to 10.0.2.2, over a
/// link of this kind each way.
pub fn two_paths(devices: [&str; 2], link: &LinkConfig) -> NetworkSpec {
    let mut spec = NetworkSpec::default();
    for (net, path) in (1..).zip(devices) {
        let ends = [1, 2].map(|host| [10, 0, net, host].into());
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
