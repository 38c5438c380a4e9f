//! What would hold an event loop up: looking up names, reading files, opening sockets.

use std::io;

use tokio::sync::oneshot;

/// Does `work` on a thread of its own, which knows nothing of Python: nobody has to wait for it
/// when the program ends, or when its result is not wanted any more.
pub(super) async fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let (tell, told) = oneshot::channel();
    let builder = std::thread::Builder::new().name("polypath-opening".to_owned());
    builder.spawn(move || {
        let _not_wanted = tell.send(work());
    })?;
    told.await.map_err(|_| io::Error::other("a fault of polypath itself: see above"))
}
