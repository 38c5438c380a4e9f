//! What a run of a scenario needs works without files, threads, sockets and clocks, in a browser
//! for one: none of the crates below it brings them along.

#![expect(clippy::disallowed_types, reason = "a test asks cargo")]

use std::path::Path;
use std::process::Command;

/// Crates for files, threads, sockets, clocks and the system's randomness.
const UNFIT: [&str; 14] = [
    "tempfile",
    "rayon",
    "rayon-core",
    "crossbeam-deque",
    "tokio",
    "mio",
    "socket2",
    "quinn-udp",
    "rustix",
    "nix",
    "getrandom",
    "chrono",
    "polypath-emu",
    "polypath-net",
];

/// Names of a crate of ours and of all that it is built from.
fn tree(package: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ask = ["tree", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(ask)
        .args(["--package", package])
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn runs_need_no_file_no_thread_no_socket_and_no_clock() {
    let below = tree("polypath-run");
    for own in ["polypath-scenario", "polypath-sim", "polypath-capture", "polypath-proto"] {
        assert!(below.iter().any(|name| name == own), "{own} is not there: {below:?}");
    }
    let unfit: Vec<_> = below.iter().filter(|name| UNFIT.contains(&name.as_str())).collect();
    assert!(unfit.is_empty(), "{unfit:?}");
}
