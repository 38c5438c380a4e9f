//! Metrics of the answers to requests.

use polypath_run::limit::of_world;
use polypath_run::metrics::{MetricValues, compute_metrics, metric_exists};
use polypath_run::{Recording, run, world_spec};
use polypath_scenario::{Scenario, Source};

fn scenario(flow: &str) -> Scenario {
    let text = format!(
        "[path.A]\nrate = '8Mbit/s'\ndelay = '50ms'\n[[flow]]\n{flow}\n[time]\nmeasure = '30s'"
    );
    let source = Source::new("responses", text).unwrap_or_else(|error| panic!("{error}"));
    source.parse_scenario().unwrap_or_else(|error| panic!("{error}"))
}

fn metrics(scenario: &Scenario) -> MetricValues {
    let result = run(scenario, 1, Recording::default(), &mut |_| ()).unwrap();
    compute_metrics(&result, &of_world(&world_spec(scenario, false).unwrap(), 1), None)
}

#[test]
fn a_response_takes_a_round_trip_at_least_and_they_follow_each_other() {
    let values = metrics(&scenario("app = 'request'\nresponse = '1000B'\nthink = '1s'"));
    let value =
        |name: &str| values.find_value(name).flatten().unwrap_or_else(|| panic!("no {name}"));
    // Request and response pass 50 ms each, and are a packet each: 2.5 ms at most.
    for name in ["response-time.mean", "response-time.p50", "response-time.max"] {
        assert!((0.1..0.103).contains(&value(name)), "{name} = {}", value(name));
    }
    assert!((26.0..28.0).contains(&value("responses")), "{}", value("responses"));
}

#[test]
fn flows_that_ask_nothing_have_none() {
    for (flow, has) in [("app = 'request'\nresponse = '1kB'", true), ("app = 'saturated'", false)] {
        assert_eq!(metric_exists("response-time.p95", &scenario(flow)), has, "{flow}");
    }
}
