//! `polypath why` from outside: of a simulated run, and of a real transfer with a trace at each
//! end.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn polypath(folder: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("polypath"));
    command.env("POLYPATH_HOME", folder.join("keys")).current_dir(folder);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    polypath(folder).args(args).output().unwrap()
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The explanation; its sums are its whole.
fn explained(folder: &Path, args: &[&str]) -> Value {
    let output = run(folder, &[&["why", "--json"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    let explanation: Value = serde_json::from_slice(&output.stdout).unwrap();
    for direction in explanation["directions"].as_array().unwrap() {
        let charged = direction["charged"].as_array().unwrap();
        let times = charged.iter().map(|one| one["measure"]["time_ns"].as_u64().unwrap());
        assert_eq!(times.sum::<u64>(), direction["whole"]["time_ns"].as_u64().unwrap());
    }
    explanation
}

#[test]
fn a_simulated_run_is_explained_as_text_json_and_picture() {
    let folder = tempfile::tempdir().unwrap();
    let set = ["time.settle=0s", "time.measure=5s"].map(|set| ["--set", set]).concat();
    let simulate = ["simulate", "lossy-second-path", "--trace", "run.jsonl"];
    let output = run(folder.path(), &[&simulate[..], &set].concat());
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));

    let explanation = explained(folder.path(), &["run.jsonl"]);
    assert!(explanation.get("clocks").is_none(), "one clock");
    let charged = explanation["directions"][0]["charged"].as_array().unwrap();
    let of = |cause: &str| charged.iter().any(|one| one["cause"] == cause && one["path"] == 1);
    assert!(of("loss"), "{charged:?}");

    let output = run(folder.path(), &["why", "run.jsonl", "-o", "waits.svg"]);
    let text = words(&output.stdout);
    for part in ["client to server: ", "10.0.2.1 - 10.0.2.2", "The longest waits:", "loss: look"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let picture = fs::read_to_string(folder.path().join("waits.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("reordering"));

    let whole = fs::read(folder.path().join("run.jsonl")).unwrap();
    fs::write(folder.path().join("torn.jsonl"), &whole[..whole.len() - 3]).unwrap();
    assert_eq!(explained(folder.path(), &["torn.jsonl"])["cut_short"][0], "torn.jsonl");
    let text = words(&run(folder.path(), &["why", "torn.jsonl"]).stdout);
    assert!(text.ends_with("torn.jsonl ends in the midst of a line: the rest is missing.\n"));
}

#[test]
fn what_explains_nothing_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let line = |host: &str, own, peer| {
        format!(
            "{{\"flow\":\"a\",\"host\":\"{host}\",\"at\":1,\"event\":\"associated\",\
             \"initial_tsn\":{own},\"peer_initial_tsn\":{peer}}}\n"
        )
    };
    file("cut.jsonl", "{\"flow\":");
    file("old.jsonl", "");
    file("one.jsonl", &line("client", 1, 2));
    file("other.jsonl", &line("server", 2, 1));
    for (args, says) in [
        (&["none.jsonl"][..], "none.jsonl: cannot be read: "),
        (&["cut.jsonl"], "cut.jsonl, line 1: the line ends in its midst"),
        (&["old.jsonl"], "old.jsonl: no association"),
        (&["one.jsonl"], "one.jsonl: one end alone, client of a"),
        (&["one.jsonl", "other.jsonl"], "no data that both ends saw"),
        (
            &["one.jsonl", "other.jsonl", "--flow", "b"],
            "--flow b: not in one.jsonl and other.jsonl",
        ),
        (&["one.jsonl", "-o", "x.gif"], "--out x.gif: no format \"gif\""),
    ] {
        let output = run(folder.path(), &[&["why"], args].concat());
        let said = words(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says) && said.lines().count() == 1, "{says}: {said}");
    }
}

/// A server that is gone with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(folder: &Path, at: &str, args: &[&str]) -> Server {
    let mut command = polypath(folder);
    command.args(["perf", "-s", "--listen", at, "--one-off"]).args(args);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let talk = BufReader::new(process.stderr.take().unwrap());
    let listening = |line: std::io::Result<String>| line.unwrap().starts_with("listening at ");
    let server = Server(process);
    assert!(talk.lines().any(listening), "the server ended");
    server
}

fn test_against(folder: &Path, at: &str, args: &[&str]) -> Output {
    let key = words(&run(folder, &["id"]).stdout);
    run(folder, &[&["perf", "-c", at, "--peer", key.trim(), "-t", "0.5"], args].concat())
}

#[test]
fn traces_of_both_ends_of_a_real_transfer_are_joined() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = serve(folder.path(), "127.0.0.41:9941", &["--trace", "server.jsonl"]);
    let args = ["--local", "127.0.0.42", "--trace", "client.jsonl", "-b", "20M"];
    let output = test_against(folder.path(), "127.0.0.41:9941", &args);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output.stderr));
    assert!(server.0.wait().unwrap().success());

    let explanation = explained(folder.path(), &["client.jsonl", "server.jsonl"]);
    assert!(explanation["clocks"]["round_trip_ns"].as_u64().unwrap() > 0);
    let directions = explanation["directions"].as_array().unwrap();
    let data = directions.iter().find(|one| one["from"] == "client").unwrap();
    // The data of the test, by far the most.
    assert!(data["bytes"].as_u64().unwrap() > 500_000, "{data}");
    assert_eq!(data["paths"]["0"], "127.0.0.42 - 127.0.0.41");
    let end = run(folder.path(), &["why", "client.jsonl"]);
    assert!(words(&end.stderr).contains("one end alone, client of 1"));
    let trace = fs::read_to_string(folder.path().join("server.jsonl")).unwrap();
    assert!(trace.contains("\"event\":\"clock\"") && trace.contains("\"host\":\"server\""));
}

#[test]
fn a_full_disk_ends_the_trace_and_not_the_test() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path(), "127.0.0.43:9943", &[]);
    let args = ["--local", "127.0.0.44", "--trace", "/dev/full", "-J"];
    let output = test_against(folder.path(), "127.0.0.43:9943", &args);
    drop(server);
    let said = words(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(said.lines().filter(|line| line.contains("--trace: ")).count(), 1, "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["associations"][0]["server"]["received"]["bytes"].as_u64().unwrap() > 0);
}
