//! Associations: their ends, their paths, and what they carry.

use core::net::IpAddr;
use std::sync::Arc;

use polypath_policies::PolicyError;
use polypath_proto::config::{AssocConfig, PathPairing};
use polypath_scenario::profile::{Layers, Stack};
use polypath_scenario::units::{Delay, Rate};
use polypath_scenario::{Direction, FlowSpec, LinkSettings, Scenario, ServerAddresses};
use polypath_sim::spec;

use super::app::{build_app_spec, build_beside_spec, message_reliability, stream_needs};
use super::places::{data_direction, flow_path_names, path_addresses};

/// The first flow's ports; each flow takes two.
const FIRST_PORT: u16 = 5_000;

pub(super) fn build_flow_spec(
    scenario: &Scenario,
    n: usize,
    trace: bool,
) -> Result<spec::FlowSpec, PolicyError> {
    // `n` counts the scenario's flows.
    let flow = &scenario.flow[n];
    let layers = Layers::for_flow(scenario, n);
    let end = |port, stack: Stack| {
        let stack = with_oracle(stack, scenario, flow);
        Ok(spec::EndSpec { port, assoc: build_assoc_config(flow, stack, trace)? })
    };
    // Two ports per flow; more than 30,000 flows would wrap, and the world's own check refuses
    // that.
    let port = FIRST_PORT.wrapping_add(u16::try_from(2 * n).unwrap_or(u16::MAX));
    let open = flow.start.unwrap_or_default().0;
    let jitter = flow.jitter.unwrap_or_default().0;
    Ok(spec::FlowSpec {
        client: end(port, layers.sender())?,
        server: end(port.wrapping_add(1), layers.receiver())?,
        pairing: match scenario.endpoints.server_addresses {
            ServerAddresses::PerPath => PathPairing::Index,
            ServerAddresses::One => PathPairing::Mesh,
        },
        encapsulation: scenario.endpoints.encapsulation,
        connect_at: open,
        connect_jitter: if flow.send_at.is_none() { jitter } else { 0 },
        start_at: flow.send_at.map_or(open, |Delay(ns)| ns),
        start_jitter: if flow.send_at.is_some() { jitter } else { 0 },
        reader: spec::ReaderSpec {
            rate: flow.read_rate.map(|Rate(bits)| bits),
            ..spec::ReaderSpec::default()
        },
        trace,
        needs: stream_needs(&flow.needs.unwrap_or_default()),
        reliability: message_reliability(flow.reliability),
        beside: flow.beside.iter().map(build_beside_spec).collect(),
        ..spec::FlowSpec::new(
            scenario.flow_name(n),
            flow_paths(scenario, flow),
            build_app_spec(flow),
        )
    })
}

/// Address pairs of the flow's paths; the sender opens the association.
fn flow_paths(scenario: &Scenario, flow: &FlowSpec) -> Vec<(IpAddr, IpAddr)> {
    let number = |name| scenario.path_names().position(|known| known == name);
    let pair = |path| {
        let (client, server) = path_addresses(scenario, path);
        match data_direction(flow) {
            Direction::Forward => (client, server),
            Direction::Reverse => (server, client),
        }
    };
    flow_path_names(scenario, flow).filter_map(number).map(pair).collect()
}

/// RTX-LOSSRATE is an oracle: where its rates are not given, it knows what the scenario says of the
/// paths, client to server.
fn with_oracle(mut stack: Stack, scenario: &Scenario, flow: &FlowSpec) -> Stack {
    if stack.policies.retransmission == "lossrate" {
        let rates: Vec<String> = flow_path_names(scenario, flow)
            .map(|name| forward_loss(scenario, name).to_string())
            .collect();
        stack.policies.retransmission = format!("lossrate?rates={}", rates.join(","));
    }
    stack
}

fn forward_loss(scenario: &Scenario, name: &str) -> f64 {
    let of = |settings: LinkSettings| settings.loss.map_or(0.0, |loss| loss.as_f64());
    let own = scenario.path.get(name).map(|spec| spec.one_way(Direction::Forward));
    own.map_or(0.0, of)
}

fn build_assoc_config(
    flow: &FlowSpec,
    stack: Stack,
    trace: bool,
) -> Result<Arc<AssocConfig>, PolicyError> {
    let policies = stack.policy_factory()?;
    let streams = flow.stream_count();
    Ok(Arc::new(AssocConfig {
        outbound_streams: stack.assoc.outbound_streams.max(streams),
        inbound_streams: stack.assoc.inbound_streams.max(streams),
        policies,
        trace,
        ..stack.assoc
    }))
}
