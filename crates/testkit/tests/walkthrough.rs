//! The how-to pages hold: their patches are applied to a copy of the repository, touch as few files
//! as promised, and the commands beneath them pass there.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A page of `docs/how-to`, and how many files its patches may touch. Generated files, which a
/// command renews, do not count.
const WALKS: [(&str, usize); 4] =
    [("add-a-scheduler", 2), ("add-a-metric", 2), ("add-a-setting", 3), ("add-a-flag", 2)];

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What stands in the fenced blocks of this language on a page.
fn fenced_blocks(page: &str, language: &str) -> Vec<String> {
    let path = root().join(format!("docs/how-to/{page}.md"));
    let text = fs::read_to_string(path).expect("the page is there");
    let opening = format!("\n```{language}\n");
    let blocks = text.split(&opening).skip(1);
    blocks.map(|rest| rest.split("\n```").next().unwrap_or_default().to_owned() + "\n").collect()
}

/// The files that patches touch.
fn touched_files(patch: &str) -> BTreeSet<&str> {
    patch.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect()
}

fn apply(patch: &str, folder: &Path, arguments: &[&str]) -> Output {
    let mut git = Command::new("git")
        .arg("apply")
        .args(arguments)
        .current_dir(folder)
        // The copy is no part of the repository that it lies in.
        .env("GIT_CEILING_DIRECTORIES", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git is installed");
    git.stdin.take().expect("piped").write_all(patch.as_bytes()).expect("git reads the patch");
    git.wait_with_output().expect("git ends")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_walk_touches_few_files_and_its_patches_fit() {
    for (page, most) in WALKS {
        let patch = fenced_blocks(page, "diff").concat();
        let files = touched_files(&patch);
        assert!(!files.is_empty() && files.len() <= most, "{page}: {files:?}");
        let fits = apply(&patch, &root(), &["--check"]);
        assert!(fits.status.success(), "{page}: {}", stderr(&fits));
        assert!(!fenced_blocks(page, "sh").is_empty(), "{page}: no command");
    }
}

/// What takes minutes to build or to run, and is left out unless `POLYPATH_WALKS=all` asks for it:
/// the whole command, and every policy against the conformance suite.
const SLOW: [&str; 2] = ["-p polypath-cli", "--test conformance"];

#[test]
fn a_walk_ends_with_tests_that_pass() {
    let all = std::env::var("POLYPATH_WALKS").is_ok_and(|walks| walks == "all");
    let copy = copy_of_repository();
    for (page, _) in WALKS {
        let applied = apply(&fenced_blocks(page, "diff").concat(), &copy, &[]);
        assert!(applied.status.success(), "{page}: {}", stderr(&applied));
    }
    for (page, _) in WALKS {
        for command in fenced_blocks(page, "sh").iter().flat_map(|block| block.lines()) {
            if !all && SLOW.iter().any(|slow| command.contains(slow)) {
                continue;
            }
            let output = run_in_copy(command, &copy);
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{page}: {command}\n{said}{}", stderr(&output));
            let mut results = said.lines().filter(|line| line.starts_with("test result: ok."));
            let some_ran = results.any(|line| !line.contains(" 0 passed"));
            assert!(some_ran, "{page}: {command}: no test ran");
        }
    }
}

/// Runs a command as a user would.
fn run_in_copy(command: &str, copy: &Path) -> Output {
    Command::new("sh")
        .args(["-ec", command])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        // All walks share the copy, so each finds pages that another one must have renewed.
        .env("UPDATE_DOCS", "1")
        .env("CARGO_PROFILE_TEST_DEBUG", "false")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .output()
        .expect("a shell is there")
}

/// The repository as it stands, changes that are not committed included, in a folder of its own,
/// where what was built stays for the next time.
fn copy_of_repository() -> PathBuf {
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("walkthrough");
    fs::create_dir_all(&copy).expect("the build folder can be written");
    for entry in fs::read_dir(&copy).expect("readable").flatten() {
        if entry.file_name() != "target" {
            let path = entry.path();
            let removed =
                if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.expect("an earlier copy can be removed");
        }
    }
    for file in repository_files() {
        let (from, to) = (root().join(&file), copy.join(&file));
        // A file that was removed and not committed yet.
        let Ok(metadata) = fs::symlink_metadata(&from) else { continue };
        fs::create_dir_all(to.parent().expect("a file is in a folder")).expect("writable");
        if metadata.is_symlink() {
            let target = fs::read_link(&from).expect("a link can be read");
            std::os::unix::fs::symlink(target, &to).expect("writable");
            continue;
        }
        fs::copy(&from, &to).expect("writable");
        // What did not change since the last time is not built again.
        let time = metadata.modified().expect("files have times");
        let file = fs::File::options().append(true).open(&to).expect("writable");
        file.set_modified(time).expect("times can be set");
    }
    build_without_optimisation(&copy);
    copy
}

/// The few tests of a walk take less time than optimising what they run.
fn build_without_optimisation(copy: &Path) {
    let manifest = copy.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("the manifest is text");
    let tables = text.split_inclusive("\n\n");
    let kept: String = tables.filter(|table| !table.starts_with("[profile.dev.package.")).collect();
    fs::write(&manifest, kept).expect("writable");
}

fn repository_files() -> Vec<String> {
    let list = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git is installed");
    assert!(list.status.success(), "{}", stderr(&list));
    let names = String::from_utf8(list.stdout).expect("names are UTF-8");
    names.split_terminator('\0').map(str::to_owned).collect()
}
