//! Stream reconfiguration (RFC 6525): streams start at number 0 again, TSNs start elsewhere, streams
//! are added.
//!
//! [`ask`] takes what the application wants, [`request`] brings it to the peer, [`answer`] deals with
//! what the peer asks for, and [`implied`] with what may be an answer.

mod answer;
mod answered;
mod ask;
mod error;
mod implied;
mod implied_answer;
mod operation;
mod outstanding;
mod request;
mod state;

pub use error::ReconfigError;
pub(crate) use request::Timeout;
pub(crate) use state::Reconfig;
