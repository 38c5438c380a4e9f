//! Runs the tests of `python/tests` against the library of this build.
//!
//! They need Python 3.10 with numpy and pytest, and skip what needs more than is there; without
//! them all are skipped, in a line. `POLYPATH_PYTHON` names the interpreter, and
//! `POLYPATH_REQUIRE_PYTHON=1` makes skipping a failure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// What the interpreter must be able to do.
const NEEDED: &str = "import sys, numpy, pytest; assert sys.version_info >= (3, 10)";

fn interpreter() -> Option<String> {
    let python = env::var("POLYPATH_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let ran = Command::new(&python).args(["-c", NEEDED]).output();
    if ran.is_ok_and(|ran| ran.status.success()) {
        return Some(python);
    }
    let why = format!("{python}: no Python 3.10 with numpy and pytest");
    assert!(env::var_os("POLYPATH_REQUIRE_PYTHON").is_none(), "{why}");
    eprintln!("skipped: {why}");
    None
}

/// The library beside this test's program.
fn library() -> PathBuf {
    let program = env::current_exe().unwrap();
    let folder = program.parent().unwrap();
    let name = format!("{}_polypath{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let places = [folder.join(&name), folder.join("..").join(&name)];
    places.into_iter().find(|path| path.exists()).expect("cargo has built the library")
}

fn copy_sources(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let path = entry.path();
        let is_source =
            ["py", "pyi", "typed"].iter().any(|end| path.extension().is_some_and(|e| e == *end));
        if is_source {
            fs::copy(&path, to.join(entry.file_name())).unwrap();
        }
    }
}

#[test]
fn the_python_package() {
    let Some(python) = interpreter() else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("polypath");
    copy_sources(&root.join("python/polypath"), &package);
    fs::copy(library(), package.join("_polypath.abi3.so")).unwrap();
    let mut tests = Command::new(python);
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(root.join("python/tests"));
    tests.env("PYTHONPATH", folder.path()).env("MYPYPATH", folder.path());
    tests.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(folder.path());
    assert!(tests.status().unwrap().success(), "python/tests failed: see above");
}
