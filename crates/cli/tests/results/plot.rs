//! `polypath plot`.

use std::fs;

use crate::desk::{Desk, noise};

/// A desk with the runs of four points.
fn swept() -> Desk {
    let desk = Desk::new();
    desk.done("sweep tiny.toml --axis path.B.loss=0%,2% --axis stack.sfr=true,false --seeds 2");
    desk
}

#[test]
fn a_figure_is_svg_with_units_and_a_legend() {
    let desk = swept();
    let (svg, talk) = desk.done("plot results/tiny/runs.csv --x path.B.loss");
    assert_eq!(talk, "");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(svg.matches("<svg").count(), 1);
    for text in ["goodput (Mbit/s)", "path.B.loss (%)", "true", "false"] {
        assert!(svg.contains(text), "{text}");
    }
    let other = desk.done("plot results/tiny/runs.csv --x stack.sfr --y delay.mean").0;
    for text in ["delay.mean (s)", "path.B.loss", "true", "false"] {
        assert!(other.contains(text), "{text}");
    }
}

#[test]
fn the_ending_says_the_format_and_a_file_is_whole_or_not_there() {
    let desk = swept();
    let bytes = |name: &str| fs::read(desk.path(name)).unwrap();
    for (name, opening) in
        [("f.svg", &b"<svg"[..]), ("f.png", b"\x89PNG\r\n\x1a\n"), ("F.PDF", b"%PDF-")]
    {
        let (text, _) = desk.done(&format!("plot results/tiny/runs.csv --out {name}"));
        assert_eq!(text, "");
        assert!(bytes(name).starts_with(opening), "{name}");
    }
    // Into a pipe, which is no terminal.
    let png = desk.run("plot results/tiny/runs.csv --format png");
    assert_eq!(png.stdout, bytes("f.png"));
    let talk = desk.refusal("plot results/tiny/runs.csv --out f.gif");
    assert!(talk.contains("--out f.gif: no format \"gif\" (allowed: svg, png, pdf)"), "{talk}");
    let talk = desk.refusal("plot results/tiny/runs.csv --out figure");
    assert!(talk.contains("without an ending (allowed: .svg, .png, .pdf)"), "{talk}");
    assert!(desk.refusal("plot none.csv --out g.png").contains("none.csv"));
    assert!(!desk.path("g.png").exists() && !desk.path("f.gif").exists());
}

#[test]
fn looks_are_as_asked_for() {
    let desk = swept();
    let words = "--title A<B --x-label Loss --y-label Rate --log-y --bands --where stack.sfr=true";
    let svg = desk.done(&format!("plot results/tiny/runs.csv --x path.B.loss {words}")).0;
    for part in ["<title>A&lt;B</title>", "Loss (%)", "Rate (Mbit/s)", "logarithmic over Loss"] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(svg.contains("opacity=\"0.2\"") && !svg.contains("false"), "a band, one curve");
    let both = desk.done("plot results/tiny/runs.csv --y goodput,delay.mean").0;
    assert_eq!(both.matches("<svg").count(), 1);
    assert!(both.contains("goodput (Mbit/s)") && both.contains("delay.mean (s)"));
}

#[test]
fn any_column_may_be_drawn() {
    let desk = swept();
    let runs = desk.read("results/tiny/runs.csv");
    let own: Vec<String> = runs
        .lines()
        .enumerate()
        .map(|(n, line)| format!("{line},{}", if n == 0 { "mine".into() } else { n.to_string() }))
        .collect();
    desk.write("own.csv", own.join("\n"));
    assert!(desk.done("plot own.csv --y mine").0.contains("mine over path.B.loss"));
    let settings = desk.done("plot own.csv --x scenario.path.B.loss --y scenario.path.A.delay").0;
    assert!(settings.contains("scenario.path.A.delay (s)"), "a unit from its cells");
    desk.write("plain.csv", "x,who,y\n1,a,4\n1,a,6\n2,a,9\n1,b,3\n");
    let plain = desk.done("plot plain.csv --x x --y y --curves who").0;
    assert!(plain.contains("2 curves by who: a from 5 at 1 to 9 at 2; b from 3 at 1 to 3 at 1."));
}

#[test]
fn a_trace_is_drawn_over_time() {
    let desk = Desk::new();
    desk.done("simulate tiny.toml --trace run.jsonl");
    let all = desk.done("plot run.jsonl --x time --y cwnd --curves path").0;
    for part in ["time (s)", "cwnd (KiB)", "path 0, client", "path 1, server"] {
        assert!(all.contains(part), "{part}");
    }
    let own = desk.done("plot run.jsonl --where host=client").0;
    assert!(own.contains("cwnd (KiB)") && own.contains("path 1") && !own.contains("client"));
    let times = desk.done("plot run.jsonl --y srtt --where host=client --y-label Trip").0;
    assert!(times.contains("Trip (ms)") || times.contains("Trip (s)"));
    for (words, part) in [
        ("--y cwdn", "no field \"cwdn\" in any event (allowed: a_rwnd,"),
        ("--x rate", "--x rate: a trace is drawn over its time (allowed: time)"),
        ("--where host=me", "no event with cwnd has host=me (allowed: client, server)"),
    ] {
        let talk = desk.refusal(&format!("plot run.jsonl {words}"));
        assert!(talk.starts_with("polypath: run.jsonl: ") && talk.contains(part), "{talk}");
    }
    // As a program that was killed leaves it.
    let run = desk.read("run.jsonl");
    desk.write("torn.jsonl", &run[..run.len() - 3]);
    let (torn, talk) = desk.done("plot torn.jsonl --y cwnd");
    assert!(torn.contains("cwnd (KiB)"));
    assert_eq!(talk, "note: torn.jsonl ends in the midst of a line: the rest is missing\n");
    desk.write("noise.jsonl", "{\"at\":1,\"cwnd\":2}\n{\"at\":\n");
    assert!(desk.refusal("plot noise.jsonl").contains("noise.jsonl: line 2: no event of a trace"));
}

#[test]
fn mistakes_are_one_line() {
    let desk = swept();
    desk.write("noise.csv", noise());
    desk.write("plain.csv", "a,b\n1,2\n");
    desk.write("empty.csv", "");
    desk.write("torn.csv", "grid,a,seed,goodput\nmain,1,1,5\nmain,2\n");
    desk.write("none.csv", "grid,a,seed,goodput\n");
    let runs = "results/tiny/runs.csv";
    for (words, part) in [
        (format!("{runs} --x loss"), "no column \"loss\" (allowed: path.B.loss, stack.sfr, "),
        (format!("{runs} --x path.B.loss --curves sfr"), "no column \"sfr\""),
        (format!("{runs} --x path.B.loss --y godput"), "no column \"godput\""),
        (
            format!("{runs} --x path.B.loss --y transfer-time"),
            "transfer-time has no value in any run",
        ),
        ("missing.csv --x a".to_owned(), "missing.csv: cannot be read"),
        ("noise.csv --x a".to_owned(), "noise.csv: cannot be read"),
        (format!("{runs} --curves stack.sfr --x stack.sfr"), "\"path.B.loss\" has several values"),
        (format!("{runs} --where stack.sfr=no"), "no stack.sfr \"no\" (allowed: true, false)"),
        (format!("{runs} --y goodput,bytes --y-label A"), "--y-label: one name for several"),
        ("plain.csv --x a".to_owned(), "no column \"goodput\" (allowed: a, b)"),
        ("empty.csv --x a".to_owned(), "empty.csv: cannot be read: no rows"),
        ("torn.csv --x a".to_owned(), "torn.csv: cannot be read"),
        ("none.csv --x a".to_owned(), "no rows"),
    ] {
        let talk = desk.refusal(&format!("plot {words}"));
        assert!(talk.starts_with("polypath: ") && talk.contains(part), "{words}: {talk}");
    }
}
