//! polypath-sim
