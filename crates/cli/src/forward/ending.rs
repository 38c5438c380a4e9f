//! What ends a command that runs for days: Ctrl-C, or SIGTERM, by which service managers and `kill`
//! end programs. Either way its peers hear a goodbye.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::interrupt;
use crate::keys::LOCAL;

/// Both signals.
pub(super) struct Ending(Signal);

impl Ending {
    /// From now on SIGTERM does not end the process by itself.
    pub(super) fn new() -> Result<Self, Failure> {
        let terminate = signal(SignalKind::terminate());
        terminate.map(Self).map_err(|error| Failure::with_code(LOCAL, format!("SIGTERM: {error}")))
    }

    /// Waits for either. Cancel-safe.
    pub(super) async fn wait(&mut self) {
        tokio::select! {
            () = interrupt::wait_for_interrupt() => {}
            _ = self.0.recv() => {}
        }
    }
}
