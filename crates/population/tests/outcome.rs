//! What a run of a draw is said to have come to.

use polypath_population::{Application, Outcome};
use polypath_run::{Recording, read_scenario, run};
use polypath_scenario::Source;

/// A path that is cut for half a second, and back before the source is measured.
const CUT: &str = r#"
title = "Cut"
[path.A]
rate = "10Mbit/s"
delay = "10ms"
queue = "50packets"
[[at]]
time = "500ms"
target = "A"
action = "cut"
[[at]]
time = "1s"
target = "A"
action = "restore"
[stack]
profile = "fast"
receive-buffer = "100kB"
send-buffer = "100kB"
[[flow]]
app = "cbr"
rate = "5Mbit/s"
[time]
settle = "1.5s"
measure = "500ms"
[seeds]
first = 1
count = 1
"#;

#[test]
fn what_a_blocked_source_makes_up_for_is_no_merit() {
    let source = Source::new("cut.toml", CUT).unwrap();
    let scenario = read_scenario(&source).unwrap();
    let result = run(&scenario, 1, Recording::default(), &mut |_| ()).unwrap();
    let goodput = result.flows[0].total.goodput;
    assert!(goodput > 6e6, "it makes up for what was late: {goodput}");
    let outcome = Outcome::of_run(&scenario, Application::Paced, &result);
    assert!((4.9e6..=5e6).contains(&outcome.performance), "{}", outcome.performance);
}
