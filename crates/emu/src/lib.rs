//! An emulated network on one machine: two hosts for real programs, and between them the links of
//! [`polypath_link`] in real time.
//!
//! The hosts are network namespaces without names. Each of their interfaces is one end of a veth
//! pair; the other ends lie in a third namespace, where a thread takes whole frames from packet
//! sockets, leads them over links, and puts them down at the other host. It needs root (or
//! CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW) and the command `ip`. Nothing survives the
//! [`Emulation`], not even if its process is killed.
//!
//! ```no_run
//! use std::net::{IpAddr, UdpSocket};
//!
//! use polypath_emu::{Emulation, HostSpec, InterfaceSpec, LinkSpec, NetworkSpec, RouteSpec};
//! use polypath_link::{LinkConfig, LinkSeed};
//!
//! let [client, server]: [IpAddr; 2] = [[10, 0, 1, 1].into(), [10, 0, 1, 2].into()];
//! let host = |address| HostSpec {
//!     interfaces: vec![InterfaceSpec { name: "wifi".into(), addresses: vec![address] }],
//! };
//! let link = |name: &str, seed| LinkSpec {
//!     name: name.into(),
//!     config: LinkConfig { rate: Some(20_000_000), delay: 5_000_000, ..LinkConfig::default() },
//!     seed: LinkSeed::new(1, seed),
//! };
//! let route = |from, to, link| RouteSpec {
//!     path: "wifi".into(),
//!     from,
//!     to,
//!     links: vec![link],
//!     vanish_above: None,
//! };
//! let emulation = Emulation::build(NetworkSpec {
//!     client: host(client),
//!     server: host(server),
//!     links: vec![link("wifi.forward", 1), link("wifi.reverse", 2)],
//!     routes: vec![route(client, server, 0), route(server, client, 1)],
//!     ..NetworkSpec::default()
//! })?;
//!
//! // Sockets belong to the namespace in which they were opened, and work on any thread.
//! let socket = emulation.client().run(|| UdpSocket::bind((client, 0)))??;
//! emulation.start()?; // losses, jitter and schedules begin
//! socket.send_to(b"hello", (server, 9))?;
//! emulation.cut_path("wifi")?; // what is on the way is lost, and what comes, until:
//! emulation.restore_path("wifi")?;
//! println!("{:?}", emulation.stats()?.lateness);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod devices;
mod driver;
mod emulation;
mod error;
mod fabric;
pub mod for_tests;
mod frame;
mod guard;
mod lateness;
mod measure;
mod model;
mod namespace;
mod nat;
mod offload;
mod plan;
mod port;
mod priority;
mod spec;
mod sysctl;

pub use driver::Watcher;
pub use emulation::{Emulation, Stats};
pub use error::Error;
pub use lateness::Lateness;
pub use measure::{Bounds, Compared, Measurement};
pub use namespace::Namespace;
pub use nat::NatCounters;
pub use priority::serve_first;
pub use spec::{
    CrossSpec, Host, HostSpec, InterfaceSpec, LinkSpec, NatSpec, NetworkSpec, RouteSpec, SpecError,
    is_name,
};
