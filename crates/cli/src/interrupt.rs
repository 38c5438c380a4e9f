//! Ctrl-C. It ends the process at once, unless a command asked to be told: then the first one lets
//! it say goodbye to its peer, and the second ends it.

use std::sync::atomic::{AtomicBool, Ordering};

use polypath_experiments::output::abandon_unfinished;
use tokio::sync::Notify;

/// 128 plus the number of SIGINT, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);
static PRESSED: AtomicBool = AtomicBool::new(false);
static NEWS: Notify = Notify::const_new();

/// Begins to listen. Where that fails, Ctrl-C ends the process as it would have anyway.
pub(crate) fn install_handler() {
    let _ = ctrlc::set_handler(|| {
        abandon_unfinished();
        let first = !PRESSED.swap(true, Ordering::SeqCst);
        if first && ASKED.load(Ordering::SeqCst) {
            NEWS.notify_waiters();
        } else {
            std::process::exit(INTERRUPTED.into());
        }
    });
}

/// Waits for Ctrl-C, and keeps it from ending the process.
pub(crate) async fn wait_for_interrupt() {
    let news = NEWS.notified();
    tokio::pin!(news);
    news.as_mut().enable();
    ASKED.store(true, Ordering::SeqCst);
    if !PRESSED.load(Ordering::SeqCst) {
        news.await;
    }
}

/// From now on the first Ctrl-C no longer ends the process, but is told by [`was_interrupted`].
pub(crate) fn hold_interrupt() {
    ASKED.store(true, Ordering::SeqCst);
}

/// From now on Ctrl-C ends the process again, until somebody waits for it.
pub(crate) fn release_interrupt() {
    ASKED.store(false, Ordering::SeqCst);
}

/// Whether there was a Ctrl-C.
pub(crate) fn was_interrupted() -> bool {
    PRESSED.load(Ordering::SeqCst)
}
