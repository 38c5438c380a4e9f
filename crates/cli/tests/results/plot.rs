//! `polypath plot`.

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
fn mistakes_are_one_line() {
    let desk = swept();
    desk.write("noise.csv", noise());
    desk.write("plain.csv", "a,b\n1,2\n");
    desk.write("empty.csv", "");
    desk.write("torn.csv", "grid,a,seed,goodput\nmain,1,1,5\nmain,2\n");
    desk.write("none.csv", "grid,a,seed,goodput\n");
    let runs = "results/tiny/runs.csv";
    for (words, part) in [
        (format!("{runs} --x loss"), "no axis \"loss\" (allowed: path.B.loss, stack.sfr)"),
        (format!("{runs} --x path.B.loss --curves sfr"), "no axis \"sfr\""),
        (format!("{runs} --x path.B.loss --y godput"), "no metric \"godput\""),
        (
            format!("{runs} --x path.B.loss --y transfer-time"),
            "transfer-time has no value in any run",
        ),
        ("missing.csv --x a".to_owned(), "missing.csv: cannot be read"),
        ("noise.csv --x a".to_owned(), "noise.csv: cannot be read"),
        ("plain.csv --x a".to_owned(), "no column seed (allowed: a runs.csv)"),
        ("empty.csv --x a".to_owned(), "no column seed (allowed: a runs.csv)"),
        ("torn.csv --x a".to_owned(), "torn.csv: cannot be read"),
        ("none.csv --x a".to_owned(), "no runs"),
    ] {
        let talk = desk.refusal(&format!("plot {words}"));
        assert!(talk.starts_with("polypath: ") && talk.contains(part), "{words}: {talk}");
    }
}
