//! `polypath exporter`: metrics for Prometheus.

use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use clap::Args;
use polypath_control::exporter::http;
use polypath_control::exporter::metrics::Format;
use polypath_control::exporter::scrape::collect;
use polypath_experiments::output::Output;

use super::find;
use crate::failure::Failure;
use crate::keys::LOCAL;
use crate::output;
use crate::talk::Talk;

#[derive(Debug, Args)]
pub(crate) struct ExporterArgs {
    /// Where to answer GET /metrics. Whoever reaches that place reads with whom this host talks,
    /// and how much.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        default_value = "127.0.0.1:9464",
        conflicts_with_all = ["textfile", "once"]
    )]
    listen: SocketAddr,
    /// Write the metrics to this file once, for the textfile collector of Prometheus' node
    /// exporter; run it from a timer.
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Print the metrics once.
    #[arg(long, conflicts_with = "textfile")]
    once: bool,
    /// Associations of a process that are told one by one; the others are only counted.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    max_associations: u16,
    /// Where the control sockets are; by default where commands of this user open them.
    #[arg(long, value_name = "FOLDER")]
    sockets: Option<PathBuf>,
}

pub(crate) fn exporter(args: &ExporterArgs, talk: Talk) -> Result<(), Failure> {
    let folder = match &args.sockets {
        Some(folder) => folder.clone(),
        None => find::folder()?,
    };
    let most = usize::from(args.max_associations);
    if args.once || args.textfile.is_some() {
        let text = collect(&folder, most).encode(Format::Plain).map_err(Failure::run_failed)?;
        return match &args.textfile {
            Some(file) => replace(file, &text),
            None => output::print_text(&text),
        };
    }
    let failed = |error| Failure::with_code(LOCAL, format!("--listen {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).map_err(failed)?;
    let at = listener.local_addr().map_err(failed)?;
    talk.say(format_args!("metrics at http://{at}/metrics, of processes in {}", folder.display()));
    http::serve(&listener, &folder, most);
    Ok(())
}

/// Writes a file that appears whole.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let failed =
        |error| Failure::with_code(LOCAL, format!("--textfile {}: {error}", path.display()));
    let mut out = Output::create(path).map_err(failed)?;
    out.write_all(text.as_bytes()).map_err(failed)?;
    out.keep_file().map_err(failed)
}
