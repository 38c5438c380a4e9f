//! The command as users run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use polypath_experiments::store::Store;
use tempfile::TempDir;

/// A scenario whose runs take milliseconds.
pub(crate) const TINY: &str = r#"
title = "Tiny"
[path.A]
rate = "2Mbit/s"
delay = "10ms"
[path.B]
rate = "2Mbit/s"
delay = "20ms"
loss = "1%"
[[flow]]
app = "saturated"
[time]
settle = "1s"
measure = "3s"
[seeds]
count = 4
"#;

/// An empty folder to work in.
pub(crate) struct Desk {
    folder: TempDir,
}

impl Desk {
    /// With the tiny scenario on it.
    pub(crate) fn new() -> Self {
        let desk = Self { folder: tempfile::tempdir().unwrap() };
        desk.write("tiny.toml", TINY);
        desk
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// `polypath` and these words, here.
    pub(crate) fn run(&self, line: &str) -> Output {
        let mut command = Command::cargo_bin("polypath").unwrap();
        command.current_dir(self.folder.path()).args(line.split(' ')).output().unwrap()
    }

    /// What it prints, and what it says beside that, when all is well.
    pub(crate) fn done(&self, line: &str) -> (String, String) {
        let output = self.run(line);
        let talk = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{line}: {talk}");
        (String::from_utf8(output.stdout).unwrap(), talk)
    }

    /// What it prints on so many cores; 0: on all.
    pub(crate) fn with_cores(&self, cores: &str, line: &str) -> String {
        let mut command = Command::cargo_bin("polypath").unwrap();
        command.env("RAYON_NUM_THREADS", cores).current_dir(self.folder.path());
        let output = command.args(line.split(' ')).output().unwrap();
        assert!(output.status.success(), "{line}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it prints as JSON.
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.done(line).0).unwrap()
    }

    /// The one line that refuses bad input; nothing is printed.
    pub(crate) fn refusal(&self, line: &str) -> String {
        let output = self.run(line);
        let talk = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {talk}");
        assert!(output.stdout.is_empty(), "{line}");
        assert_eq!(talk.lines().count(), 1, "{line}: {talk}");
        talk
    }

    /// Rows of the runs kept in the folder `results`, by their keys.
    pub(crate) fn stored(&self, results: &str) -> Vec<String> {
        let Ok(files) = fs::read_dir(self.path(results).join("runs")) else { return Vec::new() };
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
        let store = Store::of_segments(&paths).unwrap();
        let row = |key| format!("{key} {:?}", store.find_row(&key).unwrap());
        store.keys().map(row).collect()
    }
}

/// Every file below a folder with its content, by name.
pub(crate) fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Two thousand bytes that are no text.
pub(crate) fn noise() -> Vec<u8> {
    (0..2000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}
