//! The native half of the Python package `polypath`; `python/polypath` is the other one, and says
//! what all of it means to Python.
//!
//! Runs happen on threads of their own with the interpreter released; the calling thread listens
//! for Ctrl-C meanwhile. A path scheduler in Python is called with the interpreter attached, so
//! runs with one are made one after the other.

mod command;
mod conformance;
mod errors;
mod execute;
mod failure;
mod gate;
mod gym;
mod net;
mod own;
mod population;
mod result;
mod scenario;
mod scheduler;
mod shards;
mod sweep;

use pyo3::prelude::*;

/// As the command has it: packets and messages come and go all the time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native half of polypath.
#[pymodule]
mod _polypath {
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::conformance::broken_rule;
    #[pymodule_export]
    use crate::errors::{PolicyError, ScenarioError};
    #[pymodule_export]
    use crate::gym::{Worlds, figure_names};
    #[pymodule_export]
    use crate::net::{
        Association, Closed, ConnectError, Endpoint, Events, Operation, Stack, UntrustedPeer,
        Wakeups, connect, identity, leave, listen, remember,
    };
    #[pymodule_export]
    use crate::population::{all_round_schedulers, draw_network, run_population};
    #[pymodule_export]
    use crate::result::Result;
    #[pymodule_export]
    use crate::scenario::{Scenario, scheduler_names};
    #[pymodule_export]
    use crate::scheduler::{Chunk, PathView, View, record_fields};
    #[pymodule_export]
    use crate::shards::{Plan, ShardDone, join_runs, plan_sweep};
    #[pymodule_export]
    use crate::sweep::{mean_intervals, run_sweep};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::gate::watch_forks(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
