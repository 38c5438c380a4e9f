//! Associations on real sockets for asyncio: the native half of `polypath.net`.
//!
//! The futures of `polypath-net` need no runtime, so the thread of the event loop polls them itself
//! ([`Operation`]), and is woken through a socket ([`Wakeups`]). An operation makes progress only
//! while it is polled: one that is cancelled has not happened, and no message is lost between two
//! threads.
//!
//! The reactor thread of an endpoint may hold the endpoint's lock while it waits for the
//! interpreter, for it calls path schedulers in Python. So whoever takes that lock must have
//! released the interpreter: see [`Detached`].

mod association;
mod blocking;
mod detached;
mod ending;
mod endpoint;
mod errors;
mod events;
mod explain;
mod figures;
mod held;
mod keys;
mod opening;
mod operation;
mod stack;
mod wakeups;

pub(crate) use self::association::Association;
use self::detached::Detached;
pub(crate) use self::ending::leave;
pub(crate) use self::endpoint::{Endpoint, listen};
pub(crate) use self::errors::{Closed, ConnectError, UntrustedPeer};
pub(crate) use self::events::Events;
pub(crate) use self::keys::{identity, remember};
pub(crate) use self::opening::connect;
pub(crate) use self::operation::Operation;
pub(crate) use self::stack::Stack;
pub(crate) use self::wakeups::Wakeups;
