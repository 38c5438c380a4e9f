//! Limits integrated over the measuring time: between two changes of the network they are constant.

use polypath_link::Nanos;
use polypath_sim::WorldSpec;
use polypath_sim::spec::{Action, FlowSpec};

use super::bound::compute_bounds;
use super::message::{Sending, model_sending};
use super::model::{Limits, NoLimit, Path};
use super::network::{Way, find_ways, links_at, model_paths};
use super::program::{self, Flow};

/// The limits of a flow that has the network for itself.
pub(super) fn limit_alone(spec: &WorldSpec, flow: &FlowSpec) -> Result<Limits, NoLimit> {
    let (sending, ways) = check_flow(spec, flow)?;
    let (mut free, mut ordered, mut single) = (0.0, 0.0, vec![0.0; ways.len()]);
    for piece in split_time(spec, &ways) {
        let part = piece.time_share(spec, begin_time(flow));
        let found = compute_bounds(
            &model_paths(&ways, &links_at(spec, piece.from), &sending),
            sending.buffer,
        )?;
        free += part * found.free;
        ordered += part * found.ordered;
        single.iter_mut().zip(found.single).for_each(|(sum, rate)| *sum += part * rate);
    }
    // The first of equal ones.
    let best = single.iter().enumerate().rev().max_by(|a, b| a.1.total_cmp(b.1));
    let (best, best_path) = best.map_or((0, 0.0), |(n, rate)| (n, *rate));
    Ok(Limits {
        free,
        ordered,
        best_path,
        best: ways.get(best).map(|way| way.name.clone()).unwrap_or_default(),
        buffer: sending.buffer / 8.0,
        sack_route: sending.route,
    })
}

/// What all saturated flows can carry together.
pub(super) fn limit_together(spec: &WorldSpec) -> Result<f64, NoLimit> {
    let mut flows = Vec::new();
    for flow in &spec.flows {
        match check_flow(spec, flow) {
            Ok((sending, ways)) => flows.push((begin_time(flow), sending, ways)),
            // What others take is missing; the limit stays one.
            Err(NoLimit::NotSaturated(_)) => {}
            Err(other) => return Err(other),
        }
    }
    let all: Vec<Way> = flows.iter().flat_map(|(_, _, ways)| ways).cloned().collect();
    let mut sum = 0.0;
    for piece in pieces_with(spec, &all, flows.iter().map(|(begin, ..)| *begin)) {
        let links = links_at(spec, piece.from);
        let sending = flows.iter().filter(|(begin, ..)| *begin <= piece.from);
        let now: Vec<(Vec<Path>, f64)> = sending
            .map(|(_, sending, ways)| (model_paths(ways, &links, sending), sending.buffer))
            .collect();
        let now: Vec<Flow<'_>> =
            now.iter().map(|(paths, bits)| Flow { paths, bits: *bits }).collect();
        sum += piece.time_share(spec, 0) * program::maximise_flows(&now)?;
    }
    Ok(sum)
}

fn check_flow(spec: &WorldSpec, flow: &FlowSpec) -> Result<(Sending, Vec<Way>), NoLimit> {
    let sending = model_sending(flow)?;
    let ways = find_ways(spec, flow)?;
    if let Some(cross) =
        spec.cross.iter().find(|cross| ways.iter().any(|w| w.uses_link(spec, &cross.link)))
    {
        return Err(NoLimit::Cross(cross.link.clone()));
    }
    let told = |action: &Action| match action {
        Action::PathAdmin { flow: name, .. } | Action::Shutdown(name) | Action::Abort(name) => {
            *name == flow.name
        }
        Action::CutLink(_) | Action::RestoreLink(_) => true,
        Action::CutPath(_) | Action::RestorePath(_) => true,
    };
    if spec.actions.iter().any(|one| told(&one.action)) {
        return Err(NoLimit::Told(flow.name.clone()));
    }
    Ok((sending, ways))
}

/// When the flow begins to send, at the earliest.
fn begin_time(flow: &FlowSpec) -> Nanos {
    flow.connect_at.max(flow.start_at)
}

/// A time without changes.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: Nanos,
    to: Nanos,
}

impl Piece {
    /// Which part of the measuring time it is, without what lies before `begin`.
    fn time_share(self, spec: &WorldSpec, begin: Nanos) -> f64 {
        self.to.saturating_sub(self.from.max(begin)) as f64 / spec.time.measure as f64
    }
}

fn split_time(spec: &WorldSpec, ways: &[Way]) -> Vec<Piece> {
    pieces_with(spec, ways, std::iter::empty())
}

/// The measuring time, cut at every change of these ways and at further times.
fn pieces_with(spec: &WorldSpec, ways: &[Way], cuts: impl Iterator<Item = Nanos>) -> Vec<Piece> {
    let (first, last) = (spec.time.settle, spec.time.settle.saturating_add(spec.time.measure));
    let changes = ways.iter().flat_map(|way| way.change_times(spec)).chain(cuts);
    let mut times: Vec<Nanos> = changes.filter(|time| (first..last).contains(time)).collect();
    times.extend([first, last]);
    times.sort_unstable();
    times.dedup();
    times
        .windows(2)
        .filter_map(|two| Some(Piece { from: *two.first()?, to: *two.last()? }))
        .collect()
}
