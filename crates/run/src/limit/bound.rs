//! The limits of some paths under one buffer.

use super::model::{NoLimit, Path};
use super::program::{self, Flow};

/// What paths and a buffer admit, payload bit/s.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bounds {
    pub(super) free: f64,
    pub(super) ordered: f64,
    /// Each path alone.
    pub(super) single: Vec<f64>,
}

/// The limits of a flow that has the network for itself, with a buffer of `bits` payload bits.
pub(super) fn compute_bounds(paths: &[Path], bits: f64) -> Result<Bounds, NoLimit> {
    let single = paths.iter().map(|path| path.rate().min(bits / path.own_hold)).collect();
    let mut known = paths.iter();
    let shared = core::iter::from_fn(|| known.next().map(|path| (path, known.clone())))
        .any(|(path, mut rest)| rest.any(|other| path.shares_links_with(other)));
    let (free, ordered) = if shared {
        (
            program::maximise_flows(&[Flow { paths, bits }])?,
            bound_ordered(paths, bits, program::path_capacity)?,
        )
    } else {
        (fill_knapsack(paths, bits), bound_ordered(paths, bits, sum_rates)?)
    };
    Ok(Bounds { free, ordered, single })
}

/// A fractional knapsack: paths are filled in the order of their hold times while the buffer lasts.
pub(super) fn fill_knapsack(paths: &[Path], mut bits: f64) -> f64 {
    let mut goodput = 0.0;
    for path in by_hold(paths) {
        let rate = path.rate().min(bits / path.hold);
        goodput += rate;
        bits -= rate * path.hold;
    }
    goodput
}

/// One ordered stream enters and leaves its buffer in order, so every byte is held as long as those
/// of the slowest path in use. With that path given, all faster ones are used, too.
fn bound_ordered(
    paths: &[Path],
    bits: f64,
    capacity: fn(&[Path]) -> Result<f64, NoLimit>,
) -> Result<f64, NoLimit> {
    let sorted: Vec<Path> = by_hold(paths).into_iter().cloned().collect();
    let mut best: f64 = 0.0;
    for (n, slowest) in sorted.iter().enumerate() {
        let rate = capacity(sorted.get(..=n).unwrap_or_default())?;
        best = best.max(rate.min(bits / slowest.hold));
    }
    Ok(best)
}

/// What paths without common links carry.
fn sum_rates(paths: &[Path]) -> Result<f64, NoLimit> {
    Ok(paths.iter().map(Path::rate).sum())
}

/// Paths that are up, the one with the shortest hold time first.
fn by_hold(paths: &[Path]) -> Vec<&Path> {
    let mut sorted: Vec<&Path> = paths.iter().filter(|path| path.rate() > 0.0).collect();
    sorted.sort_by(|a, b| a.hold.total_cmp(&b.hold));
    sorted
}
