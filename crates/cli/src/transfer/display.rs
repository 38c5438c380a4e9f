//! Progress on stderr: a bar per path and one for the whole.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "bars are about the user's time")]
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use polypath_apps::paths;
use polypath_apps::transfer::Observer;
use polypath_net::{Association, PathInfo};

use super::outcome::{Outcome, Role, format_size};

const WHOLE: &str = "{prefix} {bar:30} {percent:>3} %  {msg}";
const PATH: &str = "  {prefix} {bar:30} {msg}";
/// How often bars move.
const STEP: Duration = Duration::from_millis(200);

/// Hears how a transfer goes and shows it, unless stderr is no terminal or the user wants silence.
pub(super) struct Display {
    role: Role,
    quiet: bool,
    bars: MultiProgress,
    total: AtomicU64,
    there: AtomicU64,
    travelled: AtomicU64,
    /// How often something has gone on.
    steps: AtomicU64,
    /// Said when the first file goes on.
    opening: Mutex<Option<String>>,
    name: Mutex<String>,
    over: AtomicBool,
}

impl Display {
    pub(super) fn new(role: Role, quiet: bool, bars: bool) -> Arc<Self> {
        let target = match bars {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        Arc::new(Self {
            role,
            quiet,
            bars: MultiProgress::with_draw_target(target),
            total: AtomicU64::new(0),
            there: AtomicU64::new(0),
            travelled: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            opening: Mutex::default(),
            name: Mutex::default(),
            over: AtomicBool::new(false),
        })
    }

    pub(super) fn bytes_travelled(&self) -> u64 {
        self.travelled.load(Ordering::Relaxed)
    }

    /// What to say when the first file goes on: nothing for who only connects.
    pub(super) fn open_with(&self, line: String) {
        *self.opening.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
    }

    /// How often something has gone on.
    pub(super) fn steps_made(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// A line on stderr, above the bars if there are any.
    pub(super) fn print_line(&self, line: &str) {
        if self.quiet {
            return;
        }
        if self.bars.is_hidden() || self.bars.println(line).is_err() {
            eprintln!("{line}");
        }
    }

    /// Moves the bars on a thread of its own until [`finish_bars`](Self::finish_bars).
    pub(super) fn start_bars(
        self: &Arc<Self>,
        association: Arc<Association>,
    ) -> Option<std::thread::JoinHandle<()>> {
        if self.bars.is_hidden() {
            return None;
        }
        let display = self.clone();
        let watch = move || {
            let mut bars = Bars::new(&display);
            while !display.over.load(Ordering::Relaxed) {
                bars.update_bars(&association.paths());
                std::thread::park_timeout(STEP);
            }
            bars.clear_bars();
        };
        std::thread::Builder::new().name("progress".to_owned()).spawn(watch).ok()
    }

    /// Takes the bars away.
    pub(super) fn finish_bars(&self, watcher: Option<std::thread::JoinHandle<()>>) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(watcher) = watcher {
            watcher.thread().unpark();
            let _ = watcher.join();
        }
    }
}

impl Observer for Display {
    fn total(&self, _files: u64, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
    }

    fn file(&self, name: &str, _bytes: u64) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        name.clone_into(&mut self.name.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn progress(&self, bytes: u64, travelled: bool) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(line) = opening {
            self.print_line(&line);
        }
        self.there.fetch_add(bytes, Ordering::Relaxed);
        if travelled {
            self.travelled.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    fn note(&self, line: &str) {
        self.print_line(line);
    }
}

struct Bars<'a> {
    display: &'a Display,
    whole: ProgressBar,
    paths: Vec<(ProgressBar, Rate)>,
    rate: Rate,
}

impl<'a> Bars<'a> {
    fn new(display: &'a Display) -> Self {
        let whole = display.bars.add(styled_bar(WHOLE));
        Self { display, whole, paths: Vec::new(), rate: Rate::new() }
    }

    fn update_bars(&mut self, all_paths: &[PathInfo]) {
        let carried = |path: &PathInfo| Outcome::carried_payload(self.display.role, path);
        let all = all_paths.iter().map(carried).sum::<u64>().max(1);
        for (i, path) in all_paths.iter().enumerate() {
            if self.paths.len() == i {
                let new = self.display.bars.add(styled_bar(PATH));
                let (local, remote) = (path.stats.local.ip(), path.stats.remote.ip());
                new.set_prefix(format!("{local} - {remote}"));
                self.paths.push((new, Rate::new()));
            }
            let Some((bar, rate)) = self.paths.get_mut(i) else { break };
            let bytes = carried(path);
            bar.set_length(all);
            bar.set_position(bytes);
            let note = paths::explain_path(path, all_paths, self.display.role == Role::Send);
            let note = note.map_or(String::new(), |note| format!("  {note}"));
            bar.set_message(format!(
                "{:>9}  {:>8.1} Mbit/s{note}",
                format_size(bytes),
                rate.update_rate(bytes)
            ));
        }
        self.show_whole();
    }

    fn show_whole(&mut self) {
        let (total, there) = (&self.display.total, &self.display.there);
        let (total, there) = (total.load(Ordering::Relaxed), there.load(Ordering::Relaxed));
        let rate = self.rate.update_rate(self.display.bytes_travelled());
        let name = self.display.name.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let short: String = name.chars().take(40).collect();
        self.whole.set_length(total.max(1));
        self.whole.set_position(there.min(total));
        self.whole.set_prefix("all");
        self.whole.set_message(format!(
            "{} of {}  {rate:.1} Mbit/s  {short}",
            format_size(there),
            format_size(total)
        ));
    }

    fn clear_bars(&self) {
        self.whole.finish_and_clear();
        self.paths.iter().for_each(|(bar, _)| bar.finish_and_clear());
    }
}

fn styled_bar(template: &str) -> ProgressBar {
    let bar = ProgressBar::new(1);
    // The templates are constants, which a test renders.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Mbit/s over about the last second.
#[expect(clippy::disallowed_types, reason = "as above")]
struct Rate {
    at: Instant,
    bytes: u64,
    smooth: f64,
}

#[expect(clippy::disallowed_types, reason = "as above")]
impl Rate {
    fn new() -> Self {
        Self { at: Instant::now(), bytes: 0, smooth: 0.0 }
    }

    fn update_rate(&mut self, bytes: u64) -> f64 {
        let seconds = self.at.elapsed().as_secs_f64();
        if seconds >= 0.1 {
            let now = bytes.saturating_sub(self.bytes) as f64 * 8e-6 / seconds;
            let weight = seconds.min(1.0);
            self.smooth += (now - self.smooth) * weight;
            self.bytes = bytes;
            self.at = Instant::now();
        }
        self.smooth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_templates_are_valid() {
        assert!(ProgressStyle::with_template(WHOLE).is_ok());
        assert!(ProgressStyle::with_template(PATH).is_ok());
    }
}
