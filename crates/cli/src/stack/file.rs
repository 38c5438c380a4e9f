//! Settings of the stack by the names that they have in scenarios, from a file and from arguments.

use std::path::Path;

use polypath_experiments::disk::source_from_text;
use polypath_net::Profile;
use polypath_scenario::profile::{BEHIND_STACK, Layers, Stack};
use polypath_scenario::{Assignment, ScenarioError, Source};
use toml::{Table, Value};

use crate::failure::Failure;

/// A stack that is being put together: what is set later wins.
#[derive(Debug)]
pub(super) struct Settings {
    source: Source,
}

impl Settings {
    /// Those of a file: a scenario, or its table `[stack]` alone. Without a file only `profile`
    /// counts, as it does for a file that names none.
    pub(super) fn read(file: Option<&Path>, profile: Profile) -> Result<Self, Failure> {
        let (name, text) = match file {
            None => (String::new(), String::new()),
            Some(file) => {
                let name = file.display().to_string();
                let text = std::fs::read_to_string(file);
                let unread =
                    |error| ScenarioError::of_file(&name, format!("cannot be read: {error}"));
                let text = text.map_err(unread)?;
                (name, text)
            }
        };
        let table = text.parse::<Table>().unwrap_or_default();
        let is_alone = table.keys().all(|key| key == "stack");
        // Behind it, so that its lines keep their numbers.
        let text = if is_alone { format!("{text}{BEHIND_STACK}") } else { text };
        let mut settings = Self { source: source_from_text(name, text)? };
        if table.get("stack").and_then(|stack| stack.get("profile")).is_none() {
            settings.set("--profile", "stack.profile", profile.name())?;
        }
        Ok(settings)
    }

    /// Sets `field` on behalf of the argument `origin`, which messages name.
    pub(super) fn set(&mut self, origin: &str, field: &str, value: &str) -> Result<(), Failure> {
        let assignment = Assignment::new(field, Value::String(value.to_owned()));
        Ok(self.source.set_by(origin, &assignment)?)
    }

    /// Sets a field as `--set` names it: with or without `stack.` before it.
    pub(super) fn assign(&mut self, text: &str) -> Result<(), Failure> {
        let is_whole = text.starts_with("stack.");
        let text = if is_whole { text.to_owned() } else { format!("stack.{text}") };
        Ok(self.source.set_field(&text.parse()?)?)
    }

    /// The stack of the end that sends, and the profile that it starts from.
    pub(super) fn stack(&self) -> Result<(Stack, Profile), Failure> {
        let scenario = self.source.parse_scenario()?;
        let layers = Layers::for_flow(&scenario, 0);
        let [profile, _] = layers.profiles();
        Ok((layers.sender(), profile))
    }
}
