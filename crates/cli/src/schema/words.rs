//! Descriptions come from the documentation of Rust types; readers of JSON know no `None`.

use schemars::Schema;
use schemars::transform::transform_subschemas;
use serde_json::Value;

/// Puts all descriptions into words of JSON.
pub(super) fn speak_json(schema: &mut Schema) {
    describe_absence(schema);
    transform_subschemas(&mut |schema: &mut Schema| speak_json(schema), schema);
}

/// What Rust calls `None` is null where a field is always there, and a missing field elsewhere.
fn describe_absence(schema: &mut Schema) {
    unlink(schema);
    let required: Vec<String> = match schema.get("required") {
        Some(Value::Array(names)) => {
            names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            let word = if required.contains(name) { "null" } else { "absent" };
            if let Some(text) = property.get_mut("description") {
                edit_text(text, |text| text.replace("`None`", word));
            }
        }
    }
    // What describes a whole type.
    if let Some(text) = schema.get_mut("description") {
        edit_text(text, |text| text.replace("`None`", "null"));
    }
}

/// Links of the documentation lead nowhere here.
fn unlink(schema: &mut Schema) {
    if let Some(text) = schema.get_mut("description") {
        edit_text(text, |text| text.replace("[`", "`").replace("`]", "`"));
    }
}

fn edit_text(value: &mut Value, edit: impl Fn(&str) -> String) {
    if let Value::String(text) = value {
        *text = edit(text);
    }
}
