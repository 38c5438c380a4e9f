//! The stack of one end: a profile, fields of `[stack]` as scenarios name them, a scheduler.

use std::sync::Arc;

use polypath_apps::buffers::{BUFFERS, buffer_out_of_range};
use polypath_apps::place;
use polypath_experiments::disk::source_from_text;
use polypath_net::{AssocConfig, Profile, StallDetectionConfig};
use polypath_scenario::profile::{BEHIND_STACK, Layers};
use polypath_scenario::units::Size;
use polypath_scenario::{Assignment, Source};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use toml::Value;

use crate::errors::bad_scenario;
use crate::failure::Failure;
use crate::own::OwnSchedulers;
use crate::scenario::Scenario;

/// Settings of associations.
#[pyclass(frozen, module = "polypath.net")]
#[derive(Debug)]
pub(crate) struct Stack {
    source: Source,
    own: OwnSchedulers,
}

#[pymethods]
impl Stack {
    /// The profile of this name with fields on top; `scheduler` is a name, or what makes one.
    #[new]
    fn new(
        profile: &str,
        settings: Option<&Bound<'_, PyDict>>,
        scheduler: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let source = source_from_text("", BEHIND_STACK).map_err(bad_scenario)?;
        let mut stack = Self { source, own: OwnSchedulers::default() };
        stack.set("profile", "profile", profile.into())?;
        for (field, value) in settings.into_iter().flatten() {
            let field = field.str()?.to_string().replace('_', "-");
            let value = Scenario::to_toml(&mut stack.own, &value)?;
            stack.set("settings", &field, value)?;
        }
        if let Some(scheduler) = scheduler {
            let name = stack.own.name_of(scheduler)?;
            stack.set("scheduler", "path-scheduler", name.into())?;
        }
        stack.make(&Failure::default())?;
        Ok(stack)
    }
}

impl Stack {
    fn set(&mut self, origin: &str, field: &str, value: Value) -> PyResult<()> {
        let assignment = Assignment::new(&format!("stack.{field}"), value);
        self.source.set_by(origin, &assignment).map_err(bad_scenario)
    }

    /// Settings of associations whose own schedulers note there what they raise.
    pub(super) fn make(&self, failure: &Failure) -> PyResult<Arc<AssocConfig>> {
        let source = self.source.clone().with_policies(self.own.policies(failure));
        let scenario = source.parse_scenario().map_err(bad_scenario)?;
        let layers = Layers::for_flow(&scenario, 0);
        let [profile, _] = layers.profiles();
        let stack = layers.sender();
        let policies = stack.policy_factory().map_err(bad_scenario)?;
        let mut assoc = AssocConfig { policies, ..stack.assoc };
        limit_buffers(&mut assoc, profile)?;
        // Whoever listens to events wants to be told.
        assoc.stall_detection = Some(StallDetectionConfig::default());
        place::let_addresses_change(profile, &mut assoc);
        Ok(Arc::new(assoc))
    }
}

fn limit_buffers(assoc: &mut AssocConfig, profile: Profile) -> PyResult<()> {
    // The send buffer of ns-2 has no end.
    if profile.is_reproduction() {
        assoc.send_buffer = assoc.send_buffer.min(*BUFFERS.end());
    }
    let wrong = buffer_out_of_range(assoc).map(|(name, size)| {
        let text = format!("settings: {name} = {} (allowed: 16KiB to 1024MiB)", Size(size));
        PyValueError::new_err(text)
    });
    wrong.map_or(Ok(()), Err)
}
