//! Every policy that has a name, with every value of every option, keeps to the rules.

mod common;

use polypath_policies::{PolicyEntry, PolicyKind, Registry};
use polypath_proto::config::CcConfig;
use polypath_proto::rng::Rng;
use polypath_testkit::conformance::{
    check_buffer, check_congestion, check_path_scheduler, check_retransmission,
    check_stream_scheduler,
};

use common::read_file;

const SEEDS: core::ops::Range<u64> = 0..8;

/// Values for the options whose values can neither be listed nor are a range, and some within
/// ranges.
const EXAMPLES: &[(&str, &str, &[&str])] = &[
    ("fixed", "map", &["0:0", "0:1,1:0", "3:4,5:9,65535:2"]),
    ("cmt-out", "burst", &["1", "2", "65535"]),
    ("weighted", "weights", &["0:0", "0:3,1:1,9:2", "0:0,1:0,2:0,3:0,4:0"]),
    ("weighted", "costs", &["0:1", "1:255,2:1,3:1"]),
    ("weighted", "quotas", &["0:10000", "0:0,1:5000,2:1"]),
    ("weighted", "patience", &["20"]),
    ("priority", "values", &["0:2,1:0", "0:65535,7:1"]),
    ("wfq", "weights", &["0:1,1:3", "0:65535,7:2"]),
    ("lossrate", "rates", &["0.01,0.1", "1", "0,0,0,0,0"]),
    ("fixed", "cwnd", &["1", "1500,65536", "18446744073709551615"]),
    ("learned", "file", &["one-layer", "two-layers"]),
];

#[test]
fn every_policy_with_every_option_value() {
    let registry = Registry::builtin().with_files(read_file);
    for entry in registry.entries() {
        for text in combinations(entry) {
            for seed in SEEDS {
                check(&registry, entry.kind, &text, seed);
            }
        }
    }
}

#[test]
fn every_option_that_cannot_be_listed_has_an_example() {
    for entry in polypath_policies::all() {
        for option in entry.options {
            let listed = option.choices().count() == option.values.split('|').count();
            let listed = listed || range_ends(option).is_some();
            let example = EXAMPLES.iter().any(|(p, o, _)| *p == entry.name && *o == option.name);
            assert!(listed || example, "{} {}: {}", entry.kind, entry.name, option.name);
        }
    }
}

/// `name?key=value&...` with every combination of listable values and examples; where there are
/// more than a thousand, every pair of values occurs.
fn combinations(entry: &PolicyEntry) -> Vec<String> {
    let values: Vec<Vec<String>> = entry.options.iter().map(|o| option_values(entry, o)).collect();
    let total: usize = values.iter().map(Vec::len).product();
    let texts = |picks: &[usize]| {
        let options = values.iter().zip(picks).map(|(v, &i)| v[i % v.len()].clone());
        let options: Vec<_> = options.collect();
        if options.is_empty() {
            entry.name.to_owned()
        } else {
            format!("{}?{}", entry.name, options.join("&"))
        }
    };
    if total <= 1000 {
        return (0..total)
            .map(|mut number| {
                let digit = |v: &Vec<String>| {
                    let digit = number % v.len();
                    number /= v.len();
                    digit
                };
                texts(&values.iter().map(digit).collect::<Vec<_>>())
            })
            .collect();
    }
    let mut all = Vec::new();
    for (i, first) in values.iter().enumerate() {
        for (j, second) in values.iter().enumerate().skip(i + 1) {
            for (a, b) in (0..first.len()).flat_map(|a| (0..second.len()).map(move |b| (a, b))) {
                let mut picks = vec![0; values.len()];
                (picks[i], picks[j]) = (a, b);
                all.push(texts(&picks));
            }
        }
    }
    all
}

fn option_values(entry: &PolicyEntry, option: &polypath_policies::OptionEntry) -> Vec<String> {
    let example = EXAMPLES.iter().find(|(p, o, _)| *p == entry.name && *o == option.name);
    let examples = example.into_iter().flat_map(|(_, _, values)| values.iter().copied());
    let default = Some(option.default).filter(|_| !entry.needs.contains(&option.name));
    let mut values: Vec<_> = default
        .into_iter()
        .chain(range_ends(option).into_iter().flatten())
        .chain(option.choices().filter(|v| *v != option.default))
        .chain(examples)
        .collect();
    values.dedup();
    values.iter().map(|v| format!("{}={v}", option.name)).collect()
}

/// The least and the greatest value of an option that takes `<least..greatest>`.
fn range_ends(option: &polypath_policies::OptionEntry) -> Option<[&'static str; 2]> {
    let (least, greatest) = option.values.strip_prefix('<')?.strip_suffix('>')?.split_once("..")?;
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    (is_number(least) && is_number(greatest)).then_some([least, greatest])
}

fn check(registry: &Registry, kind: PolicyKind, text: &str, seed: u64) {
    let cc = CcConfig::default();
    let rng = |seed| Rng::from_u64(seed);
    let valid = "the registry lists what it accepts";
    match kind {
        PolicyKind::PathScheduler => {
            let recipe = registry.path_scheduler(text).expect(valid);
            check_path_scheduler(|s| recipe(&cc, &mut rng(s)), seed);
        }
        PolicyKind::StreamScheduler => {
            let recipe = registry.stream_scheduler(text).expect(valid);
            check_stream_scheduler(|s| recipe(&cc, &mut rng(s)), seed);
        }
        PolicyKind::Retransmission => {
            let recipe = registry.retransmission(text).expect(valid);
            check_retransmission(|s| recipe(&cc, &mut rng(s)), seed);
        }
        PolicyKind::Buffer => {
            let recipe = registry.buffer(text).expect(valid);
            check_buffer(|s| recipe(&cc, &mut rng(s)), seed);
        }
        PolicyKind::Congestion => {
            let recipe = registry.congestion(text).expect(valid);
            check_congestion(|s| recipe(&cc, &mut rng(s)), seed);
        }
    }
}
