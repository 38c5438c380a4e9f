//! Metrics that a scenario names are those that its runs have.

use polypath_run::read_scenario;
use polypath_scenario::Source;

fn answer(metric: &str) -> String {
    let text = format!(
        "metrics = ['{metric}']\n[path.A]\n[[flow]]\napp = 'saturated'\n[time]\nmeasure = '10s'\n"
    );
    let scenario = read_scenario(&Source::new("crossing.toml", text).unwrap());
    scenario.map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}

#[test]
fn a_metric_that_no_run_has_is_refused_by_its_place() {
    assert_eq!(answer("goodput"), "accepted");
    let refusal = "crossing.toml:1: metrics[0] = \"throughput\": \
                   no such metric (docs/experiments.md lists them)";
    assert_eq!(answer("throughput"), refusal);
}
