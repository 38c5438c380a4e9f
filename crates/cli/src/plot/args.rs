//! Arguments of `polypath plot`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use polypath_report::figure::PictureFormat;

/// What stands below the options.
pub(crate) const PLOT_HELP: &str = "\
Columns of a table may be axes, settings (scenario.path.A.rate), metrics, or
your own; rows that agree in x and curves are runs of one point. A table of
your own needs no column but those that you name.
A trace is what --trace of simulate writes; y is a field of its events
(cwnd, srtt, held, ...), over the time.

Examples:
  polypath plot results/S0-F4/runs.csv --x buffer --curves curve --out F4.pdf
  polypath plot results/crossing/runs.csv --y goodput,delay.p95 --bands
  polypath plot own.csv --x rate --y seconds --log-x --title 'As measured'
  polypath plot run.jsonl --y cwnd --where host=client --out cwnd.png
  polypath plot run.jsonl --x time --y srtt --curves path > srtt.svg";

#[derive(Debug, ClapArgs)]
pub(crate) struct PlotArgs {
    /// Table (CSV), as reproduce and sweep write them, or trace of a run (JSON lines).
    #[arg(value_name = "FILE")]
    pub(crate) input: PathBuf,
    /// Column along x; by default the first axis with numbers. Of a trace: time.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: Option<String>,
    /// Columns along y, each in a diagram of its own, separated by commas; by default goodput, of a
    /// trace cwnd.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) y: Vec<String>,
    /// Columns whose values make the curves; by default all axes but x. Flows, hosts and paths of a
    /// trace have curves of their own in any case.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    pub(crate) curves: Option<Vec<String>>,
    /// Only rows or events with this value; may be repeated.
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = parse_condition)]
    pub(crate) keep: Vec<(String, String)>,
    /// Grid of the experiment.
    #[arg(long, value_name = "NAME", default_value = "main")]
    pub(crate) grid: String,
    /// Text above the figure.
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Name of the x axis, without unit.
    #[arg(long, value_name = "TEXT")]
    pub(crate) x_label: Option<String>,
    /// Name of the y axis, without unit; with one column along y.
    #[arg(long, value_name = "TEXT")]
    pub(crate) y_label: Option<String>,
    /// Logarithmic x axis.
    #[arg(long)]
    pub(crate) log_x: bool,
    /// Logarithmic y axis.
    #[arg(long)]
    pub(crate) log_y: bool,
    /// Draw 95 % intervals as bands in place of bars.
    #[arg(long)]
    pub(crate) bands: bool,
    /// File to write in place of stdout; its ending says the format: .svg, .png or .pdf.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// svg, png or pdf, whatever the ending of the file; by default SVG.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<PictureFormat>,
    /// Accepted for uniformity: a figure is no JSON.
    #[arg(long, hide = true)]
    pub(crate) json: bool,
}

fn parse_condition(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, value) = parts.ok_or("expected COLUMN=VALUE, such as host=client")?;
    Ok((name.to_owned(), value.to_owned()))
}
