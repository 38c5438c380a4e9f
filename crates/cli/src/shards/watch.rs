//! `polypath sweep --watch`: how far all shards are.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use polypath_shards::{WorkProgress, watch_segments};

use crate::failure::Failure;
use crate::output;
use crate::talk::Talk;

/// How often the files are looked at: they are on file systems that others use.
const GLANCE: Duration = Duration::from_secs(1);

/// Looks at these folders until every shard of every plan there is whole; with `json` once.
pub(crate) fn watch(folders: &[PathBuf], json: bool, talk: Talk) -> Result<(), Failure> {
    for folder in folders {
        if !folder.is_dir() {
            let text = format!(
                "--watch {}: no folder (allowed: what workers have as --out)",
                folder.display()
            );
            return Err(Failure::bad_input(text));
        }
    }
    let mut bar = talk.progress();
    let mut said = String::new();
    loop {
        let plans = watch_segments(folders)?;
        if json {
            return output::print_json(&plans);
        }
        let fraction = plans.iter().map(WorkProgress::fraction).sum::<f64>();
        bar.report_fraction(fraction / plans.len().max(1) as f64);
        let is_done = !plans.is_empty() && plans.iter().all(WorkProgress::is_whole);
        let text: String = plans.iter().map(describe).collect();
        if text != said {
            // The bar is redrawn below the lines.
            bar.print_above(|| output::print_text(&text))?;
            said = text;
        }
        if is_done {
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "it waits for other processes' files")]
        thread::sleep(GLANCE);
    }
}

fn describe(plan: &WorkProgress) -> String {
    let WorkProgress { plan: id, shards, begun } = plan;
    let whole = plan.count_whole();
    let percent = 100.0 * plan.fraction();
    format!(
        "plan {id}: {whole} of {shards} shards whole, {} begun, {percent:.1} % of the runs\n",
        begun.len()
    )
}
