//! The other path schedulers.

use polypath_policies::profile::Profile;
use polypath_policies::{PolicyKind, PolicySpec, Registry, all};

/// A name that is no path scheduler.
#[derive(Debug, thiserror::Error)]
#[error("--schedulers {name}: {problem}")]
pub struct SchedulerError {
    name: String,
    problem: String,
}

/// Without a map of streams to paths, and without weights, they say nothing that a user would want.
const NEED_SETTINGS: [&str; 2] = ["fixed", "weighted"];

/// The path scheduler of profile `fast`, which is measured.
pub fn own_scheduler() -> String {
    Profile::Fast.stack().1.path_scheduler
}

/// Every other path scheduler that makes sense on any number of paths without a setting.
pub fn other_schedulers() -> Vec<String> {
    let registry = Registry::builtin();
    let own = own_scheduler();
    let named = all().iter().filter(|entry| entry.kind == PolicyKind::PathScheduler);
    let names = named.map(|entry| entry.name.to_owned());
    let makes_sense = |name: &String| !NEED_SETTINGS.contains(&name.as_str()) && *name != own;
    names.filter(|name| makes_sense(name) && registry.path_scheduler(name).is_ok()).collect()
}

/// Whether `name` is a path scheduler, with its options.
///
/// # Errors
/// When it is not, with what is allowed.
pub fn check_scheduler(name: &str, policies: &Registry) -> Result<(), SchedulerError> {
    let spec = PolicySpec { path_scheduler: name.to_owned(), ..PolicySpec::default() };
    let refused = policies.factory(&spec).err().map(|error| error.to_string());
    refused.map_or(Ok(()), |problem| Err(SchedulerError { name: name.to_owned(), problem }))
}
