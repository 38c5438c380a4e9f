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
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("goodput (Mbit/s); across: stack.sfr"), "{text}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines[2]), ["path.B.delay", "true", "false"]);
    for (line, delay) in lines[3..6].iter().zip(["10", "30", "50"]) {
        let cells = words(line);
        assert_eq!((cells[0].as_str(), cells[1].as_str()), (delay, "ms"), "{text}");
        assert_eq!(cells.iter().filter(|cell| *cell == "+-").count(), 2, "{text}");
    }
    assert!(text.contains("goodput, change (%); across: stack.sfr"), "{text}");
    assert!(talk.contains("results/tiny/runs.csv"), "{talk}");
    let table = desk.read("results/tiny/runs.csv");
    assert_eq!(table.lines().count(), 1 + 3 * 2 * 2);
    assert!(table.starts_with("grid,path.B.delay,stack.sfr,seed,"), "{table}");
    let (plain, _) = desk.done("sweep tiny.toml");
    assert!(plain.contains("\ngoodput (Mbit/s) "), "{plain}");
}

#[test]
fn tables_come_as_people_take_them_on() {
    let desk = Desk::new();
    let line = "sweep tiny.toml --axis path.B.loss=0%,2% --seeds 2 --metric goodput --metric bytes";
    let text = desk.done(line).0;
    let head: Vec<&str> = text.lines().next().unwrap().split("  ").collect();
    let head: Vec<&str> = head.into_iter().map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(head[..3], ["path.B.loss", "goodput (Mbit/s)", "change (%)"], "{text}");
    assert_eq!(head[3..], ["bytes (KiB)", "change (%)"], "{text}");
    assert!(text.contains("\n0 % ") && text.contains("Mean over 2 seeds +- half width"), "{text}");
    let markdown = desk.done(&format!("{line} --format markdown")).0;
    assert!(markdown.starts_with("| path.B.loss | goodput (Mbit/s) | change (%) |"), "{markdown}");
    let latex = desk.done(&format!("{line} --format latex")).0;
    assert!(latex.contains("\\begin{tabular}{lrrrr}\n\\hline\npath.B.loss & "), "{latex}");
    assert!(latex.contains("\n2 \\% & $") && latex.contains(" \\pm "), "{latex}");
    let csv = desk.done(&format!("{line} --format csv")).0;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(
        rows[0],
        "path.B.loss,metric,unit,seeds,mean,half_width,ratio_to_first,ratio_half_width"
    );
    assert_eq!(rows.len(), 1 + 2 * 2);
    assert!(rows[3].starts_with("2%,goodput,bit/s,2,"), "{csv}");
    let json = desk.json(&format!("{line} --json"));
    let mean = json[1]["metrics"][0][1]["mean"].as_f64().unwrap();
    assert_eq!(rows[3].split(',').nth(4).unwrap().parse::<f64>().unwrap(), mean);
}

#[test]
fn a_figure_is_drawn_at_once() {
    let desk = Desk::new();
    let line = "sweep tiny.toml --axis stack.sfr=true,false --axis path.B.loss=0%,2% --seeds 2";
    let (_, talk) = desk.done(&format!("{line} --plot out.svg"));
    assert!(talk.contains("figure: out.svg"), "{talk}");
    let svg = desk.read("out.svg");
    for part in ["path.B.loss (%)", "goodput (Mbit/s)", "2 curves by stack.sfr: true from"] {
        assert!(svg.contains(part), "{part}");
    }
    desk.done(&format!("{line} --plot out.pdf --format csv"));
    assert!(std::fs::read(desk.path("out.pdf")).unwrap().starts_with(b"%PDF-"));
}

#[test]
fn a_swept_field_is_not_set_and_nothing_is_run() {
    let desk = Desk::new();
    let axes = "[[sweep]]\nname = \"far\"\nset = [\"path.B.delay\"]\nvalues = [\"20ms\", \"40ms\"]\n\
        [[sweep]]\nname = \"how\"\ncases = [\n\
        { label = \"a\", set = { \"stack.sfr\" = true, \"path.A.loss\" = \"1%\" } },\n\
        { label = \"b\", set = { \"stack.sfr\" = false } },\n]\n";
    desk.write("axes.toml", desk.read("tiny.toml").replace("[seeds]", &format!("{axes}[seeds]")));
    for (words, part) in [
        (
            "--set path.B.delay=75ms",
            "--set path.B.delay=75ms: path.B.delay is swept by the axis \"far\"",
        ),
        ("--set stack.sfr=true", "stack.sfr is swept by the axis \"how\" (allowed: fields that no"),
        (
            "--axis path.B.delay=1ms,2ms",
            "--axis path.B.delay=1ms,2ms: path.B.delay is swept by the",
        ),
        (
            "--axis path.A.rate=1Mbit/s,2Mbit/s --set path.A.rate=3Mbit/s",
            "--set path.A.rate=3Mbit/s",
        ),
        ("--plot a.bmp", "--plot a.bmp: no format \"bmp\" (allowed: svg, png, pdf)"),
    ] {
        let talk = desk.refusal(&format!("sweep axes.toml {words}"));
        assert!(talk.contains(part), "{words}: {talk}");
    }
    assert!(desk.refusal("sweep tiny.toml --plot a.svg").contains("--plot: no axis to draw over"));
    assert!(desk.stored("results").is_empty(), "nothing was run");
    // What one case alone sets has a value in the others, too.
    desk.done("sweep axes.toml --set path.A.loss=2% --seeds 1");
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
    let row = traced.lines().find(|line| line.starts_with("rounds ")).unwrap();
    assert!(row.split_whitespace().nth(1).unwrap().parse::<f64>().is_ok(), "a value: {traced}");
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
