//! The handbook (`docs/`) and README.md: what their commands print, where their links lead, that
//! generated pages are those of today, and that it keeps its size and its words.

mod handbook;
mod reference;
mod schema_page;
mod structure;
mod transcripts;
