//! What comes out of runs, for people: tables for the terminal, figures, pages in Markdown and
//! HTML, and tables of runs as CSV and Parquet.
//!
//! [`write_report`] is all of it in one call, as `polypath reproduce` makes it:
//!
//! ```no_run
//! use std::path::Path;
//!
//! use polypath_experiments::experiment::Experiment;
//! use polypath_experiments::reproduce::{Options, collect_jobs, execute_jobs, prepare_study};
//! use polypath_experiments::store::Store;
//! use polypath_report::{Destination, write_report};
//!
//! let file = Path::new("scenarios/papers/iyengar-2007/section-3-blocking.toml");
//! let experiment = Experiment::from_file(file)?;
//! let studies = [prepare_study(experiment, Options::default())?];
//! let mut store = Store::open(Path::new("results/runs"))?;
//! execute_jobs(&collect_jobs(&studies), &mut store, &|_done| ())?;
//! let folder = Path::new("results");
//! let command = "polypath reproduce S1-V3";
//! let to = Destination { folder, pages: None, command, commit: None };
//! let report = write_report(&studies, &store, to)?;
//! println!("{}: {}", report.experiments[0].id, report.page.display());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//! - `pictures` (on by default): figures as PNG and PDF, too.
//! - `parquet` (off by default): tables of runs as Parquet, too (`write_parquet`).

mod chapter;
mod columns;
mod csv_table;
pub mod demo;
pub mod figure;
mod format;
mod html;
mod limit_table;
mod markdown;
mod own_columns;
#[cfg(feature = "parquet")]
mod parquet_table;
mod readings;
mod run_table;
mod runs;
mod seal;
pub mod table;
mod table_format;
mod tables;
pub mod text;
mod write;

pub use chapter::{Chapter, count_verdicts, paper_name};
pub use csv_table::write_csv;
pub use figure::space_unit;
pub use html::{Captioned, FigurePage, render_figures, render_page};
pub use markdown::format_summaries;
pub use own_columns::{ChosenColumns, ChosenTable};
#[cfg(feature = "parquet")]
pub use parquet_table::write_parquet;
pub use run_table::{RunTable, Shared};
pub use runs::{Runs, list_settings};
pub use seal::{SealError, check_seal, seal_page};
pub use table_format::{Listing, TableFormat, format_listings};
pub use tables::{format_markdown as table_markdown, format_pages as table_pages};
pub use write::{Destination, Report, ReportError, write_report, write_runs};
