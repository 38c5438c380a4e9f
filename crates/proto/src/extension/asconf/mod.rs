//! Addresses that come and go during the association (RFC 5061): what is remembered of our own, what is
//! asked of the peer, and what is answered.

mod answer;
mod error;
mod local_address;
mod request;
mod state;

pub(crate) use answer::{
    Answering, MAX_ANSWERS, Refusal, correlation_id, named_address, push_error,
};
pub use error::AddressError;
pub(crate) use error::MAX_LOCAL;
pub(crate) use local_address::{AddressChangeRequest, LocalAddress, Standing};
pub(crate) use request::{ASCONF_HEADER, Outstanding, Request, Wanted, results};
pub(crate) use state::Asconf;
