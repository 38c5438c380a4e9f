//! Runs over delivery traces are known by what the traces hold.

use polypath_experiments::disk::source_from_text;
use polypath_experiments::store::Key;

const TRACED: &str = r#"
[path.A]
trace = "x.trace"
[[flow]]
app = "saturated"
[time]
measure = "10s"
"#;

#[test]
fn two_traces_of_one_name_are_two_runs() {
    let folder = tempfile::tempdir().unwrap();
    let read = |content: &str| {
        std::fs::write(folder.path().join("x.trace"), content).unwrap();
        let name = folder.path().join("s.toml").display().to_string();
        source_from_text(name, TRACED).unwrap().parse_scenario().unwrap()
    };
    let (one, two) = (read("1\n"), read("2\n"));
    assert_ne!(Key::of_run(&one, 1, false), Key::of_run(&two, 1, false));
    assert_eq!(Key::of_run(&one, 1, false), Key::of_run(&read("1\n"), 1, false));
}
