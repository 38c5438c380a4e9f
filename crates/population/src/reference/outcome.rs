//! What one run of a draw came to.

use polypath_run::{Recording, RunError, RunResult, run};
use polypath_scenario::{App, BesideSpec, Scenario};
use polypath_sim::results::{Delivered, FlowResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::application::Application;

/// What a run came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// More is better: payload bit/s that arrived; of requests, responses per second.
    pub performance: f64,
    /// s that all but one message in a hundred took at most; of requests, from the request to the
    /// end of its response. Only where lateness is what counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
}

impl Outcome {
    /// What a run of this scenario came to.
    pub fn of_run(scenario: &Scenario, application: Application, result: &RunResult) -> Self {
        let begin = scenario.flow.first().and_then(|flow| flow.send_at).unwrap_or_default().0;
        result.flows.first().map_or_else(Self::default, |flow| Self {
            performance: round_to_thousandth(
                performance(application, flow, result, begin).min(source_rate(scenario)),
            ),
            p99: application.is_latency_bound().then(|| p99(application, flow)).flatten(),
        })
    }
}

/// Runs a draw's scenario with its own seed.
pub(crate) fn run_scenario(
    scenario: &Scenario,
    application: Application,
) -> Result<Outcome, RunError> {
    let result = run(scenario, scenario.seeds.first, Recording::default(), &mut |_done| ())?;
    Ok(Outcome::of_run(scenario, application, &result))
}

/// Three decimals: so many digits are read back from a record to the bit.
pub(crate) fn round_to_thousandth(value: f64) -> f64 {
    (1e3 * value).round() / 1e3
}

fn performance(application: Application, flow: &FlowResult, run: &RunResult, begin: u64) -> f64 {
    match application {
        Application::File => file_rate(flow, run, begin),
        Application::Requests => flow.responses.map_or(0.0, |answered| {
            answered.messages as f64 / (run.measured as f64 * 1e-9).max(f64::MIN_POSITIVE)
        }),
        Application::Paced | Application::Bursts => due_rate(flow),
        _ => flow.total.goodput,
    }
}

/// The goodput, but no more than was handed in while it was measured: what arrives then because it
/// was late before is no merit.
fn due_rate(flow: &FlowResult) -> f64 {
    let (due, delivered) = (flow.counters.messages_accepted, flow.total.messages);
    let share = if delivered == 0 { 0.0 } else { due as f64 / delivered as f64 };
    flow.total.goodput * share.min(1.0)
}

/// What a source of constant rate hands in, bit/s, and no bound for others. One that was blocked
/// before makes up for it while it is measured, and that is no merit either.
fn source_rate(scenario: &Scenario) -> f64 {
    let flow = scenario.flow.first().filter(|flow| flow.app == App::Cbr);
    let Some((flow, rate)) = flow.and_then(|flow| Some((flow, flow.rate?))) else {
        return f64::INFINITY;
    };
    let bits = |beside: &BesideSpec| 8.0 * beside.message.0 as f64 / beside.every.as_secs_f64();
    rate.0 as f64 + flow.beside.iter().map(bits).sum::<f64>()
}

/// From when it may be sent to the last byte; of a file that is not there at the end, what is there
/// over the rest of the run.
fn file_rate(flow: &FlowResult, run: &RunResult, begin: u64) -> f64 {
    let is_whole = flow.integrity.outstanding == 0 && flow.total.bytes > 0;
    let end = flow.times.last_delivery.filter(|_| is_whole).unwrap_or(run.end);
    let begin = flow.times.established.unwrap_or_default().max(begin);
    let ns = end.saturating_sub(begin).max(1);
    flow.total.bytes as f64 * 8e9 / ns as f64
}

fn p99(application: Application, flow: &FlowResult) -> Option<f64> {
    let of = |delivered: &Delivered| Some(delivered.delay?.p99 as f64 / 1e9);
    match application {
        Application::Requests => of(flow.responses.as_ref()?),
        _ => of(&flow.total),
    }
}
