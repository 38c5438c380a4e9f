//! `[[at]]` with a sender's wish for a path.

use polypath_run::{Recording, run};
use polypath_scenario::Source;

const TWO_PATHS: &str = r#"
[path.A]
rate = "2Mbit/s"
delay = "10ms"
[path.B]
rate = "2Mbit/s"
delay = "10ms"
[[flow]]
name = "down"
app = "saturated"
paths = ["B", "A"]
[[flow]]
name = "up"
app = "saturated"
direction = "reverse"
[time]
settle = "2s"
measure = "5s"
"#;

/// Bytes of data that each flow sent on A and on B while it was measured.
fn sent(changes: &str) -> [[u64; 2]; 2] {
    let source = Source::new("test", format!("{TWO_PATHS}{changes}")).unwrap();
    let result =
        run(&source.parse_scenario().unwrap(), 1, Recording::default(), &mut |_| {}).unwrap();
    ["down", "up"].map(|flow| {
        let flow = result.flows.iter().find(|one| one.name == flow).unwrap();
        ["A", "B"].map(|path| flow.paths.iter().find(|one| one.name == path).unwrap().payload_bytes)
    })
}

fn change(time: &str, admin: &str) -> String {
    format!("[[at]]\ntime = \"{time}\"\ntarget = \"B\"\nadmin = \"{admin}\"\n")
}

#[test]
fn a_disabled_path_carries_nothing_of_any_flow_that_has_it() {
    let [down, up] = sent("");
    assert!(down.iter().chain(&up).all(|bytes| *bytes > 500_000), "{down:?} {up:?}");
    let [down, up] = sent(&change("1s", "disabled"));
    assert_eq!((down[1], up[1]), (0, 0));
    assert!(down[0] > 500_000 && up[0] > 100_000, "the other goes on: {down:?} {up:?}");
}

#[test]
fn a_backup_carries_nothing_while_the_other_lives_and_takes_over_when_it_does_not() {
    let [down, _] = sent(&change("1s", "backup"));
    assert_eq!(down[1], 0);
    let cut = "[[at]]\ntime = \"3s\"\ntarget = \"A\"\nadmin = \"disabled\"\n";
    let [down, _] = sent(&(change("1s", "backup") + cut));
    assert!(down[0] > 100_000 && down[1] > 500_000, "{down:?}");
}

#[test]
fn it_can_be_undone_and_be_for_one_direction() {
    let [down, _] = sent(&(change("1s", "disabled") + &change("3s", "active")));
    assert!(down[1] > 500_000, "{down:?}");
    let one_way = change("1s", "disabled") + "direction = \"reverse\"\n";
    let [down, up] = sent(&one_way);
    assert!(down[1] > 500_000 && up[1] == 0, "{down:?} {up:?}");
}
