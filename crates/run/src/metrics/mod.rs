//! The numbers that the result of a simulated run has: what each is called, what it is measured
//! in, what it tells, and how it is computed. Tables, sweeps, claims, `polypath metrics` and
//! `docs/reference/metrics.md` come from this registry.
//!
//! A metric is one entry of a list: [`all_metrics`] gives them, [`find_metric`] looks one up by the
//! name that it has in a run, [`metric_names`] says which ones the runs of a scenario have, and
//! [`compute_metrics`] computes them.
//!
//! ```
//! use polypath_run::metrics::{Needs, Unit, find_metric};
//!
//! let delay = find_metric("delay.stream.1.p95").expect("messages have delays");
//! assert_eq!(delay.name, "delay[.stream.{stream}].p95");
//! assert_eq!((delay.unit, delay.needs()), (Unit::Time, Needs::Result));
//! assert_eq!(delay.unit.format_value(0.0123), "12.3 ms");
//! ```

mod bounds;
mod flow;
mod flow_bounds;
mod link;
mod metric;
mod number;
mod pattern;
mod probe;
mod reference;
mod registry;
mod sampled;
mod shape;
mod time_series;
mod traced;
mod unit;
mod values;

pub use metric::{Metric, Needs};
pub use probe::Probe;
pub use reference::{MetricEntry, list_metrics, metrics_markdown, metrics_text};
pub use registry::{all_metrics, find_metric, metric_unit};
pub use unit::{Unit, format_digits, format_pair};
pub use values::{MetricValues, compute_metrics, metric_exists, metric_names};
