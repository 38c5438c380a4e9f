//! polypath-link
