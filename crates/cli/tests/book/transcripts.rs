//! The commands of README.md, the tutorials and the how-tos, pasted as a reader would paste them,
//! and what they print beside what the page says. CONTRIBUTING.md says how blocks are marked.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assert_cmd::Command;
use snapbox::IntoData as _;

use crate::handbook::{Block, Page, handbook, root};

/// Longer than any block takes, on a machine that does other things, too.
const BOUND: Duration = Duration::from_secs(120);

/// What a reader without an installed program types: here it is the program of this build.
const BUILT: &str = "cargo run --profile quick -p polypath-cli --no-default-features --";

/// This build's `polypath` before all others.
fn search_path() -> OsString {
    let program = assert_cmd::cargo::cargo_bin("polypath");
    let here = program.parent().map(Path::to_owned);
    let others = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(here.into_iter().chain(std::env::split_paths(&others))).unwrap()
}

fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}

/// A page whose blocks are run in one folder.
struct Transcript {
    name: String,
    folder: tempfile::TempDir,
    run: usize,
    wrong: Vec<String>,
}

impl Transcript {
    fn of(page: &Page) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut transcript = Self { name: page.name.clone(), folder, run: 0, wrong: Vec::new() };
        let mut printed = None;
        for block in page.blocks() {
            let note = block.note.as_deref().unwrap_or_default();
            if let Some(file) = note.strip_prefix("file: ") {
                transcript.write(file, &block.text);
            } else if block.language == "sh" {
                printed = transcript.run(&block, note);
            } else if block.language == "text"
                && let Some(printed) = printed.take()
            {
                transcript.compare(&printed, &block.text);
            }
        }
        transcript
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What it prints, if it is run here.
    fn run(&mut self, block: &Block, note: &str) -> Option<String> {
        if let Some(reason) = note.strip_prefix("not run: ") {
            assert!(!reason.is_empty());
            return None;
        }
        if note == "needs root" && !is_root() {
            return None;
        }
        let folder = match note {
            "in a checkout" => root(),
            _ => self.folder.path().to_owned(),
        };
        let script = block.text.replace(BUILT, "polypath");
        assert!(!script.contains("cargo "), "{}: nothing builds here: {script}", self.name);
        let mut shell = Command::new("bash");
        shell.args(["-e", "-c", &format!("exec 2>&1\n{script}")]).current_dir(folder);
        shell.env("PATH", search_path()).env("COLUMNS", "80").env("POLYPATH_CHECKOUT", root());
        // `send` remembers who it is, and everybody has a key.
        shell.env("XDG_STATE_HOME", self.folder.path().join(".state"));
        shell.env("POLYPATH_HOME", self.folder.path().join(".polypath"));
        let output = shell.timeout(BOUND).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            self.wrong.push(format!("$ {script}\nended with {}:\n{printed}", output.status));
        }
        self.run += 1;
        Some(printed)
    }

    fn compare(&mut self, printed: &str, told: &str) {
        let assert = snapbox::Assert::new();
        let told = told.into_data();
        if let Err(error) = assert.try_eq(Some(&self.name), printed.into_data(), told) {
            self.wrong.push(format!("{error}"));
        }
    }
}

/// Pages use the same addresses and ports of this machine, and measure.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs pages and says all that differs.
fn check(pages: impl IntoIterator<Item = Page>) -> usize {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut run, mut wrong) = (0, Vec::new());
    for page in pages {
        let transcript = Transcript::of(&page);
        eprintln!("{}: {} blocks", page.name, transcript.run);
        run += transcript.run;
        let named = transcript.wrong.into_iter().map(|text| format!("{}: {text}", page.name));
        wrong.extend(named);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    run
}

fn below(folder: &str) -> impl Iterator<Item = Page> {
    handbook().into_iter().filter(move |page| page.name.starts_with(folder))
}

#[test]
fn readme_prints_what_it_says() {
    assert!(check([Page::read("README.md")]) >= 2);
}

#[test]
fn tutorials_print_what_they_say() {
    assert!(check(below("docs/tutorials/")) >= 10);
}

#[test]
fn how_tos_print_what_they_say() {
    assert!(check(below("docs/how-to/")) >= 10);
}

#[test]
fn explanations_print_what_they_say() {
    check(below("docs/explanation/"));
}

#[test]
fn rust_of_the_readme_is_compiled_as_documentation() {
    let docs = fs::read_to_string(root().join("crates/polypath/src/lib.rs")).unwrap();
    let docs: Vec<&str> = docs.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let blocks = Page::read("README.md").blocks();
    let rust: Vec<_> = blocks.iter().filter(|block| block.language == "rust").collect();
    for line in rust.iter().flat_map(|block| block.text.lines()) {
        assert!(docs.contains(&line), "not in crates/polypath/src/lib.rs: {line}");
    }
}

#[test]
fn blocks_say_what_they_are() {
    const KNOWN: [&str; 10] =
        ["sh", "text", "rust", "toml", "console", "plain", "json", "diff", "python", "ini"];
    for page in std::iter::once(Page::read("README.md")).chain(handbook()) {
        for block in page.blocks() {
            let language = block.language.split(',').next().unwrap_or_default();
            assert!(KNOWN.contains(&language), "{}: a block in {language:?}", page.name);
        }
    }
}
