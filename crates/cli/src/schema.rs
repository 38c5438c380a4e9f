//! `polypath schema`: what scenario files, traces and the JSON of each command look like.

mod words;

use clap::ValueEnum;
use polypath_apps::perf::{ClientReport, Session};
use polypath_control::message::{Answer, Line, Request};
use polypath_experiments::reproduce::{ExperimentReport, SweepRow};
use polypath_population::Record;
use polypath_population::summary::Summary;
use polypath_run::TraceLine;
use polypath_run::demo::Demo;
use polypath_run::metrics::MetricEntry;
use polypath_scenario::catalogue::PolicyInfo;
use polypath_scenario::schema::scenario_schema;
use polypath_shards::{Verified, WorkProgress};
use polypath_testbed::EmulationReport;
use polypath_why::Explanation;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::args::Subject;
use crate::control::Overview;
use crate::doctor::DoctorJson;
use crate::failure::Failure;
use crate::forward::ForwardJson;
use crate::keys::IdJson;
use crate::shards::{PlanJson, WorkerJson};
use crate::transfer::{TransferJson, TransferListing};
use crate::{compare, cross_check, examples, output, simulate};

/// What a client prints when its test is over, or a server for each of its sessions, a line each.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, clippy::large_enum_variant, reason = "it only has a schema")]
enum Perf {
    Client(ClientReport),
    Server(Session),
}

/// What came of a transfer; what would be sent with --dry-run.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it only has a schema")]
enum Send<'a> {
    Transfer(TransferJson<'a>),
    Listing(TransferListing),
}

/// What all draws say together; one of them with --draw.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it only has a schema")]
enum Population {
    All(Summary),
    One(Record),
}

/// What was found of each scenario; of draws with --draws.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "it only has a schema")]
enum CrossCheck<'a> {
    Scenarios(Vec<cross_check::Report<'a>>),
    Draws(cross_check::draws::Report),
}

pub(crate) fn print_schema(of: Subject) -> Result<(), Failure> {
    output::print_text(&of.schema_text())
}

impl Subject {
    /// The schema as text, with a newline at the end. The folder `schema` holds all of them.
    fn schema_text(self) -> String {
        let Some(mut schema) = self.output_schema() else { return scenario_schema() };
        schema.insert("title".to_owned(), self.title().into());
        words::speak_json(&mut schema);
        // A schema is plain JSON, which always has a text.
        serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
    }

    fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }

    fn title(self) -> String {
        match self {
            Self::Trace => "A line of polypath --trace".to_owned(),
            Self::ControlRequest => "A line to a control socket of polypath".to_owned(),
            Self::Plan => "--plan DIR --json".to_owned(),
            Self::Watch => "polypath sweep --watch DIR --json".to_owned(),
            _ => format!("polypath {} --json", self.name()),
        }
    }

    /// Nothing for what is read, not written.
    fn output_schema(self) -> Option<Schema> {
        Some(match self {
            Self::Scenario => return None,
            Self::Trace => schema_of::<TraceLine<'_>>(),
            Self::Simulate => schema_of::<simulate::Report<'_>>(),
            Self::Demo => schema_of::<Demo>(),
            Self::Emulate => schema_of::<EmulationReport>(),
            Self::Perf => schema_of::<Perf>(),
            Self::Send => schema_of::<Send<'_>>(),
            Self::Receive => schema_of::<TransferJson<'_>>(),
            Self::Forward | Self::Serve => schema_of::<ForwardJson>(),
            Self::Ss => schema_of::<Overview>(),
            Self::Control => schema_of::<Line<Answer>>(),
            Self::ControlRequest => schema_of::<Line<Request>>(),
            Self::Doctor => schema_of::<DoctorJson>(),
            Self::Id => schema_of::<IdJson>(),
            Self::Reproduce => schema_of::<Vec<ExperimentReport>>(),
            Self::Sweep => schema_of::<Vec<SweepRow>>(),
            Self::Population => schema_of::<Population>(),
            Self::Plan => schema_of::<PlanJson>(),
            Self::Worker => schema_of::<WorkerJson>(),
            Self::Verify => schema_of::<Verified>(),
            Self::Watch => schema_of::<Vec<WorkProgress>>(),
            Self::Why => schema_of::<Explanation>(),
            Self::Compare => schema_of::<Vec<compare::Row<'_>>>(),
            Self::CrossCheck => schema_of::<CrossCheck<'_>>(),
            Self::Policies => schema_of::<Vec<PolicyInfo>>(),
            Self::Metrics => schema_of::<Vec<MetricEntry>>(),
            Self::Examples => schema_of::<Vec<examples::Entry>>(),
        })
    }
}

/// As it is written: a field that is always there is required.
fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}
