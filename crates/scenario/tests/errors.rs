//! Every class of mistake in a scenario file, and the one line that answers it.

use std::io;
use std::path::Path;
use std::sync::Arc;

use polypath_policies::PolicyKind;
use polypath_scenario::{Assignment, Files, ScenarioError, Source};

/// A scenario without mistakes, one line per thing that a mistake can replace.
const GOOD: &str = r#"
[path.A]
rate = "10Mbit/s"
delay = "10ms"
[path.B]
rate = "2Mbit/s"
delay = "45ms"
[stack]
profile = "paper"
[[flow]]
app = "saturated"
[time]
measure = "10s"
"#;

/// The folder of this crate, in which tests run.
#[derive(Debug)]
struct Disk;

impl Files for Disk {
    #[expect(clippy::disallowed_methods, reason = "a test has files")]
    fn text(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(path)
    }
}

fn source(text: &str) -> Result<Source, ScenarioError> {
    Source::with_files("crossing.toml", text, Arc::new(Disk))
}

fn answer(text: &str) -> String {
    let scenario = source(text).and_then(|source| source.parse_scenario());
    scenario.map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}

/// The answer to the good scenario with `from` replaced by `to`.
fn with(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    answer(&GOOD.replacen(from, to, 1))
}

fn set(text: &str) -> String {
    let mut source = source(GOOD).unwrap();
    let assignment: Assignment = match text.parse() {
        Ok(assignment) => assignment,
        Err(error) => return format!("{error}"),
    };
    if let Err(error) = source.set_field(&assignment) {
        return error.to_string();
    }
    source.parse_scenario().map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}

/// Snapshots without the code that made them.
fn plain() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.bind_to_scope()
}

fn table(answers: &[String]) -> String {
    for answer in answers {
        assert_eq!(answer.lines().count(), 1, "{answer}");
    }
    answers.join("\n")
}

#[test]
fn the_good_one_is_accepted() {
    assert_eq!(answer(GOOD), "accepted");
}

#[test]
fn syntax_and_units() {
    let _scope = plain();
    insta::assert_snapshot!(table(&[
        with("rate = \"10Mbit/s\"", "rate = 10Mbit/s"),
        with("[path.A]", "[path.A"),
        with("[path.B]", "[path.A]"),
        with("\"45ms\"", "\"45\""),
        with("\"45ms\"", "45"),
        with("\"45ms\"", "0.045"),
        with("\"45ms\"", "\"0.5ns\""),
        with("\"45ms\"", "\"9999999999999s\""),
        with("\"2Mbit/s\"", "\"2Mbps\""),
        with("delay = \"45ms\"", "queue = \"50\""),
        with("delay = \"45ms\"", "queue = [50]"),
        with("delay = \"45ms\"", "loss = \"0.01\""),
        with("profile = \"paper\"", "send-buffer = \"64k\""),
        with("profile = \"paper\"", "max-burst = 4"),
        with("profile = \"paper\"", "heartbeat = \"never\""),
        with("profile = \"paper\"", "initial-cwnd = \"3\""),
        with("profile = \"paper\"", "initial-ssthresh = \"huge\""),
        with("measure = \"10s\"", "measure = \"10 secs\""),
    ]));
}

#[test]
fn names_of_fields_and_values() {
    let _scope = plain();
    insta::assert_snapshot!(table(&[
        with("delay = \"45ms\"", "dely = \"45ms\""),
        with("[path.B]", "[paths.B]"),
        with("delay = \"45ms\"", "xyzzy = 1"),
        with("app = \"saturated\"", "app = \"saturate\""),
        with("app = \"saturated\"", "streams = 2"),
        with("\"paper\"", "\"Paper\""),
        with("profile = \"paper\"", "sfr = \"yes\""),
        with("profile = \"paper\"", "outbound-streams = 70000"),
        with("profile = \"paper\"", "path-max-retrans = \"5\""),
        with("profile = \"paper\"", "nr-sack = true"),
        with("profile = \"paper\"", "path-scheduler = \"rr?visit=sometimes\""),
        with("profile = \"paper\"", "congestion = \"rfc9260?x=1\""),
    ]));
}

#[test]
fn what_varies_from_packet_to_packet() {
    let _scope = plain();
    let flow = |fields: &str| with("app = \"saturated\"", &format!("app = {fields}"));
    insta::assert_snapshot!(table(&[
        flow("\"saturated\"\nmessage-most = \"64KiB\""),
        flow("\"saturated\"\nmessage-most = \"1452B\""),
        flow("\"saturated\"\nmessage-most = \"65KiB\""),
        flow("\"file\"\nsize = \"1MiB\"\nmessage-most = \"64KiB\""),
        with("delay = \"45ms\"", "jitter = \"5ms\"\njitter-shape = \"half-normal\""),
        with("delay = \"45ms\"", "jitter-shape = \"uniform\""),
        with("delay = \"45ms\"", "jitter = \"5ms\"\njitter-shape = \"normal\""),
    ]));
}

/// The names of all settings and policies stand in no snapshot: who adds one has nothing to renew.
#[test]
fn an_unknown_setting_is_answered_with_all_there_are() {
    let answer = with("profile = \"paper\"", "rto_min = \"1s\"");
    let (problem, allowed) = answer.split_once(" (allowed: ").unwrap();
    let wanted = "crossing.toml:9: stack.rto_min = \"1s\": unknown field; did you mean rto-min?";
    assert_eq!(problem, wanted);
    assert!(allowed.starts_with("profile, path-scheduler, ") && allowed.contains(", rto-min, "));
    assert!(allowed.ends_with(", sender, receiver)"), "{allowed}");
}

#[test]
fn an_unknown_policy_is_answered_with_all_of_its_kind() {
    let paper = "profile = \"paper\"";
    let saturated = "app = \"saturated\"";
    let retransmission = format!("{saturated}\nstack.retransmission = \"other\"");
    for (kind, place, name, from, to) in [
        (
            PolicyKind::PathScheduler,
            "9: stack.path-scheduler",
            "roundrobin",
            paper,
            "path-scheduler = \"roundrobin\"",
        ),
        (PolicyKind::Buffer, "9: stack.sender.buffer", "none", paper, "sender.buffer = \"none\""),
        (
            PolicyKind::Retransmission,
            "12: flow[0].stack.retransmission",
            "other",
            saturated,
            retransmission.as_str(),
        ),
    ] {
        let known = polypath_policies::all().iter().filter(|entry| entry.kind == kind);
        let allowed: Vec<&str> = known.map(|entry| entry.name).collect();
        let allowed = allowed.join(", ");
        let unknown = format!("{kind} \"{name}\" is unknown; allowed: {allowed}");
        let wanted = format!("crossing.toml:{place} = \"{name}\": {unknown}");
        assert_eq!(with(from, to), wanted);
    }
}

#[test]
fn things_that_make_no_sense() {
    let _scope = plain();
    insta::assert_snapshot!(table(&[
        answer("[[flow]]\napp = \"saturated\"\n[time]\nmeasure = \"1s\""),
        answer("[path.A]\nrate = \"1Mbit/s\"\n[time]\nmeasure = \"1s\""),
        with("\"2Mbit/s\"", "\"0bit/s\""),
        with("delay = \"45ms\"", "loss = \"101%\""),
        with("delay = \"45ms\"", "reverse.loss = \"200%\""),
        with("delay = \"45ms\"", "bursts = { to-bad = \"1%\", to-good = \"300%\" }"),
        with("delay = \"45ms\"", "bursts = { to-bad = \"1%\" }"),
        with("delay = \"45ms\"", "queue = \"9999999999packets\""),
        with(
            "delay = \"45ms\"",
            "red = { min = \"15packets\", max = \"5packets\", probability = \"2%\" }"
        ),
        with("[path.B]", "[path.\"B 2\"]"),
        with("[path.B]", "[link.A]"),
        with("[stack]", "[route.C]\nlinks = [\"core\"]\n[stack]"),
        with("[stack]", "[link.core]\n[route.C]\nlinks = []\n[stack]"),
        with("[stack]", "[link.core]\n[route.C]\nlinks = [\"core\", \"core\"]\n[stack]"),
        with("[stack]", "[link.core]\nedge = {}\n[stack]"),
        with("[stack]", "[[at]]\ntime = \"1s\"\ntarget = \"C\"\naction = \"cut\"\n[stack]"),
        with("[stack]", "[[at]]\ntime = \"1s\"\ntarget = \"A\"\n[stack]"),
        with("[stack]", "[[at]]\ntime = \"1s\"\ntarget = \"A\"\naction = \"break\"\n[stack]"),
        with("[stack]", "[[at]]\ntime = \"1s\"\ntarget = \"A\"\nadmin = \"off\"\n[stack]"),
        with(
            "[stack]",
            "[link.core]\n[[at]]\ntime = \"1s\"\ntarget = \"core\"\nadmin = \"backup\"\n[stack]"
        ),
        with("[stack]", "[stack]\nsender.protection = \"stand-in\""),
        with("[stack]", "[stack]\nreceive-buffer-max = \"1KiB\""),
        with("[stack]", "[stack]\nreceive-buffer = \"1MiB\"\nreceive-buffer-max = \"512KiB\""),
        with("app = \"saturated\"", "app = \"saturated\"\npaths = [\"A\", \"C\"]"),
        with("app = \"saturated\"", "app = \"saturated\"\npaths = []"),
        with("app = \"saturated\"", "app = \"saturated\"\npaths = [\"A\", \"A\"]"),
        with("app = \"saturated\"", "app = \"saturated\"\nstreams = 0"),
        with("app = \"saturated\"", "app = \"saturated\"\nmessage = \"0B\""),
        with("app = \"saturated\"", "app = \"saturated\"\nmessage = \"17MiB\""),
        with("app = \"saturated\"", "app = \"saturated\"\nsize = \"8MiB\""),
        with("app = \"saturated\"", "app = \"file\""),
        with("app = \"saturated\"", "app = \"request\"\nresponse = \"1KiB\"\nstreams = 2"),
        with("app = \"saturated\"", "app = \"onoff\"\non = \"0s\"\noff = \"1s\""),
        with("app = \"saturated\"", "app = \"cbr\"\nrate = \"0bit/s\""),
        with("measure = \"10s\"", "settle = \"1s\""),
        with("measure = \"10s\"", "measure = \"0s\""),
        with("measure = \"10s\"", "measure = \"10s\"\nend = \"20s\""),
        with("measure = \"10s\"", "settle = \"20s\"\nend = \"20s\""),
        with("profile = \"paper\"", "sack-delay = \"600ms\""),
        with("profile = \"paper\"", "rto-min = \"2s\""),
        with("profile = \"paper\"", "rto-min = \"2min\""),
        with("profile = \"paper\"", "receiver.receive-buffer = \"1KiB\""),
        with("profile = \"paper\"", "receive-buffer = \"5GiB\""),
        with("profile = \"paper\"", "mtu = \"100B\""),
        with("profile = \"paper\"", "sack-every = \"0packets\""),
        with("measure = \"10s\"", "measure = \"10s\"\n[seeds]\ncount = 0"),
        with("measure = \"10s\"", "measure = \"10s\"\n[[sweep]]\nset = [\"path.A.delay\"]"),
        with("measure = \"10s\"", "measure = \"10s\"\n[[sweep]]\nvalues = [1]"),
    ]));
}

/// The good scenario with a schedule that repeats.
fn every(fields: &str) -> String {
    with("[stack]", &format!("[[every]]\n{fields}\n[stack]"))
}

#[test]
fn schedules() {
    let _scope = plain();
    let rate = "rate = \"1Mbit/s..2Mbit/s\"";
    let fine = format!("period = \"5s\"\ntarget = \"A\"\n{rate}");
    insta::assert_snapshot!(table(&[
        every(&fine),
        every(&format!("target = \"A\"\n{rate}")),
        every(&fine.replace("5s", "0s")),
        every(&fine.replace("5s", "1us")),
        every(&fine.replace("\"A\"", "\"C\"")),
        every("period = \"5s\"\ntarget = \"A\""),
        every(&fine.replace("1Mbit/s..2Mbit/s", "1Mbit/s")),
        every(&fine.replace("1Mbit/s..2Mbit/s", "2Mbit/s..1Mbit/s")),
        every(&fine.replace("1Mbit/s..2Mbit/s", "0bit/s..1Mbit/s")),
        every(&fine.replace("1Mbit/s..2Mbit/s", "1Mbit..2Mbit")),
        every(&fine.replace(rate, "rate = []")),
        every(&fine.replace(rate, "rate = [\"5Mbps\"]")),
        every(&fine.replace(rate, "rate = 5")),
        every(&fine.replace(rate, "loss = \"0%..200%\"")),
        every(&fine.replace(rate, "delay = [\"10\"]")),
        every(&fine.replace(rate, "action = [\"cut\", \"repair\"]")),
        every(&format!("{fine}\nstart = \"5s\"\nuntil = \"5s\"")),
        every(&format!("{fine}\n[[every]]\n{fine}")),
        every(&format!("{fine}\nuntil = \"3s\"\n[[every]]\nstart = \"3s\"\n{fine}")),
        every(&format!(
            "{fine}\ndirection = \"forward\"\n[[every]]\ndirection = \"reverse\"\n{fine}"
        )),
    ]));
}

#[test]
fn cross_traffic() {
    let _scope = plain();
    let cross = |fields: &str| with("[stack]", &format!("[[cross]]\n{fields}\n[stack]"));
    let fine = "link = \"A\"\nrate = \"1Mbit/s\"";
    insta::assert_snapshot!(table(&[
        cross(fine),
        cross("link = \"A\""),
        cross(&fine.replace("\"A\"", "\"C\"")),
        cross(&fine.replace("1Mbit/s", "0bit/s")),
        cross(&format!("{fine}\npacket = \"100KiB\"")),
        cross(&format!("{fine}\nspacing = \"odd\"")),
        cross(&format!("{fine}\non = \"1s\"")),
        cross(&format!("{fine}\non = \"1s\"\noff = \"0s\"")),
        cross(&format!("{fine}\nfixed = true")),
        cross(&format!("{fine}\nstart = \"2s\"\nuntil = \"1s\"")),
    ]));
}

#[test]
fn delivery_traces() {
    let _scope = plain();
    insta::assert_snapshot!(table(&[
        with("rate = \"2Mbit/s\"", "trace = \"tests/data/fine.trace\""),
        with("rate = \"2Mbit/s\"", "trace = \"tests/data/none.trace\""),
        with("rate = \"2Mbit/s\"", "trace = \"tests/data/backwards.trace\""),
        with("rate = \"2Mbit/s\"", "reverse.trace = \"tests/data/backwards.trace\""),
        with("rate = \"2Mbit/s\"", "rate = \"2Mbit/s\"\ntrace = \"tests/data/fine.trace\""),
        with("rate = \"2Mbit/s\"", "rate = \"2Mbit/s\"\nforward.trace = \"tests/data/fine.trace\""),
        with("rate = \"2Mbit/s\"", "trace = 5"),
        with("rate = \"2Mbit/s\"", "trace-start = \"5s\""),
        with("rate = \"2Mbit/s\"", "queue = \"200ms\""),
        set("path.B.forward.trace=tests/data/fine.trace"),
        set("path.B.forward.trace=tests/data/backwards.trace"),
    ]));
}

#[test]
fn assignments() {
    let _scope = plain();
    insta::assert_snapshot!(table(&[
        set("path.B.delay=75ms"),
        set("path.B.delay=75"),
        set("path.B.dely=75ms"),
        set("path.C.delay=75ms"),
        set("path.B=75ms"),
        set("flow.saturated.message=1000B"),
        set("flow.0.message=1000"),
        set("flow.1.message=1000B"),
        set("flow.saturated.paths=[\"B\"]"),
        set("flow.saturated.paths=[\"C\"]"),
        set("stack.sfr=maybe"),
        set("stack.rto-min=2s"),
        set("nonsense"),
    ]));
}

#[test]
fn boxes_that_translate_addresses() {
    let _scope = plain();
    let nat = |text: &str| {
        answer(&format!(
            "{GOOD}[endpoints]\nencapsulation = 'udp'\nserver-addresses = 'one'\n\
             [path.C]\nnat = 'home'\n[nat.home]\n{text}\n"
        ))
    };
    let at = |text: &str| nat(&format!("[[at]]\ntime = '1s'\n{text}"));
    insta::assert_snapshot!(table(&[
        nat(""),
        nat("mapping = 'cone'"),
        nat("filtering = 'none'"),
        nat("external = '198.51.100'"),
        nat("external = '2001:db8::7'"),
        nat("unmapped = 'reset'"),
        nat("timeout = '5'"),
        nat("timeout = '0s'"),
        nat("ports = 'odd'"),
        nat("upnp = true"),
        nat("[nat.away]"),
        nat("[nat.C]"),
        nat("[path.D]\nnat = 'hom'"),
        nat("[route.R]\nlinks = ['L']\nnat = 'office'\n[link.L]"),
        nat("[link.L]\nnat = 'home'"),
        nat("[[flow]]\napp = 'saturated'\ndirection = 'reverse'"),
        at("target = 'home'\naction = 'cut'"),
        at("target = 'home'\nrate = '1Mbit/s'"),
        at("target = 'home'\naction = 'rebind'\ndirection = 'forward'"),
        at("target = 'C'\naction = 'rebind'"),
        at("target = 'hme'\naction = 'rebind'"),
        nat("[[every]]\nperiod = '1s'\ntarget = 'home'\naction = ['rebind']"),
        nat("[[every]]\nperiod = '1s'\ntarget = 'C'\naction = ['cut', 'forget']"),
        answer(&format!("{GOOD}[path.C]\nnat = 'home'\n[nat.home]\n")),
        set("path.A.nat=home"),
    ]));
}
