//! Plans, workers, and what --from makes of their segments.

use std::fs;

use serde_json::Value;

use crate::desk::Desk;

const PLAN: &str = "sweep tiny.toml --axis path.B.loss=0%,1%,2% --seeds 6 --metric goodput";

/// A desk with a plan, and what the sweep prints in one process.
fn planned() -> (Desk, String) {
    let desk = Desk::new();
    let (whole, _) = desk.done(PLAN);
    let (text, talk) = desk.done(&format!("{PLAN} --plan plan"));
    assert!(text.starts_with("plan ") && text.contains(": 18 runs, about 1 min"), "{text}");
    assert!(talk.contains("polypath worker plan --shard 1/1 --out DIR"), "{talk}");
    (desk, whole)
}

#[test]
fn a_sweep_in_shards_prints_what_one_process_prints() {
    let (desk, whole) = planned();
    for number in [3, 1, 2] {
        let (text, _) = desk.done(&format!("worker plan --shard {number}/3 --out out"));
        assert!(text.starts_with(&format!("shard {number}/3: ")), "{text}");
    }
    assert_eq!(desk.done("sweep --from out").0, whole);
    assert_eq!(desk.done("sweep --from out/*.seg").0, whole);
    let other = desk.json("sweep --from out --metric delay.mean --json");
    assert_eq!(other[0]["metrics"][0][0], "delay.mean");
    assert!(other[0]["metrics"][0][1]["mean"].as_f64().unwrap() > 0.0);
    let (text, _) = desk.done("sweep --watch out");
    assert!(text.ends_with("3 of 3 shards whole, 3 begun, 100.0 % of the runs\n"), "{text}");
    let state: Value = desk.json("sweep --watch out --json");
    assert_eq!(state[0]["begun"].as_array().unwrap().len(), 3);
    assert_eq!(desk.done("verify out --sample 100%").0, "18 of 18 runs are the same, of 18\n");
}

#[test]
fn missing_shards_are_named_and_a_part_is_shown_when_asked_for() {
    let (desk, _) = planned();
    desk.done("worker plan --shard 2/3 --out out");
    let output = desk.run("sweep --from out");
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{talk}");
    assert!(output.stdout.is_empty());
    assert!(talk.contains("12 runs are missing: shards 1/3 of plan "), "{talk}");
    assert!(talk.ends_with("(allowed: with --partial)\n"), "{talk}");
    let (text, talk) = desk.done("sweep --from out --partial");
    assert!(text.contains("1 %") && talk.contains("12 runs are missing"), "{text}{talk}");
}

#[test]
fn rounds_are_planned_until_intervals_are_narrow() {
    let (desk, _) = planned();
    desk.done("worker plan --shard 1/1 --out out");
    let (_, talk) = desk.done("sweep --from out --ci 0.001% --plan next");
    assert!(talk.contains("times as wide as wanted"), "{talk}");
    let plan: Value =
        serde_json::from_slice(&fs::read(desk.path("next/plan.json")).unwrap()).unwrap();
    assert_eq!(plan["work"]["seeds"], serde_json::json!({ "from": 6, "to": 24 }));
    let (text, _) = desk.done("worker next --shard 1/1 --out out");
    assert!(text.contains("54 of 54 runs made"), "{text}");
    let (whole, _) = desk.done(&PLAN.replace("--seeds 6", "--seeds 24"));
    assert_eq!(desk.done("sweep --from out").0, whole);
    let (_, talk) = desk.done("sweep --from out --ci 99% --plan more");
    assert!(talk.contains("no further round") && !desk.path("more").exists(), "{talk}");
}

#[test]
fn other_commands_work_in_shards_too() {
    let desk = Desk::new();
    let line = "population --draws 3 --seed 5 --packets 1000 --schedulers rr";
    let (whole, _) = desk.done(&format!("{line} --out one"));
    desk.done(&format!("{line} --plan plan"));
    for number in [2, 1] {
        desk.done(&format!("worker plan --shard {number}/2 --out out"));
    }
    let (text, talk) = desk.done("population --from out --out two");
    assert_eq!((text, talk.starts_with("3 draws, all there\n")), (whole, true), "{talk}");
    let page = |folder: &str| fs::read(desk.path(&format!("{folder}/population.html"))).unwrap();
    assert!(page("one") == page("two"), "the pages differ");
    let refusal = desk.refusal("sweep --from out");
    assert!(refusal.contains("the segments are of `population`"), "{refusal}");
}

#[test]
fn experiments_work_in_shards_with_files_of_ones_own() {
    let desk = crate::reproduce::desk();
    let line = format!("{} --seeds 2", crate::reproduce::LINE);
    let (whole, _) = desk.done(&format!("{line} --out one"));
    desk.done(&format!("{line} --plan plan"));
    // The plan has all that it needs.
    fs::rename(desk.path("papers"), desk.path("elsewhere")).unwrap();
    for number in [1, 2] {
        desk.done(&format!("worker plan --shard {number}/2 --out out"));
    }
    assert_eq!(desk.done("reproduce --from out --out two").0, whole);
}

#[test]
fn what_makes_no_sense_is_refused_in_a_line() {
    let (desk, _) = planned();
    desk.done("worker plan --shard 1/1 --out out");
    for (line, problem) in [
        ("worker plan --shard 4/3 --out out", "\"4/3\": no shard"),
        ("worker tiny.toml --shard 1/1 --out out", "tiny.toml: no plan"),
        ("sweep --from tiny.toml", "tiny.toml: no segments"),
        ("sweep --from none", "none: no segments"),
        ("sweep --watch none", "--watch none: no folder"),
        ("verify out --sample 0", "\"0\": no share"),
        ("sweep --from out --seeds 3", "cannot be used with"),
        ("sweep --from out --plan next", "nothing to plan (allowed: with --ci)"),
        ("reproduce --from out --plan next", "--plan with --from"),
        ("sweep -q --from out --metric nothing", "--metric: no metric"),
    ] {
        let refusal = desk.refusal(line);
        assert!(refusal.contains(problem), "{line}: {refusal}");
    }
    let output = desk.run("worker none --shard 1/1 --out out");
    assert_eq!(output.status.code(), Some(1));
    fs::write(desk.path("plan/plan.json"), "x").unwrap();
    let refusal = desk.refusal("worker plan --selftest");
    assert!(refusal.contains("plan.json: no plan: expected value"), "{refusal}");
}
