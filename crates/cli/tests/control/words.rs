//! `ss` and `control`, and what they say of mistakes.

use serde_json::Value;

use crate::Field;

#[test]
fn figures_and_switches() {
    let field = Field::new(1);
    let text = field.done("ss perf --quiet");
    for word in ["perf -s (process ", "perf to 127.63.1.1", "established, not encrypted", "(least "]
    {
        assert!(text.contains(word), "{word}: {text}");
    }
    let all: Value = serde_json::from_str(&field.done("ss --json")).unwrap();
    assert_eq!(all["processes"].as_array().unwrap().len(), 2);

    let off = field.path(12);
    assert_eq!(field.done(&format!("control set {off} off to")), "1 path\n");
    let line = field.done("control paths to");
    let said: Value = serde_json::from_str(&line).unwrap();
    let paths = &said["status"]["associations"][0]["paths"];
    assert_eq!(
        (&paths[1]["use"], &paths[1]["limited_by"]),
        (&"off".into(), &"switched off".into())
    );
    let carried = paths[1]["sent_bytes"].as_u64().unwrap();
    field.await_text("ss to", |text| text.contains("off, sent"));
    // What was under way may still be sent again, and nothing more.
    let before: u64 = paths[0]["sent_bytes"].as_u64().unwrap();
    field.await_text("control paths to", |line| {
        let said: Value = serde_json::from_str(line).unwrap();
        let paths = &said["status"]["associations"][0]["paths"];
        assert!(paths[1]["sent_bytes"].as_u64().unwrap() < carried + 200_000, "{line}");
        paths[0]["sent_bytes"].as_u64().unwrap() > before + 500_000
    });
    assert_eq!(field.done(&format!("control set {off} on to --association 1")), "1 path\n");
}

#[test]
fn mistakes_are_one_line() {
    let field = Field::new(2);
    let allowed = "(allowed: 127.63.2.11, 127.63.2.12)";
    for (line, code, words) in [
        ("control set wwan0 off to", 2, format!("path: there is none \"wwan0\" {allowed}")),
        ("control status", 2, "which process? (allowed: one of ".to_owned()),
        ("control events 999999", 3, "no process \"999999\" of this user".to_owned()),
        ("ss /nonexistent/1.sock", 3, "/nonexistent/1.sock: No such file".to_owned()),
        ("top", 2, "top needs a terminal (allowed: --once".to_owned()),
    ] {
        let (ended, said) = field.refused(line);
        assert_eq!((ended, said.lines().count()), (Some(code), 1), "{line}: {said}");
        assert!(said.contains(&words), "{line}: {said}");
    }
}

#[test]
fn a_socket_that_is_asked_for_must_be_there_and_none_is_opened_where_none_is_wanted() {
    let mut field = Field::new(3);
    let sockets = |field: &Field| field.home().join("home/run").read_dir().unwrap().count();
    assert_eq!(sockets(&field), 2);
    field.start("serve --listen 127.63.3.31:9971 --allow-anyone --no-control", "serving at");
    assert_eq!(sockets(&field), 2);
    let line = "serve --listen 127.63.3.32:9971 --allow-anyone --control named.sock";
    field.start(line, "serving at");
    assert_eq!(sockets(&field), 2);
    assert!(field.done("ss ./named.sock").starts_with("serve (process "));
    let (code, said) =
        field.refused("serve --listen 127.63.3.33:9971 --allow-anyone --control named.sock");
    assert_eq!(code, Some(5));
    assert_eq!(
        said,
        "polypath: --control named.sock: is there already (allowed: a name that is free)\n"
    );
    // What was killed leaves a socket that nobody takes for a process.
    let mut killed = field.running.remove(1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let text = field.await_text("ss", |text| !text.contains("perf to"));
    assert!(text.contains("perf -s"), "{text}");
    assert_eq!(sockets(&field), 1);
}
