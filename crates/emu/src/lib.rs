//! An emulated network on one machine.

mod devices;
mod driver;
mod emulation;
mod error;
mod fabric;
mod frame;
mod guard;
mod lateness;
mod measure;
mod model;
mod namespace;
mod offload;
mod plan;
mod port;
mod spec;
mod sysctl;

pub use emulation::{Emulation, Host, Stats};
pub use error::Error;
pub use lateness::Lateness;
pub use measure::{Bounds, Compared, Measurement};
pub use namespace::Namespace;
pub use spec::{
    CrossSpec, HostSpec, InterfaceSpec, LinkSpec, NetworkSpec, RouteSpec, SpecError, is_name,
};
