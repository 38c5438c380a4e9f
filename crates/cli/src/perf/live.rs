//! The paths, live on the terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use polypath_apps::perf::{Progress, text};

/// One bar per path on stderr: as long as its rate, in proportion to the fastest so far.
pub(crate) struct Live {
    bars: MultiProgress,
    paths: BTreeMap<(u64, u8), ProgressBar>,
    fastest: u64,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self { bars: MultiProgress::new(), paths: BTreeMap::new(), fastest: 1 }
    }

    pub(crate) fn show_interval(&mut self, progress: &Progress) {
        let seconds = progress.interval.seconds().max(1e-3);
        for path in &progress.interval.paths {
            // What a path receives is not counted per path.
            let rate = (path.payload_bytes as f64 / seconds) as u64;
            self.fastest = self.fastest.max(rate);
            let bars = &self.bars;
            let key = (progress.id, path.path);
            let bar = self.paths.entry(key).or_insert_with(|| bars.add(new_bar()));
            bar.set_position(rate);
            let mut line = text::format_path(path, path.payload_bytes, seconds).trim().to_owned();
            if let Some(note) = &path.note {
                line = format!("{line}: {note}");
            }
            bar.set_message(line);
        }
        for bar in self.paths.values() {
            bar.set_length(self.fastest);
            bar.tick();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.paths.values().for_each(ProgressBar::abandon);
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new(1);
    // The template is a constant, which a test renders.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

const TEMPLATE: &str = "{bar:20} {msg}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_valid() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
