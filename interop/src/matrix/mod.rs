//! All conversations between Polypath and usrsctp, each in both roles, over emulated networks;
//! their captures are read by tshark.

mod capture;
mod case;
mod conversation;
mod facts;
mod network;
mod outcome;
mod proof;
mod settings;
mod table;
mod tools;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result};

pub use self::case::{CASES, Case};
use self::conversation::Conversation;
pub use self::outcome::{Cell, Matrix, ROLES, Row};
pub use self::settings::Settings;
pub use self::table::render_markdown;
use self::tools::Tools;

/// Runs the matrix and prints it; true when nothing failed.
///
/// # Errors
/// When a file cannot be written.
pub fn report_matrix(settings: &Settings, write: Option<&Path>) -> Result<bool> {
    let matrix = run_matrix(settings)?;
    let table = render_markdown(&matrix);
    print!("{table}");
    if let Some(file) = write {
        std::fs::write(file, &table).with_context(|| file.display().to_string())?;
    }
    let failures = matrix.failures();
    failures.iter().for_each(|failure| eprintln!("failed: {failure}"));
    matrix.skipped.iter().for_each(|skipped| eprintln!("skipped: {skipped}"));
    Ok(failures.is_empty())
}

/// Runs the matrix. What this machine lacks is found in [`Matrix::skipped`].
///
/// # Errors
/// When a file cannot be written.
pub fn run_matrix(settings: &Settings) -> Result<Matrix> {
    let cases: Vec<&Case> =
        CASES.iter().filter(|case| case.name.contains(&settings.only)).collect();
    if let Some(keep) = &settings.keep {
        std::fs::create_dir_all(keep).with_context(|| keep.display().to_string())?;
    }
    let tools = match Tools::find_all(settings)? {
        Ok(tools) => tools,
        Err(missing) => return Ok(skip_all(&cases, missing)),
    };
    let work: Vec<_> = cases.iter().flat_map(|case| ROLES.map(|ours| (*case, ours))).collect();
    let mut cells = in_parallel(settings.jobs, &work, |(case, ours)| {
        let possible = case.only.is_none_or(|only| only == *ours);
        let conversation = Conversation::new(case, *ours, &tools);
        let cell = if possible { conversation.hold_and_judge() } else { Cell::NotPossible };
        eprintln!("{:60} {}", format!("{}, our {}", case.name, ours.name()), verdict(&cell));
        cell
    })
    .into_iter();
    let mut next = || cells.next().unwrap_or(Cell::Skipped);
    let rows = cases.into_iter().map(|case| Row { case, cells: [next(), next()] }).collect();
    Ok(Matrix { rows, skipped: tools.missing })
}

fn verdict(cell: &Cell) -> &str {
    match cell {
        Cell::Passed(_) => "ok",
        Cell::Failed(why) => why,
        Cell::Skipped => "skipped",
        Cell::NotPossible => "not possible for usrsctp",
    }
}

fn skip_all(cases: &[&'static Case], missing: String) -> Matrix {
    let row = |case: &&'static Case| Row { case, cells: [Cell::Skipped, Cell::Skipped] };
    Matrix { rows: cases.iter().map(row).collect(), skipped: vec![missing] }
}

/// The results of `act` for all `work`, in its order, by so many threads.
fn in_parallel<W: Sync, T: Send>(jobs: usize, work: &[W], act: impl Fn(&W) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = work.get(n) else { break };
                    let result = act(item);
                    done.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((n, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, result)| result).collect()
}
