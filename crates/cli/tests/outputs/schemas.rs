//! `polypath schema`: there is one of all JSON, the folder `schema` has it, and it explains all.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::help::commands;
use crate::stage::Stage;

/// What is not the JSON of a command, or not of a command alone.
const OTHERS: [&str; 5] = ["scenario", "trace", "plan", "watch", "control-request"];

/// Everything that has a schema.
fn subjects(stage: &Stage) -> Vec<String> {
    let told = stage.piped("schema nothing").talk;
    let (_, allowed) = told.split_once("(allowed: ").unwrap();
    let (allowed, _) = allowed.split_once(')').unwrap();
    allowed.split(", ").map(str::to_owned).collect()
}

fn committed(subject: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
    folder.join(format!("{subject}.schema.json"))
}

/// `UPDATE_SCHEMA=1 cargo test -p polypath-cli --test outputs schemas` writes them anew.
#[test]
fn the_committed_schemas_are_up_to_date() {
    let stage = Stage::new();
    for subject in subjects(&stage) {
        let printed = stage.done(&format!("schema {subject}"));
        let path = committed(&subject);
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &printed).unwrap();
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(there == printed, "{subject}: run with UPDATE_SCHEMA=1 and commit");
    }
}

#[test]
fn every_command_with_json_has_a_schema_and_nothing_else_has() {
    let stage = Stage::new();
    let mut with_json = commands(&stage);
    // Its output is a schema.
    with_json.retain(|name| name != "schema");
    with_json.retain(|name| stage.done(&format!("{name} --help")).contains("--json"));
    with_json.extend(OTHERS.map(str::to_owned));
    let mut subjects = subjects(&stage);
    with_json.sort();
    subjects.sort();
    assert_eq!(subjects, with_json);
    assert_eq!(stage.done("schema"), stage.done("schema scenario"));
}

/// Calls `see` with every field of a schema, and the object that has it.
fn see_fields(schema: &Value, see: &mut impl FnMut(&str, &Value, &Value)) {
    match schema {
        Value::Object(object) => {
            let properties = object.get("properties").and_then(Value::as_object);
            for (name, field) in properties.into_iter().flatten() {
                see(name, field, schema);
            }
            object.values().for_each(|inner| see_fields(inner, see));
        }
        Value::Array(inner) => inner.iter().for_each(|inner| see_fields(inner, see)),
        _ => {}
    }
}

#[test]
fn every_field_is_described_in_words_of_json() {
    let stage = Stage::new();
    for subject in subjects(&stage) {
        let text = stage.done(&format!("schema {subject}"));
        let schema: Value = serde_json::from_str(&text).unwrap();
        let mut fields = 0;
        see_fields(&schema, &mut |name, field, object| {
            fields += 1;
            // A constant tells variants apart, as the only field does; the variant is described.
            let only = object["properties"].as_object().is_some_and(|fields| fields.len() == 1);
            let tells = field["const"].is_string() || only && object["description"].is_string();
            let described = field["description"].is_string() || tells;
            assert!(described, "{subject}: {name}: {field}");
        });
        assert!(fields > 0, "{subject}");
        if !OTHERS[..1].contains(&subject.as_str()) {
            for word in ["`None`", "`Some", "[`", "Self::"] {
                assert!(!text.contains(word), "{subject}: {word}");
            }
        }
    }
}
