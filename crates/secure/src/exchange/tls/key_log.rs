//! Secrets for those who look into captures.

use core::fmt;
use std::sync::Arc;

use data_encoding::HEXLOWER;

/// Takes the secrets of key exchanges. Asked for by nobody unless it is set: with these lines,
/// whoever has a capture reads all of it.
pub trait KeyLog: fmt::Debug + Send + Sync {
    /// A line of the NSS key log format (RFC 9850), as a file named by `SSLKEYLOGFILE` has it,
    /// without its end.
    fn log(&self, line: &str);
}

/// As rustls wants it.
#[derive(Debug)]
pub(super) struct Logger(pub(super) Arc<dyn KeyLog>);

impl rustls::KeyLog for Logger {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let random = HEXLOWER.encode(client_random);
        let secret = zeroize::Zeroizing::new(HEXLOWER.encode(secret));
        self.0.log(&format!("{label} {random} {}", *secret));
    }
}
