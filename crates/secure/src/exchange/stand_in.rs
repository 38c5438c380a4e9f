//! An exchange without cryptography, for simulations: flights of the sizes that TLS 1.3 with raw
//! public keys has, each with a sum over all that was said, and keys of what both ends drew.

use core::sync::atomic::{AtomicU64, Ordering};

use polypath_proto::protection::{ProtectionFailure, Role};

use super::{Exchange, ExchangedKeys, Exchanges};
use crate::aead::{IV_LEN, KeyMaterial, Suite};
use crate::mix::{absorb, mix, squeeze};

/// The flights, in their order: content types and sizes of their records, headers included.
const HELLO: &[(u8, usize)] = &[(HANDSHAKE, 247)];
const SERVER: &[(u8, usize)] = &[(HANDSHAKE, 127), (APPLICATION_DATA, 260)];
const FINISHED: &[(u8, usize)] = &[(APPLICATION_DATA, 209)];

/// Content types of TLS records.
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// A fatal alert: handshake_failure.
const REFUSAL: [u8; 7] = [ALERT, 3, 3, 0, 2, 2, 40];

/// Bytes of a record's header.
const HEADER: usize = 5;

/// Bytes of the sum at the end of a flight.
const SUM: usize = 8;

/// Makes the exchanges of one association.
#[derive(Debug)]
pub(crate) struct StandInExchanges {
    suite: Suite,
    seed: u64,
    /// Exchanges that were begun: each draws other numbers.
    begun: AtomicU64,
}

impl StandInExchanges {
    /// What it draws follows from `seed` alone.
    pub(crate) fn new(suite: Suite, seed: &[u8]) -> Self {
        Self { suite, seed: absorb(0x7365_6564, seed), begun: AtomicU64::new(0) }
    }

    fn exchange(&self, role: Role, context: &[u8]) -> StandInExchange {
        let count = self.begun.fetch_add(1, Ordering::Relaxed);
        StandInExchange {
            suite: self.suite,
            role,
            draw: mix(self.seed ^ mix(count)),
            context: absorb(0, context),
            step: 0,
            said: 0,
            out: None,
            keys: None,
        }
    }
}

impl Exchanges for StandInExchanges {
    fn client(&self, context: &[u8], _known: Option<&[u8]>) -> Box<dyn Exchange> {
        let mut exchange = self.exchange(Role::Client, context);
        exchange.say(HELLO);
        Box::new(exchange)
    }

    fn server(&self, context: &[u8], _known: Option<&[u8]>) -> Box<dyn Exchange> {
        Box::new(self.exchange(Role::Server, context))
    }
}

/// One exchange.
#[derive(Debug)]
struct StandInExchange {
    suite: Suite,
    role: Role,
    /// What this end draws.
    draw: u64,
    context: u64,
    /// Flights of the peer that came.
    step: u8,
    /// A sum over all that both ends said.
    said: u64,
    out: Option<Vec<u8>>,
    /// The server makes them with its flight, and gives them with the client's last.
    keys: Option<ExchangedKeys>,
}

impl StandInExchange {
    /// The next flight to send.
    fn say(&mut self, records: &[(u8, usize)]) {
        let mut flight = Vec::new();
        for (n, (kind, size)) in records.iter().enumerate() {
            let [high, low] = ((size - HEADER) as u16).to_be_bytes();
            let message = if self.role == Role::Client { 1 } else { 2 };
            let start = flight.len();
            flight.extend_from_slice(&[*kind, 3, 3, high, low, message]);
            let filler = flight.len();
            flight.resize(start + size, 0);
            squeeze(self.draw ^ n as u64, flight.get_mut(filler..).unwrap_or_default());
        }
        if let Some((text, sum)) = flight.split_last_chunk_mut::<SUM>() {
            self.said = absorb(self.said, text);
            *sum = self.said.to_le_bytes();
        }
        self.out = Some(flight);
    }

    /// Whether this is the flight that the peer has to say now.
    fn hear(&mut self, records: &[(u8, usize)], flight: &[u8]) -> bool {
        let size: usize = records.iter().map(|(_, size)| size).sum();
        let Some((text, sum)) = flight.split_last_chunk::<SUM>() else { return false };
        self.said = absorb(self.said, text);
        flight.len() == size && *sum == self.said.to_le_bytes()
    }

    fn make_keys(&mut self) {
        let secret = mix(self.said ^ self.context);
        self.keys = Some(ExchangedKeys {
            suite: self.suite,
            client: material(self.suite, mix(secret ^ 1)),
            server: material(self.suite, mix(secret ^ 2)),
        });
    }
}

fn material(suite: Suite, secret: u64) -> KeyMaterial {
    let bytes = |kind, len| {
        let mut bytes = vec![0; len];
        squeeze(mix(secret ^ kind), &mut bytes);
        bytes
    };
    let mut iv = [0; IV_LEN];
    squeeze(mix(secret ^ 2), &mut iv);
    KeyMaterial { key: bytes(0, suite.key_len()), number_key: bytes(1, suite.key_len()), iv }
}

impl Exchange for StandInExchange {
    fn handle(&mut self, records: &[u8]) -> Result<(), ProtectionFailure> {
        if records.first() == Some(&ALERT) {
            return Err(ProtectionFailure::Refused("handshake failure".into()));
        }
        let expected = match (self.role, self.step) {
            (Role::Client, 0) => Some(SERVER),
            (Role::Server, 0) => Some(HELLO),
            (Role::Server, 1) => Some(FINISHED),
            _ => None,
        };
        if !expected.is_some_and(|expected| self.hear(expected, records)) {
            self.out = Some(REFUSAL.to_vec());
            let what = "a flight that is not what was to come";
            return Err(ProtectionFailure::Exchange(what.into()));
        }
        match (self.role, self.step) {
            (Role::Client, _) => {
                self.make_keys();
                self.say(FINISHED);
            }
            (Role::Server, 0) => {
                self.say(SERVER);
                self.make_keys();
            }
            (Role::Server, _) => {}
        }
        self.step += 1;
        Ok(())
    }

    fn poll(&mut self) -> Option<Vec<u8>> {
        self.out.take()
    }

    fn keys(&mut self) -> Option<ExchangedKeys> {
        let last = if self.role == Role::Client { 1 } else { 2 };
        self.keys.take_if(|_| self.step == last)
    }

    fn peer(&self) -> Option<&[u8]> {
        None
    }
}
