//! polypath-testkit
