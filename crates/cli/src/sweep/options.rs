//! Options that runs made here and runs of shards share.

use polypath_experiments::experiment::parse_amount;

use super::args::SweepArgs;
use crate::failure::Failure;
use crate::plot::Canvas;

/// Where `--plot` draws.
pub(super) fn open_canvas(args: &SweepArgs, has_axes: bool) -> Result<Option<Canvas>, Failure> {
    let canvas = args.plot.as_ref().map(|path| Canvas::file(path, "--plot", None)).transpose()?;
    if canvas.is_some() && !has_axes {
        let problem =
            "--plot: no axis to draw over (allowed: with --axis, or [[sweep]] in the file)";
        return Err(Failure::bad_input(problem));
    }
    Ok(canvas)
}

/// The share of `--ci`.
pub(super) fn read_precision(args: &SweepArgs) -> Result<Option<f64>, Failure> {
    let Some(share) = &args.ci else { return Ok(None) };
    let wanted = parse_amount(share).filter(|share| *share > 0.0 && *share < 1.0);
    let refused = || Failure::bad_input(format!("--ci {share}: expected a share, such as 2%"));
    wanted.map(Some).ok_or_else(refused)
}
