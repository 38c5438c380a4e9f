//! polypath-lab
