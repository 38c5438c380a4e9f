//! What commands print: schemas of their JSON, and their words, piped and on a terminal.

mod breaks;
mod help;
mod json;
mod schemas;
mod stage;
mod words;
