//! Path schedulers that no list has, in sweeps: found by name, kept by version, and failing alone.

use polypath_experiments::disk::source_from_text;
use polypath_experiments::reproduce::{Seeds, Swept, run_sweep};
use polypath_experiments::store::{Key, Store};
use polypath_policies::{OwnScheduler, Registry};
use polypath_proto::policy::{PathPick, PathScheduler, Policy};
use polypath_proto::view::{AssocView, ChunkMeta};
use polypath_scenario::{Policies, Source};

const SCENARIO: &str = "
    path.A = { rate = '10Mbit/s', delay = '10ms' }
    path.B = { rate = '10Mbit/s', delay = '10ms' }
    flow = [{ app = 'saturated' }]
    time.measure = '2s'
    [[sweep]]
    set = ['stack.path-scheduler']
    values = ['min-rtt', 'breaks', 'own?wide=3']
";

/// The first open path; fails after so many decisions.
#[derive(Debug)]
struct First {
    left: u32,
}

impl Policy for First {
    fn name(&self) -> &'static str {
        "first"
    }

    fn failure(&self) -> Option<String> {
        (self.left == 0).then(|| "out of ideas".to_owned())
    }
}

impl PathScheduler for First {
    fn pick_path(&mut self, view: &AssocView<'_>, _: &ChunkMeta) -> PathPick {
        self.left = self.left.saturating_sub(1);
        view.sendable().next().map_or(PathPick::Wait, |path| PathPick::Use(path.id))
    }
}

fn source(version: Option<&'static str>) -> Source {
    let find = move |text: &str| {
        let left = match text {
            "breaks" => 100,
            "own?wide=3" => u32::MAX,
            _ => return None,
        };
        let own = OwnScheduler::new(move |_, _| Box::new(First { left }));
        Some(Ok(match version {
            Some(version) => own.with_version(version),
            None => own,
        }))
    };
    let registry = Registry::builtin().with_own_schedulers(find);
    source_from_text("test", SCENARIO).unwrap().with_policies(Policies::new(registry))
}

#[test]
fn a_scheduler_that_fails_loses_no_other_row() {
    let metrics = ["goodput".to_owned()];
    let mut store = Store::in_memory();
    let swept = run_sweep(source(None), Seeds::Count(2), &metrics, &mut store, &|_| ());
    let Swept { rows, failed, .. } = swept.unwrap();
    let goodput: Vec<Option<f64>> =
        rows.iter().map(|row| Some(row.metrics.first()?.1?.mean)).collect();
    assert!(goodput[0].is_some_and(|rate| rate > 12e6), "{goodput:?}");
    assert_eq!(goodput[1], None);
    assert!(goodput[2].is_some_and(|rate| rate > 8e6), "{goodput:?}");
    let failed = failed.unwrap().to_string();
    let told = "2 of 6 runs failed; the first: path scheduler breaks, seed 1: flow saturated: \
                the path scheduler failed: out of ideas";
    assert_eq!(failed, told);
    store.settle().unwrap();
}

#[test]
fn runs_are_known_by_the_schedulers_version() {
    let key = |version| {
        let mut source = source(version);
        source.set_field(&"stack.path-scheduler=own?wide=3".parse().unwrap()).unwrap();
        let scenario = source.parse_scenario().unwrap();
        (scenario.scheduler_versions(), Key::of_run(&scenario, 1, false))
    };
    let (one, two) = (key(Some("1")), key(Some("2")));
    assert_eq!(one.0.as_deref(), Some("\nown?wide=3 1\nown?wide=3 1"));
    assert_ne!(one.1, two.1);
    assert_eq!(key(None).0, None, "nothing to know it by");
}
