//! From the settings of links to links.

use polypath_link as link;
use polypath_scenario::units::{Delay, Packets, QueueSize, Rate, Size};
use polypath_scenario::{Direction, JitterShape, LinkSettings, LossPlace, PathSpec, Scenario};
use polypath_sim::spec;

use super::changes;
use super::places::{directed_name, edge_name};

/// ns-2's and the papers' usual order of magnitude.
const DEFAULT_QUEUE: u32 = 100;

pub(super) fn build_link_specs(
    scenario: &Scenario,
    name: &str,
    spec: &PathSpec,
) -> Vec<spec::LinkSpec> {
    let mut links = Vec::new();
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut config = link_config(&spec.one_way(direction));
        config.schedule = changes::build_link_schedule(scenario, name, direction);
        links.push(spec::LinkSpec { name: directed_name(name, direction), config });
        if let Some(settings) = &spec.edge {
            for side in ["client", "server"] {
                let name = directed_name(&edge_name(name, side), direction);
                links.push(spec::LinkSpec { name, config: link_config(settings) });
            }
        }
    }
    links
}

fn link_config(settings: &LinkSettings) -> link::LinkConfig {
    link::LinkConfig {
        rate: settings.rate.map(|Rate(bits)| bits),
        trace: delivery_trace(settings),
        mtu: settings.mtu.map(|Size(bytes)| u32::try_from(bytes).unwrap_or(u32::MAX)),
        delay: settings.delay.unwrap_or_default().0,
        jitter: settings.jitter.map(|Delay(max)| link::Jitter {
            max,
            shape: match settings.jitter_shape.unwrap_or(JitterShape::Uniform) {
                JitterShape::Uniform => link::JitterShape::Uniform,
                JitterShape::HalfNormal => link::JitterShape::HalfNormal,
            },
            reorder: settings.reorder.unwrap_or(false),
        }),
        queue: build_queue(settings),
        loss: build_loss_models(settings),
        loss_at: match settings.loss_at.unwrap_or(LossPlace::Entry) {
            LossPlace::Entry => link::LossAt::Entry,
            LossPlace::Exit => link::LossAt::Exit,
        },
        schedule: Vec::new(),
    }
}

/// The delivery trace, from where the run begins in it.
fn delivery_trace(settings: &LinkSettings) -> Option<link::DeliveryTrace> {
    let trace = settings.trace.as_ref()?.trace()?;
    Some(
        settings.trace_start.map_or_else(|| trace.clone(), |Delay(start)| trace.starting_at(start)),
    )
}

/// What the link sends in `time`, but at least a packet: with less room nothing could ever wait.
fn room_for(settings: &LinkSettings, Delay(time): Delay) -> u64 {
    let traced = || delivery_trace(settings).map_or(0, |trace| trace.mean_rate());
    let rate = settings.rate.map_or_else(traced, |Rate(bits)| bits);
    let bytes = u128::from(rate) * u128::from(time) / 8_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX).max(1_500)
}

fn build_queue(settings: &LinkSettings) -> link::Queue {
    let limit = |Packets(packets): Packets| u32::try_from(packets).unwrap_or(u32::MAX);
    if let Some(red) = settings.red {
        let default = link::RedConfig::default();
        return link::Queue::Red(link::RedConfig {
            min_packets: f64::from(limit(red.min)),
            max_packets: f64::from(limit(red.max)),
            max_p: red.probability.as_f64(),
            weight: red.weight.map_or(default.weight, |weight| weight.as_f64()),
            limit_packets: match settings.queue {
                Some(QueueSize::Unlimited) => u32::MAX,
                queue => queue.and_then(QueueSize::packets).map_or(DEFAULT_QUEUE, limit),
            },
        });
    }
    match settings.queue {
        None => link::Queue::DropTailPackets(DEFAULT_QUEUE),
        Some(QueueSize::Unlimited) => link::Queue::Unlimited,
        Some(QueueSize::Packets(packets)) => link::Queue::DropTailPackets(limit(packets)),
        Some(QueueSize::Bytes(Size(bytes))) => link::Queue::DropTailBytes(bytes),
        Some(QueueSize::Time(time)) => link::Queue::DropTailBytes(room_for(settings, time)),
    }
}

fn build_loss_models(settings: &LinkSettings) -> Vec<link::LossModel> {
    let bernoulli = settings.loss.map(|loss| link::LossModel::Bernoulli(loss.as_f64()));
    let bits = settings.bit_errors.map(|errors| link::LossModel::BitError(errors.as_f64()));
    let bursts = settings.bursts.map(|bursts| link::LossModel::GilbertElliott {
        p_good_to_bad: bursts.to_bad.as_f64(),
        p_bad_to_good: bursts.to_good.as_f64(),
        loss_good: bursts.loss_good.as_f64(),
        loss_bad: bursts.loss_bad.as_f64(),
    });
    let script = settings.lose.clone().map(link::LossModel::Scripted);
    [bernoulli, bits, bursts, script].into_iter().flatten().collect()
}
