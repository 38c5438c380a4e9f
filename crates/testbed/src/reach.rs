//! What a small machine can carry in real time: both ends, the network between them and every
//! packet's way through the kernel share its cores.

use core::fmt;

use polypath_link::{Change, LinkConfig};
use polypath_sim::WorldSpec;
use polypath_sim::spec::{AppSpec, FlowSpec};

use crate::app::check_all;
use crate::error::TestbedError;

/// Limits of what is emulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// bit/s of all paths together, at most: of each path its slowest link.
    pub rate: f64,
    /// Messages per second that fill those paths, at most.
    pub messages: f64,
    /// s that a run may last.
    pub seconds: f64,
}

impl Default for Reach {
    /// What two cores carry beside other work.
    fn default() -> Self {
        Self { rate: 100e6, messages: 20_000.0, seconds: 30.0 }
    }
}

/// Why a scenario is not emulated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beyond {
    /// The paths are too fast.
    Rate,
    /// The messages are too small for the paths.
    Messages,
    /// The run takes too long.
    Length,
    /// An application that only the simulator has.
    Application(&'static str),
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate => f.write_str("paths too fast"),
            Self::Messages => f.write_str("messages too small for their rate"),
            Self::Length => f.write_str("too long"),
            Self::Application(what) => write!(f, "{what}, which only the simulator has"),
        }
    }
}

impl Reach {
    /// Whether a checked world is within it, as far as that can be told before it runs: flows with
    /// an end may end before the run's time is over.
    ///
    /// # Errors
    /// The first limit that it is beyond.
    pub fn check_world(&self, world: &WorldSpec) -> Result<(), Beyond> {
        if let Err(TestbedError::Unsupported { what, .. }) = check_all(world) {
            return Err(Beyond::Application(what));
        }
        let rates = world.flows.iter().map(|flow| flow_rate(world, flow));
        let sum: f64 = rates.clone().sum();
        if sum > self.rate {
            return Err(Beyond::Rate);
        }
        let each = rates.zip(&world.flows).map(|(rate, flow)| rate / message_bits(flow));
        if each.sum::<f64>() > self.messages {
            return Err(Beyond::Messages);
        }
        let end = world.time.settle.saturating_add(world.time.measure);
        if world.time.stop_when_done { Ok(()) } else { self.check_end(end) }
    }

    /// Whether a run that ends at `end` ns is short enough.
    pub(crate) fn check_end(&self, end: u64) -> Result<(), Beyond> {
        if end as f64 > self.seconds * 1e9 { Err(Beyond::Length) } else { Ok(()) }
    }
}

/// bit/s of a flow's paths from client to server, shared links counted for each of them.
fn flow_rate(world: &WorldSpec, flow: &FlowSpec) -> f64 {
    let topology = &world.topology;
    let link_rate = |name: &String| {
        let link = topology.links.iter().find(|link| link.name == *name);
        link.map_or(f64::INFINITY, |link| greatest_rate(&link.config))
    };
    let path_rate = |&(from, to)| {
        let route = topology.routes.iter().find(|route| (route.from, route.to) == (from, to));
        let links = route.into_iter().flat_map(|route| &route.links);
        links.map(link_rate).fold(f64::INFINITY, f64::min)
    };
    flow.paths.iter().map(path_rate).sum()
}

/// bit/s of a link at its fastest; of a trace, on average.
fn greatest_rate(config: &LinkConfig) -> f64 {
    if let Some(trace) = &config.trace {
        return trace.mean_rate() as f64;
    }
    let later = config.schedule.iter().filter_map(|(_, change)| match change {
        Change::Rate(rate) => Some(*rate),
        _ => None,
    });
    let rates = later.chain([config.rate]);
    rates.map(|rate| rate.map_or(f64::INFINITY, |rate| rate as f64)).fold(0.0, f64::max)
}

/// Payload bits of a flow's smallest message.
fn message_bits(flow: &FlowSpec) -> f64 {
    let bytes = match flow.app {
        AppSpec::Saturated { messages, .. }
        | AppSpec::File { messages, .. }
        | AppSpec::ConstantRate { messages, .. }
        | AppSpec::OnOff { messages, .. } => messages.bytes,
        AppSpec::RequestResponse { request_bytes, response_bytes, .. } => {
            request_bytes.min(response_bytes)
        }
    };
    8.0 * f64::from(bytes)
}

#[cfg(test)]
mod tests {
    use polypath_run::world_spec;
    use polypath_scenario::Source;

    use super::*;

    fn check(paths: &str, flow: &str) -> Result<(), Beyond> {
        let text = format!("{paths}\n[[flow]]\n{flow}\n");
        let scenario = Source::new("test", text).unwrap().parse_scenario().unwrap();
        Reach::default().check_world(&world_spec(&scenario, false).unwrap())
    }

    #[test]
    fn fast_paths_small_messages_and_long_runs_are_beyond_it() {
        let two = "[path.a]\nrate = '60Mbit/s'\n[path.b]\nrate = '40Mbit/s'\n";
        let timed = |seconds: u32| format!("{two}[time]\nmeasure = '{seconds}s'\n");
        assert_eq!(check(&timed(30), "app = 'saturated'"), Ok(()));
        assert_eq!(check(&timed(31), "app = 'saturated'"), Err(Beyond::Length));
        let third = format!("[path.c]\nrate = '1Mbit/s'\n{}", timed(30));
        assert_eq!(check(&third, "app = 'saturated'"), Err(Beyond::Rate));
        let small = "app = 'saturated'\nmessage = '500B'";
        assert_eq!(check(&timed(30), small), Err(Beyond::Messages));
        let asks = "app = 'request'\nmessage = '100B'\nresponse = '100B'";
        let refused = check(&timed(30), asks).unwrap_err();
        assert_eq!(refused.to_string(), "app = \"request\", which only the simulator has");
    }

    #[test]
    fn a_link_is_as_fast_as_it_ever_gets() {
        let later = "[path.a]\nrate = '10Mbit/s'\n[[at]]\ntarget = 'a'\ntime = '1s'\n\
                     rate = '200Mbit/s'\n[time]\nmeasure = '10s'\n";
        assert_eq!(check(later, "app = 'saturated'"), Err(Beyond::Rate));
    }
}
