//! A progress bar for runs that take longer than a second.

use std::sync::Mutex;
use std::time::Duration;
#[expect(
    clippy::disallowed_types,
    reason = "the bar is about the user's time, not the simulation's"
)]
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long a run may take without a word.
const PATIENCE: Duration = Duration::from_secs(1);
const STEPS: u64 = 1000;

/// Shows itself on stderr, if that is a terminal, once a run lasts longer than a second.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    /// Never shown.
    is_quiet: bool,
    #[expect(clippy::disallowed_types, reason = "as above")]
    start: Instant,
}

impl Progress {
    #[expect(clippy::disallowed_types, reason = "as above")]
    pub(crate) fn new(is_quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden());
        // The template is a constant, which a test renders.
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent:>3} %, {eta} left") {
            bar.set_style(style);
        }
        Self { bar, is_quiet, start: Instant::now() }
    }

    /// Prints with the bar out of the way.
    pub(crate) fn print_above<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// `fraction` of the work, from 0 to 1, is done.
    pub(crate) fn report_fraction(&mut self, fraction: f64) {
        if !self.is_quiet && self.bar.is_hidden() && self.start.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position((fraction * STEPS as f64) as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Moves a bar that several threads share.
pub(crate) fn advance_shared_bar(progress: &Mutex<Progress>, done: f64) {
    if let Ok(mut progress) = progress.lock() {
        progress.report_fraction(done);
    }
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressStyle;

    #[test]
    fn the_template_is_valid() {
        assert!(ProgressStyle::with_template("{bar:40} {percent:>3} %, {eta} left").is_ok());
    }
}
