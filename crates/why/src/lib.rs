//! Head-of-line blocking: what data waited for at its receiver.
//!
//! ```
//! use polypath_why::{Trace, describe, explain};
//!
//! let line = |host: &str, event: &str| {
//!     format!("{{\"flow\":\"a\",\"host\":\"{host}\",\"at\":0,\"event\":{event}}}\n")
//! };
//! let client = line("client", "\"associated\",\"initial_tsn\":1,\"peer_initial_tsn\":9");
//! let server = line("server", "\"associated\",\"initial_tsn\":9,\"peer_initial_tsn\":1");
//! let mut trace = Trace::default();
//! trace.read("client.jsonl", client.as_bytes())?;
//! assert!(explain(&trace, None).is_err(), "one end alone");
//!
//! let mut trace = Trace::default();
//! trace.read("both.jsonl", (client + &server).as_bytes())?;
//! assert_eq!(describe(&explain(&trace, None)?), "No data arrived.\n");
//! # Ok::<(), polypath_why::WhyError>(())
//! ```
//!
//! A chunk of data waits from its arrival until the application takes the message that it belongs
//! to. This crate reads the trace of an association, both ends of it, and charges every nanosecond
//! of that to a path and a [`Cause`].
//!
//! # What is charged to what
//!
//! Once its message is deliverable, a chunk waits for the [application](Cause::Application) of its
//! receiver; this is charged to the path it came on.
//!
//! Before, it waits for chunks that are missing: before it in the order of its stream, or of its
//! message. It goes on when the last of them arrives, however many came meanwhile; so what became
//! of that one is what was waited for. If none completes it, because its sender gave the missing
//! ones up or the trace ends, it is the first of them. A path needs some time for any packet, its
//! *floor*: the least one-way delay that a packet of its size had on it within 30 s before or
//! after.
//!
//! - The missing chunk was sent first at `s` on path `p`. Until `s` plus the floor of `p` it cannot
//!   be here: [reordering](Cause::Reordering), charged to `p`, which is slower than the path of
//!   what waits.
//! - But if what waits comes *before* it in its message, it does not wait for another path alone:
//!   it waits for the sender. What the missing chunk was sent later than it is charged, moment by
//!   moment, by what ended the sender's last attempt to send: to the [window](Cause::Window) if the
//!   peer's was closed, or those of the paths (congestion windows, Max.Burst, pacing), to the
//!   [application](Cause::Application) if there was nothing more to send, and to the
//!   [sender](Cause::Sender) for anything else: the path scheduler, Nagle's rule.
//! - From then on until it arrives it is late: [queue](Cause::Queue), charged to `p`. Queues do
//!   this, and everything else that delays some packets of a path and not others.
//! - If it did not arrive, it is late until it should have come, with the delay of its nearest
//!   neighbour on `p`; from then on it is missed: [loss](Cause::Loss), charged to `p`, until its
//!   sender declares it lost. What then holds it back, until it is sent again, is charged to the
//!   path that takes it. The floor of that path is loss again, charged to `p`, and what it is late
//!   beyond that is a queue there.
//! - If it arrived, and the receiver dropped it because its window was closed, the time until it is
//!   sent again and could be here is [window](Cause::Window).
//!
//! A transmission that arrives at last was not lost, however often the chunk was sent since: it was
//! late.
//!
//! # Sums
//!
//! Two measures are kept. *Byte-time* weighs each moment with the bytes that wait: each byte is
//! charged by itself. *Time* is that in which anything waits: each moment goes to the path and
//! cause for which most bytes wait. In both, the sum over paths and causes is the whole, exactly.
//!
//! # Clocks
//!
//! Ends in one file share a clock. For two files the clocks are set so that the least one-way delay
//! on the path with the least round trip is half of that round trip. Floors are measured by the
//! same clocks, so an error here moves nothing but the line between loss and what holds it back
//! after.
//!
//! # Features
//! - `schema` (off by default): the JSON schema of an explanation by `schemars`.

mod chunks;
mod clocks;
mod end;
mod error;
mod explain;
mod explanation;
mod floor;
mod groups;
mod life;
mod line;
mod matching;
mod pair;
mod sums;
mod text;
mod trace;
mod tsn;
mod waiting;

pub use error::WhyError;
pub use explain::explain;
pub use explanation::{
    Cause, Charged, Clocks, Direction, Episode, Explanation, Held, Hold, Measure, Span,
};
pub use text::{advice, describe};
pub use trace::Trace;
