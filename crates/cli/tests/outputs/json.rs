//! What `--json` prints is what `polypath schema` says.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

use jsonschema::Validator;
use serde_json::Value;

use crate::stage::{Stage, TINY};

/// As the machine lacks root or a kernel's feature.
const MISSING: i32 = 3;

fn validator(stage: &Stage, subject: &str) -> Validator {
    let schema = stage.done(&format!("schema {subject}"));
    jsonschema::draft202012::new(&serde_json::from_str(&schema).unwrap()).unwrap()
}

fn check(validator: &Validator, text: &str, line: &str) {
    let json: Value = serde_json::from_str(text).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(&json)
        .map(|error| format!("{}: {error:.200}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{line}: {wrong:#?}");
}

/// Runs the command and holds what it prints against its schema.
fn conforms(stage: &Stage, line: &str) {
    let subject = line.split(' ').next().unwrap();
    check(&validator(stage, subject), &stage.done(line), line);
}

#[test]
fn lists_are_as_their_schemas_say() {
    let stage = Stage::new();
    for command in ["policies", "metrics", "examples", "id"] {
        conforms(&stage, &format!("{command} --json"));
    }
}

/// A schema that takes anything shows nothing.
#[test]
fn schemas_refuse_what_is_missing_or_of_another_type() {
    let stage = Stage::new();
    let validator = validator(&stage, "simulate");
    let good: Value = serde_json::from_str(&stage.done("simulate tiny.toml --json")).unwrap();
    assert!(validator.is_valid(&good));
    for (path, value) in [
        ("/result/seed", Value::from("one")),
        ("/result/flows/0/total/goodput", Value::Null),
        ("/result/flows/0/outcome", Value::from("gone")),
        ("/limits/flows", Value::from(1)),
        ("/scenario/path/A/delay", Value::from(45)),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        assert!(!validator.is_valid(&bad), "{path}");
    }
    let mut less = good.clone();
    less.pointer_mut("/result").unwrap().as_object_mut().unwrap().remove("events");
    assert!(!validator.is_valid(&less));
}

#[test]
fn simulations_are_as_their_schema_says() {
    let stage = Stage::new();
    let validator = validator(&stage, "simulate");
    let short = "--set time.settle=1s --set time.measure=2s --set time.sample=500ms";
    for name in ["two-equal-paths", "cross-traffic", "two-nats", "given-up", "path-mtu", "flapping"]
    {
        let line = format!("simulate {name} {short} --json --quiet");
        check(&validator, &stage.done(&line), &line);
    }
    let more = "simulate tiny.toml --set path.B.loss=0% --set stack.send-buffer=64KiB";
    check(&validator, &stage.done(&format!("{more} --json")), more);
    let requests =
        TINY.replace("\"saturated\"", "\"request\"\nmessage = \"100B\"\nresponse = \"1000B\"");
    stage.write("requests.toml", &requests);
    conforms(&stage, "simulate requests.toml --json");
    conforms(&stage, "demo noise.bin --json --quiet");
}

#[test]
fn lines_of_traces_are_as_their_schema_says() {
    let stage = Stage::new();
    let validator = validator(&stage, "trace");
    let mut kinds = std::collections::BTreeSet::new();
    for name in ["tiny.toml", "lte-wifi", "lossy-second-path", "given-up"] {
        let short = "--set time.settle=1s --set time.measure=2s";
        stage.done(&format!("simulate {name} {short} --trace run.jsonl --quiet"));
        let text = fs::read_to_string(stage.path("run.jsonl")).unwrap();
        for line in text.lines().take(20_000) {
            let json: Value = serde_json::from_str(line).unwrap();
            assert!(validator.is_valid(&json), "{line}");
            kinds.insert(json["event"].as_str().unwrap().to_owned());
        }
    }
    assert!(kinds.len() > 8, "{kinds:?}");
    let odd = r#"{"flow":"f","host":"client","at":1,"event":"rtt","path":"A","sample":1}"#;
    assert!(!validator.is_valid(&serde_json::from_str(odd).unwrap()));
}

#[test]
fn tables_are_as_their_schemas_say() {
    let stage = Stage::new();
    for seeds in [1, 3] {
        let sweep = "sweep tiny.toml --axis path.B.loss=0%,2% --metric goodput --metric delay.mean";
        conforms(&stage, &format!("{sweep} --out {seeds} --seeds {seeds} --json --quiet"));
        let runs = format!("{seeds}/tiny/runs.csv");
        conforms(&stage, &format!("compare {runs} {runs} --json"));
    }
}

#[test]
fn claims_are_as_their_schema_says() {
    let stage = Stage::new();
    conforms(&stage, "reproduce T-one --scenarios papers --quick --json --quiet");
}

#[test]
fn populations_are_as_their_schema_says() {
    let stage = Stage::new();
    let few = "population --packets 2000 --schedulers rr --json --quiet";
    conforms(&stage, &format!("{few} --draws 3"));
    conforms(&stage, &format!("{few} --draw 1"));
}

/// A process that waits for peers, and is gone with the test.
struct Waiting(Child);

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Waiting {
    /// Starts it, and waits until it has said these words.
    #[expect(clippy::disallowed_methods, reason = "another process is listened to")]
    fn start(stage: &Stage, line: &str, words: &str) -> Self {
        let mut command = stage.command(line);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut talk = BufReader::new(child.stderr.take().unwrap()).lines();
        let ready = talk.find(|line| line.as_ref().unwrap().starts_with(words));
        assert!(ready.is_some(), "{line} ended");
        // It must not find its talk cut off.
        std::thread::spawn(move || talk.count());
        Self(child)
    }

    fn printed(mut self) -> String {
        let mut text = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }
}

#[test]
fn measurements_are_as_their_schema_says() {
    let stage = Stage::new();
    let validator = validator(&stage, "perf");
    for more in ["--streams 2 -P 2", "--request-response 100,1000"] {
        let server = "perf -s --listen 127.0.0.41:9941 --one-off --json";
        let server = Waiting::start(&stage, server, "listening at ");
        let client = "perf -c 127.0.0.41:9941 --local 127.0.0.42 -t 0.4 -i 0.2 --json --quiet";
        let client = format!("{client} --peer {}", stage.done("id").trim());
        check(&validator, &stage.done(&format!("{client} {more}")), more);
        let sessions = server.printed();
        assert!(!sessions.is_empty(), "{more}");
        sessions.lines().for_each(|line| check(&validator, line, more));
    }
}

#[test]
fn transfers_are_as_their_schema_says() {
    let stage = Stage::new();
    let receive = "receive --listen 127.0.0.43:9943 --dir in --once --json";
    let receiver = Waiting::start(&stage, receive, "receiving at ");
    conforms(&stage, "send noise.bin papers --to 127.0.0.43 --dry-run --json");
    let send = "send noise.bin --to 127.0.0.43:9943 --json --quiet";
    let send = format!("{send} --peer {}", stage.done("id").trim());
    check(&validator(&stage, "send"), &stage.done(&send), &send);
    check(&validator(&stage, "receive"), &receiver.printed(), receive);
}

/// With root; skipped without, unless POLYPATH_REQUIRE_ROOT=1 forbids that.
#[test]
fn emulations_are_as_their_schemas_say() {
    let stage = Stage::new();
    let short = "--set time.settle=200ms --set time.measure=500ms --set time.sample=100ms";
    for line in [
        format!("emulate tiny.toml {short} --json --quiet -- true"),
        format!("cross-check tiny.toml {short} --runs 1 --json --quiet"),
        "cross-check --draws 1 --seed 5 --packets 1000 --runs 2 --json --quiet".to_owned(),
    ] {
        let printed = stage.piped(&line);
        if printed.code == Some(MISSING) {
            return polypath_emu::for_tests::skip(&printed.talk);
        }
        // How well worlds agree is tested elsewhere.
        assert!(matches!(printed.code, Some(0 | 1)), "{line}: {}", printed.talk);
        let subject = line.split(' ').next().unwrap();
        check(&validator(&stage, subject), &printed.out, &line);
    }
}
