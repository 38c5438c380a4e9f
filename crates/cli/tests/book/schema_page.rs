//! A page of the reference from a JSON schema: a section for each type, a row for each field.

use std::fmt::Write as _;

use serde_json::{Map, Value};

const REFERENCE: &str = "#/$defs/";

/// The sections of a schema: its own fields first, then each type that they use, each heading below
/// `prefix`, so that the types of several schemas of one page have anchors of their own.
pub(crate) struct SchemaPage<'a> {
    pub(crate) schema: &'a Value,
    pub(crate) prefix: &'a str,
    /// Marks of the headings of types.
    pub(crate) level: &'a str,
    /// Another page and the schema that it explains: types that are the same there are left to it.
    pub(crate) elsewhere: Option<(&'a str, &'a Value)>,
}

impl SchemaPage<'_> {
    /// All of it, without a heading for the whole.
    pub(crate) fn write(&self) -> String {
        let mut page = String::new();
        self.push_type(&mut page, self.schema);
        let none = Map::new();
        let types = self.schema["$defs"].as_object().unwrap_or(&none);
        for (name, of) in types.iter().filter(|(name, of)| self.page_of(name, of).is_none()) {
            let _ = write!(page, "\n{} {}{name}\n\n", self.level, self.prefix);
            self.push_type(&mut page, of);
        }
        page
    }

    /// The other page, where that has the type.
    fn page_of(&self, name: &str, of: &Value) -> Option<&str> {
        let (page, schema) = self.elsewhere?;
        let same = schema["$defs"][name] == *of || schema["title"] == name;
        same.then_some(page)
    }

    fn push_type(&self, page: &mut String, of: &Value) {
        let text = sentence(of);
        if !text.is_empty() {
            let _ = writeln!(page, "{text}");
        }
        self.push_fields(page, of);
        for (word, describes) in [("oneOf", "One of"), ("anyOf", "One of")] {
            let Some(kinds) = of[word].as_array() else { continue };
            let _ = writeln!(page, "\n{describes}:\n");
            for kind in kinds {
                self.push_kind(page, kind);
            }
        }
    }

    /// One of several forms that a value may have: a word, another type, or fields of its own.
    fn push_kind(&self, page: &mut String, kind: &Value) {
        let tag = kind["properties"].as_object().and_then(|fields| {
            fields.iter().find_map(|(name, field)| Some((name, field["const"].as_str()?)))
        });
        let text = sentence(kind);
        let name = match tag {
            Some((name, value)) => format!("`{name}: {value}`"),
            None => self.value(kind),
        };
        let colon = if text.is_empty() { "" } else { ": " };
        let _ = writeln!(page, "- {name}{colon}{text}");
        let Some(fields) = kind["properties"].as_object() else { return };
        for (field, of) in fields.iter().filter(|(_, of)| of["const"].is_null()) {
            let _ = writeln!(page, "  - `{field}` ({}): {}", self.value(of), sentence(of));
        }
    }

    fn push_fields(&self, page: &mut String, of: &Value) {
        let Some(fields) = of["properties"].as_object() else { return };
        page.push_str("\n| field | value | what it is |\n|---|---|---|\n");
        let needed = of["required"].as_array().map_or(&[][..], Vec::as_slice);
        // What is printed has all fields; in a file, what must be there is worth a word.
        let mark = of["additionalProperties"] == Value::Bool(false);
        for (name, field) in fields {
            let must = mark && needed.iter().any(|needed| needed == name);
            let mut text = sentence(field);
            if must {
                text.push_str(" **Required.**");
            }
            if let Some(default) = default_of(field) {
                let _ = write!(text, " Default: `{default}`.");
            }
            let cell = |text: &str| text.replace('|', "\\|");
            let _ = writeln!(page, "| `{name}` | {} | {} |", cell(&self.value(field)), cell(&text));
        }
    }

    /// What a field takes, in a few words.
    fn value(&self, of: &Value) -> String {
        if let Some(name) = of["$ref"].as_str().and_then(|r| r.strip_prefix(REFERENCE)) {
            if let Some(page) = self.page_of(name, &self.schema["$defs"][name]) {
                return format!("[{name}]({page}#{})", name.to_lowercase());
            }
            let anchor = format!("{}{name}", self.prefix).to_lowercase();
            return format!("[{name}](#{})", anchor.replace(' ', "-"));
        }
        if let Some(word) = of["const"].as_str() {
            return format!("`{word}`");
        }
        if let Some(words) = of["enum"].as_array() {
            return join(words.iter().map(|word| format!("`{}`", word.as_str().unwrap_or("null"))));
        }
        for word in ["anyOf", "oneOf"] {
            if let Some(kinds) = of[word].as_array() {
                let kinds = kinds.iter().filter(|kind| kind["type"] != "null");
                return join(kinds.map(|kind| self.value(kind)));
            }
        }
        let kind = match &of["type"] {
            Value::Array(kinds) => kinds.iter().find(|k| *k != "null").unwrap_or(&Value::Null),
            kind => kind,
        };
        match kind.as_str() {
            Some("array") => format!("list of {}", self.value(&of["items"])),
            Some("object") => match &of["additionalProperties"] {
                Value::Object(_) => {
                    format!("{} by name", self.value(&of["additionalProperties"]))
                }
                _ => "fields".to_owned(),
            },
            Some("integer") => "whole number".to_owned(),
            Some("boolean") => "`true` or `false`".to_owned(),
            Some("string") => "text".to_owned(),
            Some(other) => other.to_owned(),
            None => "any".to_owned(),
        }
    }
}

/// A default that says something: the empty ones are what absence means anyway.
fn default_of(field: &Value) -> Option<String> {
    match &field["default"] {
        Value::Null => None,
        Value::Array(items) if items.is_empty() => None,
        Value::Object(fields) if fields.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name} = {value}"));
            Some(fields.collect::<Vec<_>>().join(", "))
        }
        other => Some(other.to_string()),
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    let mut parts: Vec<String> = parts.collect();
    parts.dedup();
    parts.join(", ")
}

/// The description as one line that begins and ends as a sentence.
fn sentence(of: &Value) -> String {
    let text = of["description"].as_str().unwrap_or_default();
    let text = text.split("\n\n").map(|part| part.replace('\n', " ")).collect::<Vec<_>>();
    let text = text.join(" ").trim().to_owned();
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return text };
    let end = if text.ends_with(['.', '?', '!', ':', '`']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), letters.as_str())
}
