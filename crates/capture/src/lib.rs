//! polypath-capture
