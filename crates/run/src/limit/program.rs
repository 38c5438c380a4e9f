//! Paths over common links: one row per link and one per buffer, solved as a linear program.

use std::collections::BTreeMap;

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};

use super::model::{NoLimit, Path};

/// The solver's tolerance is absolute, so rates are in Mbit/s and buffers in Mbit.
const MEGA: f64 = 1e6;

/// A flow's paths and the payload bits of its buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow<'a> {
    pub(super) paths: &'a [Path],
    pub(super) bits: f64,
}

/// The most payload bit/s that flows can carry together.
pub(super) fn maximise_flows(flows: &[Flow<'_>]) -> Result<f64, NoLimit> {
    let mut problem = Problem::new(OptimizationDirection::Maximize);
    let mut links: BTreeMap<usize, Vec<(Variable, f64)>> = BTreeMap::new();
    for flow in flows {
        let mut row = Vec::new();
        for path in flow.paths.iter().filter(|path| !path.links.is_empty()) {
            let rate = problem.add_var(1.0, (0.0, path.rate() / MEGA));
            row.push((rate, path.hold));
            for (link, payload) in &path.links {
                // The share of the link that a Mbit/s of payload takes: flows may differ in their
                // headers.
                links.entry(*link).or_default().push((rate, MEGA / payload));
            }
        }
        if flow.bits.is_finite() {
            problem.add_constraint(&row, ComparisonOp::Le, flow.bits / MEGA);
        }
    }
    for row in links.values().filter(|row| row.len() > 1) {
        problem.add_constraint(row, ComparisonOp::Le, 1.0);
    }
    let failed = |error: microlp::Error| NoLimit::Program(error.to_string());
    let solution = problem.solve().map_err(failed)?.into_solution();
    let solution = solution.map_err(|_| NoLimit::Program("interrupted".to_owned()))?;
    Ok(solution.objective() * MEGA)
}

/// What paths carry without regard to buffers.
pub(super) fn path_capacity(paths: &[Path]) -> Result<f64, NoLimit> {
    maximise_flows(&[Flow { paths, bits: f64::INFINITY }])
}
