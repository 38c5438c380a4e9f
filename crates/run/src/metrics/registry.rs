//! All metrics.

use super::metric::Metric;
use super::unit::Unit;
use super::{bounds, flow, link, pattern, sampled, traced};

/// What each flow of a run has.
pub(super) static OF_FLOWS: [&[Metric]; 3] = [flow::METRICS, sampled::METRICS, bounds::METRICS];

/// All metrics, in the order of tables.
pub fn all_metrics() -> impl Iterator<Item = &'static Metric> {
    let of_flows = OF_FLOWS.into_iter().flatten();
    let others = [bounds::JOINT, link::METRICS, traced::METRICS];
    link::RUN.iter().chain(of_flows).chain(others.into_iter().flatten())
}

/// The metric that has this name in some run.
pub fn find_metric(name: &str) -> Option<&'static Metric> {
    let named =
        |name: &str| all_metrics().find(|metric| pattern::matches_pattern(metric.name, name));
    named(name).or_else(|| {
        let rest = name.strip_prefix("flow.")?;
        // Names of flows may have dots in them.
        let ends = rest.match_indices('.').filter_map(|(at, _)| rest.get(at + 1..));
        ends.filter_map(named).find(|metric| metric.is_per_flow())
    })
}

/// What the metric of this name is measured in; a plain number where there is none.
pub fn metric_unit(name: &str) -> Unit {
    find_metric(name).map_or(Unit::Plain, |metric| metric.unit)
}

#[cfg(test)]
mod tests {
    use super::super::metric::Needs;
    use super::*;

    #[test]
    fn names_are_unique_and_every_metric_has_a_help() {
        let all: Vec<&Metric> = all_metrics().collect();
        for (n, metric) in all.iter().enumerate() {
            assert!(!metric.help.is_empty() && !metric.help.contains('\n'), "{}", metric.name);
            assert!(!all[..n].iter().any(|other| other.name == metric.name), "{}", metric.name);
        }
    }

    #[test]
    fn names_of_runs_lead_to_their_metric() {
        let name = |name: &str| find_metric(name).map(|metric| metric.name);
        assert_eq!(name("goodput"), Some("goodput[.stream.{stream}]"));
        assert_eq!(name("flow.ref.v2.delay.stream.0.p99"), Some("delay[.stream.{stream}].p99"));
        assert_eq!(name("timeouts.rto.2...path.A"), Some("timeouts.rto.2...path.{path}"));
        assert_eq!(name("decision.srtt0.mean"), Some("decision.{number}.mean"));
        assert_eq!(name("flow.f.measured"), None);
        assert_eq!(name("flow.f.rounds"), None);
        assert_eq!(name("throughput"), None);
    }

    #[test]
    fn units_go_with_the_name_and_not_with_how_it_begins() {
        for (name, wanted) in [
            ("goodput.stream.1", Unit::Rate),
            ("flow.ref.delay.mean", Unit::Time),
            ("out-of-order.mean", Unit::Bytes),
            ("payload-share.path.A", Unit::Share),
            ("timeouts.rto.2..", Unit::Plain),
            ("limit", Unit::Rate),
            ("flow.f.ordered-limit-share", Unit::Share),
            ("link.A.forward.rate", Unit::Rate),
            ("pause.path.A.longest", Unit::Time),
            ("pause.path.A.recovery-elsewhere", Unit::Share),
            ("pause.path.A.own-losses", Unit::Plain),
            ("pause.path.A.rwnd", Unit::Bytes),
            ("blocked-count", Unit::Plain),
            ("no-such-metric", Unit::Plain),
        ] {
            assert_eq!(metric_unit(name), wanted, "{name}");
        }
    }

    #[test]
    fn needs_are_told() {
        let needs = |name: &str| find_metric(name).map(Metric::needs);
        assert_eq!(needs("goodput"), Some(Needs::Result));
        assert_eq!(needs("cwnd-end.path.A"), Some(Needs::Result));
        assert_eq!(needs("cwnd.path.A.mean"), Some(Needs::Samples));
        assert_eq!(needs("rounds.path.A"), Some(Needs::Traces));
    }
}
