//! What a flow carries, and what its streams need.

use polypath_proto::{Reliability, StreamNeeds};
use polypath_scenario::units::{Delay, Rate, Size};
use polypath_scenario::{App, BesideSpec, FlowSpec, NeedsSpec, ReliabilitySpec};
use polypath_sim::spec;

pub(super) fn stream_needs(spec: &NeedsSpec) -> StreamNeeds {
    let deadline = spec.deadline.map(Delay::duration);
    StreamNeeds { service: spec.service, priority: spec.priority, deadline }
}

/// Checked: one rule at most.
pub(super) fn message_reliability(spec: Option<ReliabilitySpec>) -> Reliability {
    let spec = spec.unwrap_or_default();
    let lifetime = spec.lifetime.map(|lifetime| Reliability::Timed(lifetime.duration()));
    let limited = spec.retransmissions.map(Reliability::Limited);
    lifetime.or(limited).or(spec.priority.map(Reliability::Priority)).unwrap_or_default()
}

pub(super) fn build_beside_spec(spec: &BesideSpec) -> spec::BesideSpec {
    spec::BesideSpec {
        // Checked: up to 64 KiB.
        bytes: u32::try_from(spec.message.0).unwrap_or(u32::MAX),
        every: spec.every.0,
        unordered: spec.unordered,
        reliability: message_reliability(spec.reliability),
        needs: stream_needs(&spec.needs),
    }
}

pub(super) fn build_app_spec(flow: &FlowSpec) -> spec::AppSpec {
    // Checked scenarios have messages below 4 GiB, and the fields that their application needs.
    let bytes = |Size(bytes): Size| u32::try_from(bytes).unwrap_or(u32::MAX);
    let messages = spec::MessageSpec {
        bytes: bytes(flow.message_or_default()),
        most_bytes: flow.message_most.map(bytes),
        streams: flow.streams.unwrap_or(1),
        unordered: flow.unordered.unwrap_or(false),
    };
    let rate = flow.rate.map(|Rate(bits)| bits);
    let period = |Delay(ns): Delay| {
        if flow.fixed.unwrap_or(false) {
            spec::Period::Fixed(ns)
        } else {
            spec::Period::Exponential(ns)
        }
    };
    match flow.app {
        App::Saturated => spec::AppSpec::Saturated {
            messages,
            refill: if flow.per_stream_share.unwrap_or(false) {
                spec::Refill::Contingent
            } else if flow.per_stream_backlog.unwrap_or(false) {
                spec::Refill::LeastUnsent
            } else {
                spec::Refill::RoundRobin
            },
        },
        App::File => spec::AppSpec::File {
            content: spec::FileContent::Pattern(flow.size.unwrap_or_default().0),
            messages,
        },
        App::Cbr => spec::AppSpec::ConstantRate { messages, rate: rate.unwrap_or_default() },
        App::Onoff => spec::AppSpec::OnOff {
            messages,
            rate,
            on: period(flow.on.unwrap_or_default()),
            off: period(flow.off.unwrap_or_default()),
        },
        App::Request => spec::AppSpec::RequestResponse {
            request_bytes: messages.bytes,
            response_bytes: bytes(flow.response.unwrap_or_default()),
            think: flow.think.unwrap_or_default().0,
            count: flow.count,
        },
    }
}
