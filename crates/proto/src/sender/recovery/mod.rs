//! Loss recovery, per path: fast retransmit and fast recovery of RFC 9260 section 7.2.4 in the form
//! that CMT needs ([`fast_retransmit`]), and what goes beyond the RFC, each part behind its switch
//! ([`RecoveryConfig`](crate::config::RecoveryConfig)): time-based detection ([`rack`]), tail-loss
//! probes ([`tail`]), proportional rate reduction ([`prr`]) and spurious timeouts ([`frto`]). With
//! all of these off, they change nothing.
//!
//! [`LossRecovery`] is told what is sent, acknowledged and timed out, and names its next deadline.

mod fast_retransmit;
mod frto;
mod loss_recovery;
mod ns2;
mod ns2_state;
mod probe;
mod prr;
mod rack;
mod reaction;
mod tail;
mod timeout;

pub(crate) use loss_recovery::{LossRecovery, Sent};
pub(crate) use probe::ProbeTimer;
