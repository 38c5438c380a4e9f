//! `polypath sweep`.

use serde_json::Value;

use crate::desk::{Desk, files, noise};

/// Transfers that lose packets: much variance, and the same losses at every point.
const LOSSY: &str = r#"
[path.A]
rate = "2Mbit/s"
delay = "10ms"
loss = "2%"
[[flow]]
app = "file"
size = "200KiB"
[seeds]
count = 12
"#;

/// Mean and half width of the only metric of a row.
fn measured(row: &Value) -> (f64, f64) {
    let metric = &row["metrics"][0][1];
    (metric["mean"].as_f64().unwrap(), metric["half"].as_f64().unwrap())
}

#[test]
fn every_combination_is_a_row_and_every_run_is_kept() {
    let desk = Desk::new();
    let line =
        "sweep tiny.toml --axis path.B.delay=10ms..50ms/20ms --axis stack.sfr=true,false --seeds 2";
    let (text, talk) = desk.done(line);
    assert_eq!(text.lines().count(), 3 * 2, "{text}");
    for label in ["path.B.delay 30ms, stack.sfr false: goodput ", "path.B.delay 50ms"] {
        assert!(text.contains(label), "{text}");
    }
    assert!(talk.contains("results/tiny/runs.csv"), "{talk}");
    let table = desk.read("results/tiny/runs.csv");
    assert_eq!(table.lines().count(), 1 + 3 * 2 * 2);
    assert!(table.starts_with("grid,path.B.delay,stack.sfr,seed,"), "{table}");
    let (plain, _) = desk.done("sweep tiny.toml");
    assert!(plain.starts_with("goodput "), "{plain}");
}

#[test]
fn the_file_says_what_to_report_and_the_command_line_overrides_it() {
    let desk = Desk::new();
    desk.write(
        "two.toml",
        format!("metrics = [\"timeouts\", \"delay.mean\"]\n{}", desk.read("tiny.toml")),
    );
    let own = desk.done("sweep two.toml --seeds 2").0;
    assert!(own.contains("timeouts ") && own.contains("delay.mean ") && !own.contains("goodput"));
    let traced = desk.done("sweep two.toml --seeds 2 --metric rounds").0;
    assert!(traced.starts_with("rounds ") && !traced.contains("rounds -"), "has a value: {traced}");
}

#[test]
fn json_is_alone_on_stdout_and_runs_are_not_made_twice() {
    let desk = Desk::new();
    let line = "sweep tiny.toml --axis path.B.loss=0%,2% --seeds 3 --json";
    let (text, talk) = desk.done(line);
    assert!(!talk.is_empty());
    let rows: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(rows[1]["at"]["path.B.loss"], "2%");
    assert!(measured(&rows[0]).0 > 2e6);
    let kept = files(&desk.path("results"));
    assert_eq!(desk.done(line).0, text);
    assert!(files(&desk.path("results")) == kept, "nothing was added");
    let before = desk.stored("results");
    desk.done("sweep tiny.toml --axis path.B.loss=0%,2% --seeds 5");
    let after = desk.stored("results");
    assert_eq!((before.len(), after.len()), (6, 10), "only the new seeds");
    assert!(before.iter().all(|row| after.contains(row)));
}

#[test]
fn seeds_are_added_until_the_interval_is_as_narrow_as_wanted() {
    let desk = Desk::new();
    desk.write("lossy.toml", LOSSY);
    let metric = "sweep lossy.toml --metric transfer-time --json";
    let rows = desk.json(&format!("{metric} --ci 20%"));
    let (mean, half) = measured(&rows[0]);
    assert!(half <= 0.2 * mean, "{half} of {mean}");
    let (mean, half) = measured(&desk.json(&format!("{metric} --seeds 4"))[0]);
    assert!(half > 0.2 * mean, "four seeds, where it begins, are not enough: {half} of {mean}");
}

#[test]
fn common_random_numbers_make_differences_narrower_than_their_parts() {
    let desk = Desk::new();
    desk.write("lossy.toml", LOSSY);
    let line = "sweep lossy.toml --axis path.A.delay=10ms,15ms --metric transfer-time --json";
    let rows = desk.json(line);
    let ((first, h1), (second, h2)) = (measured(&rows[0]), measured(&rows[1]));
    let ratio = &rows[1]["metrics"][0][1]["against_first"];
    let (ratio, paired) = (ratio[0].as_f64().unwrap(), ratio[1].as_f64().unwrap());
    assert!((ratio - second / first).abs() < 1e-9);
    let unpaired = ratio * (h1 / first).hypot(h2 / second);
    assert!(paired < 0.5 * unpaired, "paired {paired}, unpaired {unpaired}");
    assert!(ratio - paired > 1.0, "5 ms more delay show through the losses: {ratio} +- {paired}");
}

#[test]
fn mistakes_are_one_line_that_says_what_is_allowed() {
    let desk = Desk::new();
    desk.write("noise", noise());
    desk.write("cut.toml", "[path.A\nrate = 3");
    for (words, part) in [
        ("tiny.toml --axis path.B.delay", "--axis path.B.delay: expected FIELD=FIRST..LAST/STEP"),
        (
            "tiny.toml --axis path.C.delay=1ms,2ms",
            "\"C\" is no path of the scenario (allowed: A, B)",
        ),
        ("tiny.toml --axis path.B.dely=1ms,2ms", "did you mean delay?"),
        (
            "tiny.toml --axis path.B.delay=1ms,x",
            "path.B.delay = \"x\": expected a duration with a unit",
        ),
        ("tiny.toml --axis path.B.delay=9ms..1ms/1ms", "never arrives (allowed: a step above 0"),
        (
            "tiny.toml --axis path.B.delay=1ms..9ms",
            "expected FIRST..LAST/STEP, such as 10ms..100ms",
        ),
        ("tiny.toml --axis path.B.delay=1ns..9s/1ns", "too many values (allowed: up to 100000)"),
        ("tiny.toml --axis stack.path-scheduler=rr,fastest", "stack.path-scheduler"),
        ("tiny.toml --set path.B.delay=45", "--set: path.B.delay = 45: expected a duration"),
        ("tiny.toml --metric godput", "--metric: no metric \"godput\""),
        ("tiny.toml --ci 0", "--ci 0: expected a share, such as 2%"),
        ("tiny.toml --ci 300%", "--ci 300%: expected a share"),
        ("none.toml", "none.toml: cannot be read"),
        ("noise", "noise: cannot be read"),
        ("cut.toml", "cut.toml:1"),
    ] {
        let talk = desk.refusal(&format!("sweep {words}"));
        assert!(talk.starts_with("polypath: ") && talk.contains(part), "{words}: {talk}");
    }
    assert!(desk.stored("results").is_empty(), "nothing was run");
}
