//! What a service manager is told (sd_notify(3)): that the work has begun, and that it ends.

use sd_notify::NotifyState;

/// It works. Where no service manager waits for that, nothing happens.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// What it does now, in words.
pub(super) fn status(text: &str) {
    tell(&[NotifyState::Status(text)]);
}

/// It ends.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState<'_>]) {
    // A manager that does not listen will end us by its own time-out.
    let _ = sd_notify::notify(states);
}
