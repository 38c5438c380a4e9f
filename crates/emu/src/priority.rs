//! Who is served first when there is more to do than there are cores.

use std::process::{Command, Stdio};

/// Has the calling thread, and the threads and processes that it starts from now on, served before
/// all ordinary ones, with precise timers: by a real-time policy with this priority (1 to 99) where
/// there is `chrt` (util-linux) to set it, or else by a low niceness. What the kernel refuses is
/// left as it is: lateness shows it.
pub fn serve_first(priority: u8) {
    let _ = nix::sys::prctl::set_timerslack(1);
    let (thread, priority) = (nix::unistd::gettid().to_string(), priority.to_string());
    let mut chrt = Command::new("chrt");
    chrt.args(["--fifo", "--pid", &priority, &thread]);
    chrt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if !chrt.status().is_ok_and(|status| status.success()) {
        let _ = rustix::process::setpriority_process(None, -20);
    }
}
