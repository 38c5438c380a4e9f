//! polypath-policies
