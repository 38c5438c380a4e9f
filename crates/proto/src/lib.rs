//! polypath-proto
