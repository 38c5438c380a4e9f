//! Delivery traces by the names of their files.

use std::borrow::Cow;
use std::path::Path;

use polypath_link::DeliveryTrace;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::files::Files;

/// A delivery trace in Mahimahi's format, by the name of its file. Scenarios from a
/// [`Source`](super::Source) have it loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct TraceFile {
    name: String,
    content: Option<Content>,
}

#[derive(Clone, Debug, PartialEq)]
struct Content {
    trace: DeliveryTrace,
    digest: String,
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
    pub fn digest(&self) -> String {
        self.content.as_ref().map_or_else(String::new, |content| content.digest.clone())
    }

    /// Asks `files` for the text, relative to `folder`; a problem in it names the line.
    pub(crate) fn load_text(&mut self, files: &dyn Files, folder: &Path) -> Result<(), String> {
        let text = files.text(&folder.join(&self.name));
        let text = text.map_err(|error| {
            format!("cannot be read: {error} (allowed: a file, relative to the scenario's folder)")
        })?;
        let trace = DeliveryTrace::parse(&text).map_err(|error| error.to_string())?;
        self.content = Some(Content { trace, digest: digest_text(text.as_bytes()) });
        Ok(())
    }
}

/// The first half of the SHA-256 of a text, in hexadecimal.
fn digest_text(text: &[u8]) -> String {
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
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
