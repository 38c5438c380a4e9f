//! What is shown: the latest looks, and the rates between them.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use polypath_control::message::{AssociationStatus, EventLine, PathStatus, Process, Status};

/// Rates are of so long.
const WINDOW: Duration = Duration::from_secs(1);

/// Looks that are kept of a process.
const LOOKS: usize = 16;

/// Events that are kept of a process.
const EVENTS: usize = 200;

/// By what paths are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// As the association counts them.
    #[default]
    Number,
    /// The fastest first, both directions together.
    Rate,
    /// The least round-trip time first.
    Rtt,
    /// The greatest loss first.
    Loss,
}

impl Sort {
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Number => Self::Rate,
            Self::Rate => Self::Rtt,
            Self::Rtt => Self::Loss,
            Self::Loss => Self::Number,
        }
    }

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Rate => "rate",
            Self::Rtt => "RTT",
            Self::Loss => "loss",
        }
    }
}

/// A process that is looked at.
#[derive(Debug)]
struct Watched {
    socket: PathBuf,
    process: Process,
    looks: VecDeque<(Instant, Vec<AssociationStatus>)>,
    events: VecDeque<EventLine>,
}

/// All that is known, and what the user chose of it.
#[derive(Debug, Default)]
pub(super) struct Model {
    processes: BTreeMap<u32, Watched>,
    /// The process and the association that are shown, once there was one.
    chosen: Option<(u32, u64)>,
    /// The number of the chosen path of that association.
    path: Option<u8>,
    pub(super) sort: Sort,
    /// What became of the latest command.
    pub(super) message: String,
    /// Whether keys are read.
    pub(super) has_keys: bool,
}

/// A path with its rates.
#[derive(Clone, Debug)]
pub(super) struct PathRow {
    pub(super) path: PathStatus,
    /// Bytes per second.
    pub(super) out: f64,
    /// Bytes per second.
    pub(super) into: f64,
    /// Of all bytes of both directions.
    pub(super) share: f64,
    /// Of the chunks that were sent lately, or of all where there were none.
    pub(super) loss: f64,
}

/// A path that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChosenPath {
    /// The number of its association.
    pub(super) association: u64,
    /// Its number there.
    pub(super) path: u8,
    pub(super) name: String,
}

/// The association that is shown.
#[derive(Debug)]
pub(super) struct Shown<'a> {
    pub(super) process: &'a Process,
    pub(super) association: &'a AssociationStatus,
    /// Which of how many.
    pub(super) place: (usize, usize),
    pub(super) paths: Vec<PathRow>,
    /// The chosen path, as a row.
    pub(super) row: Option<usize>,
    /// The latest last.
    pub(super) events: Vec<&'a EventLine>,
    /// What has limited it lately, and its share of the time; the longest first.
    pub(super) limits: Vec<(String, f64)>,
}

impl Model {
    pub(super) fn note_status(&mut self, now: Instant, socket: PathBuf, status: Status) {
        let pid = status.process.pid;
        let watched = self.processes.entry(pid).or_insert_with(|| Watched {
            socket,
            process: status.process.clone(),
            looks: VecDeque::new(),
            events: VecDeque::new(),
        });
        watched.process = status.process;
        watched.looks.push_back((now, status.associations));
        // One of them is as old as rates want it.
        let old = |looks: &VecDeque<(Instant, Vec<AssociationStatus>)>| {
            looks.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW)
        };
        while watched.looks.len() > LOOKS || old(&watched.looks) {
            watched.looks.pop_front();
        }
        self.hold_on();
    }

    pub(super) fn note_event(&mut self, pid: u32, event: EventLine) {
        if let Some(watched) = self.processes.get_mut(&pid) {
            if watched.events.len() == EVENTS {
                watched.events.pop_front();
            }
            watched.events.push_back(event);
        }
    }

    pub(super) fn note_gone(&mut self, pid: u32) {
        self.processes.remove(&pid);
        self.hold_on();
    }

    /// Shows the same association as before. Where that is gone it is another one, of the same
    /// process if there is one; whoever had chosen a path has chosen none then.
    fn hold_on(&mut self) {
        let all = self.all();
        if self.chosen.is_some_and(|chosen| all.contains(&chosen)) {
            return;
        }
        let of_same =
            |(pid, _): &&(u32, u64)| self.chosen.is_some_and(|(chosen, _)| chosen == *pid);
        let next = all.iter().find(of_same).or(all.first()).copied();
        // One that is gone is remembered until there is another: its process is.
        self.chosen = next.or(self.chosen);
        self.path = None;
    }

    /// How many processes are seen.
    pub(super) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// All associations.
    fn all(&self) -> Vec<(u32, u64)> {
        let of = |(pid, watched): (&u32, &Watched)| {
            let pid = *pid;
            let latest = watched.looks.back().map(|(_, all)| all.as_slice()).unwrap_or_default();
            latest.iter().map(move |a| (pid, a.association)).collect::<Vec<_>>()
        };
        self.processes.iter().flat_map(of).collect()
    }

    /// Shows the next association, or the one before.
    pub(super) fn step(&mut self, forward: bool) {
        let all = self.all();
        let Some(at) = self.place(&all) else { return };
        let to = match forward {
            true => (at + 1) % all.len(),
            false => (at + all.len() - 1) % all.len(),
        };
        if to != at {
            self.chosen = all.get(to).copied();
            self.path = None;
        }
    }

    /// Chooses the next path, or the one before; the first where none was chosen.
    pub(super) fn step_path(&mut self, forward: bool) {
        let Some(shown) = self.shown() else { return };
        let to = match (shown.row, forward) {
            (None, _) => 0,
            (Some(row), true) => (row + 1).min(shown.paths.len().saturating_sub(1)),
            (Some(row), false) => row.saturating_sub(1),
        };
        self.path = shown.paths.get(to).map(|row| row.path.path);
    }

    fn place(&self, all: &[(u32, u64)]) -> Option<usize> {
        self.chosen.and_then(|chosen| all.iter().position(|a| *a == chosen))
    }

    /// The association that is shown.
    pub(super) fn shown(&self) -> Option<Shown<'_>> {
        let all = self.all();
        let place = self.place(&all)?;
        let (pid, number) = *all.get(place)?;
        let watched = self.processes.get(&pid)?;
        let (now, latest) = watched.looks.back()?;
        let association = latest.iter().find(|a| a.association == number)?;
        let before = watched.looks.front().and_then(|(at, all)| {
            let seconds = now.duration_since(*at).as_secs_f64();
            let before = all.iter().find(|a| a.association == number)?;
            (seconds > 0.0).then_some((seconds, before))
        });
        let mut paths = rows(association, before);
        sort(&mut paths, self.sort);
        let row = self.path.and_then(|path| paths.iter().position(|row| row.path.path == path));
        let events = watched.events.iter().filter(|event| event.association == number).collect();
        Some(Shown {
            process: &watched.process,
            association,
            place: (place + 1, all.len()),
            paths,
            row,
            events,
            limits: limits(association, before.map(|(_, before)| before)),
        })
    }

    /// The chosen path, and the socket of its process.
    pub(super) fn chosen_path(&self) -> Option<(PathBuf, ChosenPath)> {
        let shown = self.shown()?;
        let path = &shown.paths.get(shown.row?)?.path;
        let socket = self.processes.get(&shown.process.pid)?.socket.clone();
        let association = shown.association.association;
        Some((socket, ChosenPath { association, path: path.path, name: path.name.clone() }))
    }
}

fn rows(now: &AssociationStatus, before: Option<(f64, &AssociationStatus)>) -> Vec<PathRow> {
    let earlier = |path: &PathStatus| {
        let (seconds, before) = before?;
        let found = before.paths.iter().flatten().find(|other| other.path == path.path)?;
        Some((seconds, found))
    };
    let mut rows: Vec<PathRow> = now
        .paths
        .iter()
        .flatten()
        .map(|path| {
            let (out, into, loss) = earlier(path).map_or((0.0, 0.0, 0.0), |(seconds, before)| {
                let per_second =
                    |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
                let sent = path.sent_chunks.saturating_sub(before.sent_chunks);
                let lost = path.lost_chunks.saturating_sub(before.lost_chunks);
                let loss = match sent {
                    0 => path.lost_chunks as f64 / path.sent_chunks.max(1) as f64,
                    sent => (lost as f64 / sent as f64).min(1.0),
                };
                let out = per_second(path.sent_bytes, before.sent_bytes);
                (out, per_second(path.received_bytes, before.received_bytes), loss)
            });
            PathRow { path: path.clone(), out, into, share: 0.0, loss }
        })
        .collect();
    let total: f64 = rows.iter().map(|row| row.out + row.into).sum();
    for row in &mut rows {
        row.share = if total > 0.0 { (row.out + row.into) / total } else { 0.0 };
    }
    rows
}

fn sort(rows: &mut [PathRow], by: Sort) {
    let rate = |row: &PathRow| row.out + row.into;
    match by {
        Sort::Number => {}
        Sort::Rate => rows.sort_by(|a, b| rate(b).total_cmp(&rate(a))),
        Sort::Rtt => rows.sort_by(|a, b| {
            let rtt = |row: &PathRow| row.path.rtt.unwrap_or(f64::INFINITY);
            rtt(a).total_cmp(&rtt(b))
        }),
        Sort::Loss => rows.sort_by(|a, b| b.loss.total_cmp(&a.loss)),
    }
}

fn limits(now: &AssociationStatus, before: Option<&AssociationStatus>) -> Vec<(String, f64)> {
    let earlier = |limit: &str, path: Option<&String>| {
        let all = before?.limits.as_ref()?;
        let found = all.iter().find(|share| share.limit == limit && share.path.as_ref() == path)?;
        Some(found.seconds)
    };
    let mut spent: Vec<(String, f64)> = now
        .limits
        .iter()
        .flatten()
        .map(|share| {
            let since = earlier(&share.limit, share.path.as_ref()).unwrap_or(0.0);
            let path = share.path.as_ref().map_or(String::new(), |path| format!(" ({path})"));
            (share.limit.replace('_', " ") + &path, (share.seconds - since).max(0.0))
        })
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect();
    let total: f64 = spent.iter().map(|(_, seconds)| seconds).sum();
    spent.iter_mut().for_each(|(_, seconds)| *seconds /= total.max(1e-9));
    spent.sort_by(|a, b| b.1.total_cmp(&a.1));
    spent
}
