//! Associations that protect their packets, end to end in virtual time: what the core makes of key
//! management and of packets in plain. Keys are the stand-in's, so runs are the same each time.

mod attacks;
mod common;
mod failing;
mod loss;
mod moves;
mod opening;
mod plain;
mod rekeying;
mod set_up;
#[cfg(any(feature = "ring", feature = "aws-lc-rs"))]
mod tls;
