//! The command from outside: what it prints where, and how it ends.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

fn polypath(args: &[&str]) -> std::process::Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::cargo_bin("polypath").unwrap();
    // Not the key of whoever runs this.
    command.env("POLYPATH_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/keys"));
    command.current_dir(root).args(args).output().unwrap()
}

fn stdout(args: &[&str]) -> String {
    let output = polypath(args);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {talk}");
    assert_eq!(talk, "", "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The one line on stderr of a command that ends with `code`.
fn refusal(args: &[&str], code: i32) -> String {
    let output = polypath(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}");
    assert!(output.stdout.is_empty(), "{args:?}");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(talk.lines().count(), 1, "{talk}");
    talk
}

const EQUAL: &str = "scenarios/examples/two-equal-paths.toml";
const SHORT: [&str; 4] = ["--set", "time.settle=2s", "--set", "time.measure=2s"];

fn simulate(more: &[&str]) -> Vec<String> {
    let args = ["simulate", EQUAL].iter().chain(&SHORT).chain(more);
    args.map(ToString::to_string).collect()
}

fn run(args: &[String]) -> String {
    stdout(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn tables_fit_a_terminal_and_name_every_path() {
    let text = run(&simulate(&[]));
    for word in ["Two equal paths", "saturated", "goodput", "timeouts", "A.forward", "B.reverse"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 90, "{line}");
    }
}

#[test]
fn json_holds_scenario_and_result_and_depends_on_the_seed_alone() {
    let text = run(&simulate(&["--json", "--seed", "7", "--set", "path.B.loss=1%"]));
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["scenario"]["path"]["B"]["loss"], "1%");
    assert_eq!(json["result"]["seed"], 7);
    assert!(json["result"]["flows"][0]["total"]["goodput"].as_f64().unwrap() > 1e6);
    let again = run(&simulate(&["--json", "--seed", "7", "--set", "path.B.loss=1%"]));
    assert!(text == again);
    let other = run(&simulate(&["--json", "--seed", "8", "--set", "path.B.loss=1%"]));
    assert!(text != other);
}

#[test]
fn a_run_is_told_beside_what_paths_and_buffers_admit() {
    let buffers = ["--set", "stack.send-buffer=64KiB", "--set", "stack.receive-buffer=64KiB"];
    let text = run(&simulate(&[&buffers[..], &["--set", "path.B.delay=75ms"]].concat()));
    for words in ["any order", "one ordered stream", "best path alone (A)", "SACKs on the path of"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let route = ["--set", "stack.sack-path=smallest-srtt", "--set", "path.B.delay=75ms", "--json"];
    let json: Value =
        serde_json::from_str(&run(&simulate(&[&buffers[..], &route].concat()))).unwrap();
    let limits = &json["limits"]["flows"][0];
    assert_eq!(limits["sack_route"], "fastest");
    let of = |name: &str, field: &str| limits[name][field].as_f64().unwrap();
    assert_eq!((of("free", "limit") / 1e4).round(), 1335.0);
    let goodput = json["result"]["flows"][0]["total"]["goodput"].as_f64().unwrap();
    assert!((of("ordered", "share") - goodput / of("ordered", "limit")).abs() < 1e-9);
    let lossy = run(&simulate(&["--set", "path.B.loss=1%"]));
    assert!(lossy.contains("Limit: none, path B loses packets"), "{lossy}");
}

#[test]
fn captures_and_traces_are_written_whole() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name).display().to_string();
    let (pcap, trace) = (name("run.pcapng"), name("run.jsonl"));
    run(&simulate(&["--pcap", &pcap, "--trace", &trace]));
    // The block type of a section header, which reads the same in both byte orders.
    assert_eq!(fs::read(&pcap).unwrap()[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let lines = fs::read_to_string(&trace).unwrap();
    assert!(lines.lines().count() > 100);
    for line in lines.lines().take(100) {
        let _: Value = serde_json::from_str(line).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no parts are left");
}

#[test]
fn the_demo_arrives_bit_identical() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("noise.bin");
    let noise: Vec<u8> =
        (0..300_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    fs::write(&file, &noise).unwrap();
    let file = file.display().to_string();
    let text = stdout(&["demo", &file]);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(text.contains("Bit-identical every time."), "{text}");
    let json: Value = serde_json::from_str(&stdout(&["demo", &file, "--json"])).unwrap();
    assert_eq!(json["size"], 300_000);
    for way in json["ways"].as_array().unwrap() {
        assert_eq!(way["identical"], true);
        assert_eq!(way["sha256"], json["sha256"]);
    }
}

#[test]
fn bad_input_is_one_line_and_exit_code_2() {
    let bad = ["simulate", EQUAL, "--set", "path.B.delay=45"];
    assert!(
        refusal(&bad, 2).starts_with("polypath: --set: path.B.delay = 45: expected a duration")
    );
    assert!(refusal(&["simulate", "no/such.toml"], 2).contains("no/such.toml: cannot be read"));
    assert!(refusal(&["simulate", EQUAL, "--set", "x"], 2).contains("expected FIELD=VALUE"));
    assert!(refusal(&["demo", "no/such.file"], 2).contains("no/such.file: cannot be read"));
}

#[test]
fn a_run_that_fails_is_one_line_and_exit_code_1() {
    let nowhere = ["simulate", EQUAL, "--pcap", "no/such/folder/run.pcapng"];
    assert!(refusal(&nowhere, 1).contains("no/such/folder/run.pcapng: cannot be written"));
}

#[test]
fn lists_are_complete() {
    let policies = stdout(&["policies"]);
    for name in ["min-rtt", "ssthresh", "split", "rp-v2", "wfq"] {
        assert!(policies.contains(name), "{name}");
    }
    let json: Value = serde_json::from_str(&stdout(&["policies", "--json"])).unwrap();
    assert!(json.as_array().unwrap().len() > 20);
    let schema: Value = serde_json::from_str(&stdout(&["schema"])).unwrap();
    assert_eq!(schema["title"], "Scenario");
    assert!(stdout(&["completions", "bash"]).contains("simulate"));
}

#[test]
fn a_new_scenario_runs_and_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml").display().to_string();
    assert!(polypath(&["init", &file]).status.success());
    assert!(refusal(&["init", &file], 2).contains("exists already"));
    assert_eq!(fs::read_to_string(&file).unwrap(), stdout(&["init"]));
    let text = stdout(&["simulate", &file, "--set", "time.settle=1s", "--set", "time.measure=1s"]);
    assert!(text.contains("My scenario"));
}

#[test]
fn old_commands_go_on_to_work_and_name_the_new_one() {
    let output = polypath(&["new"]);
    assert!(output.status.success());
    assert_eq!(output.stdout, polypath(&["init"]).stdout);
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(talk.lines().count(), 1, "{talk}");
    assert!(talk.contains("`polypath init`"), "{talk}");
    let talk = String::from_utf8(polypath(&["worlds", "--help"]).stderr).unwrap();
    assert!(talk.contains("`polypath cross-check`"), "{talk}");
}

#[test]
fn schedulers_and_congestion_controls_that_do_not_exist_are_refused_with_the_list() {
    let of = |command: &[&'static str], flag: &'static str| {
        let line = [command, &[flag, "best"]].concat();
        refusal(&line, 2)
    };
    let file = "Cargo.toml";
    let send = ["send", file, "--no-state", "--quiet", "--to", "127.0.0.9"];
    let receive = ["receive", "--quiet", "--listen", "127.0.0.9:9"];
    let perf = ["perf", "-c", "127.0.0.9"];
    for command in [&send[..], &receive[..], &perf[..]] {
        assert!(of(command, "--scheduler").contains("min-rtt"), "{command:?}");
        assert!(of(command, "--congestion").contains("cubic"), "{command:?}");
    }
}
