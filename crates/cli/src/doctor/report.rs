//! What `doctor` prints.

use polypath_apps::doctor::{Finding, Mark, PathReport};
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;
use crate::output;

/// What `--json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorJson {
    /// The server, as the user named it.
    pub(super) to: String,
    /// Every path that was named.
    pub(super) paths: Vec<PathReport>,
    /// What is so, a line each.
    pub(super) findings: Vec<Finding>,
}

impl DoctorJson {
    /// As JSON, or as lines.
    pub(super) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return output::print_json(self);
        }
        // Whatever its length: a line is what `grep` finds.
        output::print_text(&self.findings.iter().map(write_line).collect::<String>())
    }
}

fn write_line(finding: &Finding) -> String {
    let Finding { mark, path, what, remedy, .. } = finding;
    let mark = match mark {
        Mark::Ok => "ok",
        Mark::Warn => "warn",
        Mark::Fail => "FAIL",
    };
    let path = path.as_ref().map_or(String::new(), |path| format!("{path}: "));
    let remedy = remedy.as_ref().map_or(String::new(), |remedy| format!("; {remedy}"));
    format!("{mark:<4}  {path}{what}{remedy}\n")
}

#[cfg(test)]
mod tests {
    use polypath_apps::doctor::About;

    use super::*;

    #[test]
    fn a_finding_is_a_line() {
        let mut finding = Finding {
            mark: Mark::Fail,
            about: About::Route,
            path: Some("eth0 -> 192.0.2.5".into()),
            what: "no route".into(),
            remedy: Some("make one".into()),
        };
        assert_eq!(write_line(&finding), "FAIL  eth0 -> 192.0.2.5: no route; make one\n");
        (finding.mark, finding.path, finding.remedy) = (Mark::Ok, None, None);
        assert_eq!(write_line(&finding), "ok    no route\n");
    }
}
