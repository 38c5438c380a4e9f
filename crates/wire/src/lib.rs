//! polypath-wire
