//! Delivery traces by the names of their files.

use std::borrow::Cow;
use std::path::Path;

use polypath_link::DeliveryTrace;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::store::Key;

/// A delivery trace in Mahimahi's format, by the name of its file. Scenarios from a [`Source`](super::Source) have it loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct TraceFile {
    name: String,
    content: Option<Content>,
}

#[derive(Clone, Debug, PartialEq)]
struct Content {
    trace: DeliveryTrace,
    digest: Key,
}

impl TraceFile {
    /// The file's name as the scenario has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file says; `None` before it is loaded.
    pub fn trace(&self) -> Option<&DeliveryTrace> {
        self.content.as_ref().map(|content| &content.trace)
    }

    /// A name for what the file holds, for two files of one name are not one trace.
    pub(crate) fn digest(&self) -> String {
        self.content.as_ref().map_or_else(String::new, |content| content.digest.to_string())
    }

    /// Reads the file, relative to `folder`; a problem in its text names the line.
    pub(crate) fn load(&mut self, folder: &Path) -> Result<(), String> {
        let text = std::fs::read_to_string(folder.join(&self.name));
        let text = text.map_err(|error| {
            format!("cannot be read: {error} (allowed: a file, relative to the scenario's folder)")
        })?;
        let trace = DeliveryTrace::parse(&text).map_err(|error| error.to_string())?;
        self.content = Some(Content { trace, digest: Key::of(text.as_bytes()) });
        Ok(())
    }
}

impl From<String> for TraceFile {
    fn from(name: String) -> Self {
        Self { name, content: None }
    }
}

impl From<TraceFile> for String {
    fn from(file: TraceFile) -> Self {
        file.name
    }
}

impl JsonSchema for TraceFile {
    fn schema_name() -> Cow<'static, str> {
        "TraceFile".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "a file's name, relative to the scenario file's folder",
        })
    }
}
