//! What comes out of runs, for people: tables for the terminal, figures, pages in Markdown and HTML,
//! and tables of runs as CSV and Parquet.

pub mod demo;
pub mod figure;
mod format;
mod limit_table;
pub mod report;
pub mod table;
