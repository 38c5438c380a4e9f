//! Results on disk.
