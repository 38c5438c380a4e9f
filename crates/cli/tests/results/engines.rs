//! Shards under engines that people have, by the scripts of `tools/engines`. As root with
//! POLYPATH_REQUIRE_ROOT=1 none may be missing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::desk::Desk;

const SWEEP: &str = "sweep tiny.toml --axis path.B.loss=0%,1%,2% --seeds 6 --metric goodput";

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/engines").join(name)
}

/// Whether a program works; if not, whether that may be.
fn has(mut program: Command) -> bool {
    let works = program.output().is_ok_and(|output| output.status.success());
    let required = std::env::var_os("POLYPATH_REQUIRE_ROOT").is_some_and(|value| value == "1");
    assert!(works || !required, "{program:?} does not work");
    if !works {
        eprintln!("{program:?} does not work: skipped");
    }
    works
}

/// Runs a plan's shards by a script, which must come to what one process prints.
fn compare(script: &Path, runner: impl AsRef<OsStr>, shards: u32) {
    let desk = Desk::new();
    let (whole, _) = desk.done(SWEEP);
    desk.done(&format!("{SWEEP} --plan plan"));
    let mut command = Command::new(runner);
    command.arg(script).args(["plan", &shards.to_string(), "out"]).current_dir(desk.path(""));
    command.env("POLYPATH", env!("CARGO_BIN_EXE_polypath"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(desk.done("sweep --from out").0, whole);
}

#[test]
fn gnu_parallel_runs_shards() {
    let mut version = Command::new("parallel");
    version.arg("--version");
    if has(version) {
        compare(&script("parallel.sh"), "bash", 6);
    }
}

#[test]
fn hyperqueue_runs_shards() {
    // Where Python's tests are asked for, what they need is installed.
    let Some(python) = std::env::var_os("POLYPATH_PYTHON") else { return };
    let mut import = Command::new(&python);
    import.args(["-c", "import hyperqueue"]);
    if has(import) {
        compare(&script("hyperqueue.py"), python, 8);
    }
}
