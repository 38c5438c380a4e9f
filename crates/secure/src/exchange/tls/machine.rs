//! One exchange: rustls between messages.

use core::fmt;
use std::sync::Arc;

use polypath_proto::protection::{MAX_KEY_MESSAGE, ProtectionFailure};
use rustls::{Connection, Error};

use super::super::{Exchange, ExchangedKeys};
use super::export;
use super::failure::{broken, failure};
use super::verifier::Gate;
use crate::exchange::library::suite_of;

/// Bytes of a TLS record's header (RFC 8446 section 5.1).
const HEADER_LEN: usize = 5;

/// An exchange by TLS.
pub(super) struct TlsExchange {
    /// Without it nothing could begin, for the reason in `failure`.
    connection: Option<Box<Connection>>,
    gate: Arc<Gate>,
    /// Both ends' parameters.
    context: Vec<u8>,
    /// Bytes that may still come: what a peer can make us read and answer has an end.
    budget: usize,
    keys: Option<ExchangedKeys>,
    finished: bool,
    failure: Option<ProtectionFailure>,
}

impl TlsExchange {
    pub(super) fn new(
        connection: Result<Connection, Error>,
        gate: Arc<Gate>,
        context: &[u8],
    ) -> Self {
        let (connection, failure) = match connection {
            Ok(connection) => (Some(Box::new(connection)), None),
            Err(error) => (None, Some(failure(&error))),
        };
        Self {
            connection,
            gate,
            context: context.to_vec(),
            budget: MAX_KEY_MESSAGE,
            keys: None,
            finished: false,
            failure,
        }
    }

    fn take(&mut self, mut records: &[u8]) -> Result<(), ProtectionFailure> {
        self.budget = self
            .budget
            .checked_sub(records.len())
            .ok_or_else(|| broken("more than is needed to agree on keys"))?;
        check_framing(records)?;
        let gate = &self.gate;
        let Some(connection) = self.connection.as_deref_mut() else {
            return Err(broken("it could not begin"));
        };
        while !records.is_empty() {
            let read = connection.read_tls(&mut records);
            if !read.is_ok_and(|bytes| bytes > 0) {
                return Err(broken("records after its end"));
            }
            let state = connection
                .process_new_packets()
                .map_err(|error| gate.refusal().cloned().unwrap_or_else(|| failure(&error)))?;
            if state.plaintext_bytes_to_read() > 0 {
                return Err(broken("application data"));
            }
            if state.peer_has_closed() {
                return Err(ProtectionFailure::Refused("close notify".to_owned()));
            }
        }
        self.finish()
    }

    /// Exports the keys, once the handshake is over.
    fn finish(&mut self) -> Result<(), ProtectionFailure> {
        let Some(connection) = self.connection.as_deref() else {
            return Ok(());
        };
        if self.finished || connection.is_handshaking() {
            return Ok(());
        }
        let suite = connection
            .negotiated_cipher_suite()
            .and_then(|suite| suite_of(suite.suite()))
            .ok_or_else(|| broken("a cipher that records have not"))?;
        let keys = export::keys(connection, suite, &self.context);
        self.keys = Some(keys.map_err(|error| failure(&error))?);
        self.finished = true;
        Ok(())
    }
}

/// A message has one or more TLS records, whole ones (section 5 of the draft).
fn check_framing(mut records: &[u8]) -> Result<(), ProtectionFailure> {
    let error = || broken("not whole TLS records");
    loop {
        let (&[_, _, _, high, low], rest) =
            records.split_first_chunk::<HEADER_LEN>().ok_or_else(error)?;
        let len = usize::from(u16::from_be_bytes([high, low]));
        let (_, rest) = rest.split_at_checked(len).ok_or_else(error)?;
        if rest.is_empty() {
            return Ok(());
        }
        records = rest;
    }
}

impl Exchange for TlsExchange {
    fn handle(&mut self, records: &[u8]) -> Result<(), ProtectionFailure> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        self.take(records).inspect_err(|failure| {
            self.failure = Some(failure.clone());
            self.keys = None;
        })
    }

    fn poll(&mut self) -> Option<Vec<u8>> {
        let connection = self.connection.as_deref_mut()?;
        let mut records = Vec::new();
        while connection.wants_write() {
            // Writing into memory fails never; if it did, there would be nothing to send.
            if connection.write_tls(&mut records).is_err() {
                break;
            }
        }
        (!records.is_empty()).then_some(records)
    }

    fn keys(&mut self) -> Option<ExchangedKeys> {
        self.keys.take()
    }

    fn peer(&self) -> Option<&[u8]> {
        self.gate.peer()
    }
}

impl fmt::Debug for TlsExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsExchange")
            .field("finished", &self.finished)
            .field("failure", &self.failure)
            .finish_non_exhaustive()
    }
}
