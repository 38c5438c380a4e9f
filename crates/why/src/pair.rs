//! Which ends are of one association.

use std::collections::{BTreeMap, BTreeSet};

use crate::end::End;
use crate::error::WhyError;
use crate::trace::Trace;

/// The two ends of the association that was asked for, by their positions. The one that was read
/// first comes first, and the association has its name: each file numbers associations by itself.
pub(crate) fn find_pair(trace: &Trace, flow: Option<&str>) -> Result<(usize, usize), WhyError> {
    let pairs = all_pairs(&trace.ends);
    let is_asked = |(at, _): &(usize, usize)| {
        flow.is_none_or(|flow| trace.ends.get(*at).is_some_and(|end| end.flow == flow))
    };
    let asked: Vec<(usize, usize)> = pairs.iter().copied().filter(is_asked).collect();
    let files = trace.files();
    match (&asked[..], flow) {
        ([pair], _) => Ok(*pair),
        ([_, ..], None) => Err(WhyError::Several { files, flows: name_flows(trace, &pairs) }),
        ([_, ..], Some(flow)) => Err(WhyError::SeveralOfName { flow: flow.to_owned(), files }),
        ([], Some(flow)) if !pairs.is_empty() => {
            Err(WhyError::NoFlow { flow: flow.to_owned(), files, flows: name_flows(trace, &pairs) })
        }
        ([], _) => Err(alone(trace)),
    }
}

/// Ends whose initial TSNs are each other's.
fn all_pairs(ends: &[End]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let mut open = BTreeMap::new();
    for (at, end) in ends.iter().enumerate() {
        let Some((own, peer)) = end.initial else { continue };
        match open.remove(&(peer, own)) {
            Some(other) => pairs.push((other, at)),
            None => _ = open.insert((own, peer), at),
        }
    }
    pairs.sort_unstable();
    pairs
}

fn name_flows(trace: &Trace, pairs: &[(usize, usize)]) -> String {
    const SHOWN: usize = 8;
    let name = |(at, _): &(usize, usize)| trace.ends.get(*at).map(|end| end.flow.clone());
    let mut seen = BTreeSet::new();
    let all = pairs.iter().filter_map(name).filter(|name| seen.insert(name.clone()));
    let mut names: Vec<String> = all.take(SHOWN + 1).collect();
    if names.len() > SHOWN {
        names.truncate(SHOWN);
        names.push("...".to_owned());
    }
    names.join(", ")
}

fn alone(trace: &Trace) -> WhyError {
    let files = trace.files();
    match trace.ends.iter().find(|end| end.initial.is_some()) {
        Some(end) => WhyError::OneEnd { files, host: end.host.clone(), flow: end.flow.clone() },
        None => WhyError::Nothing(files),
    }
}
