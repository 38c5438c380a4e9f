//! Ctrl-C. It ends the process at once, unless a command asked to be told: then the first one lets
//! it say goodbye to its peer, and the second ends it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use polypath_apps::runtime::build_runtime;
use polypath_experiments::output::abandon_unfinished;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

/// 128 plus the number of SIGINT, as shells report it.
pub(crate) const INTERRUPTED: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);
static PRESSED: AtomicBool = AtomicBool::new(false);
static NEWS: Notify = Notify::const_new();

/// What is to be done before a signal ends the process.
static BEFORE_END: Mutex<Option<fn()>> = Mutex::new(None);

/// Begins to listen. Where that fails, Ctrl-C ends the process as it would have anyway.
pub(crate) fn install_handler() {
    let _ = ctrlc::set_handler(|| {
        abandon_unfinished();
        let first = !PRESSED.swap(true, Ordering::SeqCst);
        if first && ASKED.load(Ordering::SeqCst) {
            NEWS.notify_waiters();
        } else {
            end(INTERRUPTED.into());
        }
    });
}

fn end(status: i32) -> ! {
    let last = BEFORE_END.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(last) = last {
        last();
    }
    std::process::exit(status)
}

/// From now on `last` is done before SIGINT, SIGTERM or SIGHUP ends the process, where that is not
/// left to a command.
#[expect(clippy::disallowed_methods, reason = "one that waits for signals")]
pub(crate) fn before_end(last: Option<fn()>) {
    static LISTENING: Once = Once::new();
    *BEFORE_END.lock().unwrap_or_else(PoisonError::into_inner) = last;
    if last.is_some() {
        LISTENING.call_once(|| drop(thread::spawn(end_by_signal)));
    }
}

/// Waits for SIGTERM or SIGHUP. Where that fails they end the process as they would have anyway.
fn end_by_signal() {
    let wait = async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let signal = tokio::select! {
            _ = terminate.recv() => SignalKind::terminate(),
            _ = hang_up.recv() => SignalKind::hangup(),
        };
        Ok::<_, std::io::Error>(signal.as_raw_value())
    };
    if let Ok(signal) = build_runtime().and_then(|runtime| runtime.block_on(wait)) {
        end(128 + signal);
    }
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
