//! Circles of files.

use std::collections::{BTreeMap, BTreeSet};

/// Arrows between files, each with the names that it is there for.
pub(crate) type Arrows = BTreeMap<(String, String), BTreeSet<String>>;

/// The largest sets of files each of which reaches all others of its set.
pub(crate) fn circles(arrows: &Arrows) -> Vec<Vec<String>> {
    let files: BTreeSet<&String> = arrows.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach: BTreeMap<_, _> = files.iter().map(|file| (*file, reached(arrows, file))).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for file in files {
        if !reach[file].contains(file) || seen.contains(file) {
            continue;
        }
        let circle: Vec<String> =
            reach[file].iter().filter(|other| reach[*other].contains(file)).cloned().collect();
        seen.extend(circle.iter().cloned());
        circles.push(circle);
    }
    circles
}

/// The files at the end of one arrow or several.
fn reached(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut next = vec![from.to_owned()];
    while let Some(file) = next.pop() {
        for (_, to) in arrows.keys().filter(|(from, _)| *from == file) {
            if found.insert(to.clone()) {
                next.push(to.clone());
            }
        }
    }
    found
}

#[test]
fn files_that_reach_each_other_are_a_circle() {
    let arrow = |from: &str, to: &str| ((from.to_owned(), to.to_owned()), BTreeSet::new());
    let arrows: Arrows =
        [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("f", "g"), ("g", "f")]
            .map(|(from, to)| arrow(from, to))
            .into();
    let expected = [vec!["a", "b", "c"], vec!["f", "g"]];
    assert_eq!(circles(&arrows), expected);
}
