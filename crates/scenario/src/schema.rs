//! The JSON schema of scenario files, for editors.

use crate::scenario::Scenario;

/// The schema as text, with a newline at the end. `schema/scenario.schema.json` holds it.
pub fn scenario_schema() -> String {
    let schema = schemars::schema_for!(Scenario);
    // A schema is plain JSON, which always has a text.
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// `UPDATE_SCHEMA=1 cargo test -p polypath-scenario schema` writes it anew.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test keeps the committed file")]
    fn the_committed_schema_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema/scenario.schema.json");
        if std::env::var_os("UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, super::scenario_schema()).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap();
        assert!(committed == super::scenario_schema(), "run with UPDATE_SCHEMA=1 and commit");
    }
}
