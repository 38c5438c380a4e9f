//! The limit of a draw, where one is defined.

use polypath_run::{limit, world_spec};
use polypath_scenario::units::{Packets, QueueSize, Size};
use polypath_scenario::{Direction, LinkSettings, PathSpec, Scenario};

use crate::application::Application;
use crate::draw::Draw;
use crate::feature::Feature;
use crate::generate::length::{LEAST_ROUND_TRIPS, LEAST_TIME};

/// Bits of a full packet.
const PACKET_BITS: f64 = 12_000.0;
/// A queue shorter than this share of its path's bandwidth-delay product empties while windows that
/// were halved grow again, whoever schedules.
const LEAST_QUEUE: f64 = 0.5;
/// With fewer packets of buffer per path a loss leaves nothing to be seen behind it.
const LEAST_BUFFER: f64 = 4.0;
/// Settling times are written with three digits.
const ROUNDING: f64 = 0.99;

/// What the network admits, payload bit/s. `None` where that is not defined: the application does
/// not always have something to send, has messages of two sizes, the network loses packets or
/// changes, a queue or the buffer is too small, or the run settles too shortly.
pub fn limit_of_draw(draw: &Draw) -> Option<f64> {
    if !is_defined(draw) {
        return None;
    }
    let scenario = &draw.scenario;
    let world = world_spec(scenario, false).ok()?;
    let limits = limit::of_world(&world, scenario.seeds.first).flows.into_iter().next()?.ok()?;
    Some(match draw.application {
        Application::OneStream => limits.ordered,
        _ => limits.free,
    })
}

fn is_defined(draw: &Draw) -> bool {
    let scenario = &draw.scenario;
    draw.application.is_saturated()
        && !draw.features.iter().any(|feature| is_obstacle(*feature))
        && scenario.path_names().all(|path| has_queues(scenario, path))
        && has_buffer(scenario)
        && settles_long(scenario)
}

fn is_obstacle(feature: Feature) -> bool {
    feature.loses_packets() || feature.changes_network() || feature == Feature::UnequalMessages
}

fn links<'a>(scenario: &'a Scenario, path: &'a str) -> impl Iterator<Item = &'a PathSpec> {
    let names = scenario.links_of(path).into_iter();
    names.filter_map(|name| scenario.path.get(name).or_else(|| scenario.link.get(name)))
}

/// Propagation there and back, s.
fn round_trip(scenario: &Scenario, path: &str) -> f64 {
    let delay = |link: &PathSpec| link.delay.unwrap_or_default().as_secs_f64();
    2.0 * links(scenario, path).map(delay).sum::<f64>()
}

fn has_queues(scenario: &Scenario, path: &str) -> bool {
    let forward: Vec<LinkSettings> =
        links(scenario, path).map(|link| link.one_way(Direction::Forward)).collect();
    let rates = forward.iter().filter_map(|link| link.rate);
    let rate = rates.map(|rate| rate.0 as f64).fold(f64::INFINITY, f64::min);
    let product = rate * round_trip(scenario, path) / PACKET_BITS;
    forward.iter().all(|link| queued_packets(link) >= LEAST_QUEUE * product)
}

/// Packets that a queue holds before it drops all; RED does from its upper threshold on.
fn queued_packets(link: &LinkSettings) -> f64 {
    let queue = link.queue.and_then(QueueSize::packets);
    let Packets(packets) = link.red.map(|red| red.max).or(queue).unwrap_or_default();
    packets as f64
}

fn has_buffer(scenario: &Scenario) -> bool {
    let Size(buffer) = scenario.stack.receive_buffer.unwrap_or_default();
    let paths = scenario.path_names().count() as f64;
    8.0 * buffer as f64 >= LEAST_BUFFER * PACKET_BITS * paths
}

fn settles_long(scenario: &Scenario) -> bool {
    let longest = scenario.path_names().map(|path| round_trip(scenario, path));
    let longest = longest.fold(0.0, f64::max);
    let settle = scenario.time.settle.unwrap_or_default().as_secs_f64();
    settle >= ROUNDING * (LEAST_ROUND_TRIPS * longest).max(LEAST_TIME)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::draw::Population;

    /// Enough of each application that a thousand draws say how near it comes to its limit.
    #[test]
    fn an_eighth_of_draws_have_a_limit() {
        const DRAWS: usize = 1_000;
        let population = Population { seed: 1, packets: 400_000 };
        let mut defined: BTreeMap<Application, usize> = BTreeMap::new();
        for number in 0..DRAWS as u64 {
            let draw = population.draw(number).unwrap();
            *defined.entry(draw.application).or_default() += usize::from(is_defined(&draw));
        }
        let all: usize = defined.values().sum();
        assert!(all * 8 >= DRAWS, "{defined:?}");
        for one in Application::ALL.into_iter().filter(|one| one.is_saturated()) {
            assert!(defined[&one] * 40 >= DRAWS, "{defined:?}");
        }
    }
}
