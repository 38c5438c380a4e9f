//! Metrics of processes with control sockets, in the text formats of Prometheus.

pub mod http;
pub mod metrics;
pub mod scrape;
