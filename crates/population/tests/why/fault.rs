//! Networks that have nothing wrong, and what is made wrong with them.

use polypath_population::Population;
use polypath_scenario::units::{Delay, Limit, Packets, QueueSize, Rate, Size};
use polypath_scenario::{App, CrossTraffic, FlowSpec, LinkSettings, PathSpec, Scenario, TimeSpec};
use polypath_why::Cause;

/// One thing that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A path loses one packet in fifty.
    Loss,
    /// The same, of more than the windows that this leaves can carry.
    LossUnderLoad,
    /// Traffic of others on one path, more than it carries, in bursts.
    Queue,
    /// A path is slower by 80 ms.
    Reordering,
    /// A receive buffer that holds hardly more than a message.
    Window,
    /// An application that reads more slowly than data comes.
    Application,
}

/// The path that has it.
pub(crate) const PATH: usize = 1;

const MILLISECOND: u64 = 1_000_000;

impl Fault {
    pub(crate) const ALL: [Self; 5] =
        [Self::Loss, Self::Queue, Self::Reordering, Self::Window, Self::Application];

    /// The cause that it must be charged to.
    pub(crate) fn cause(self) -> Cause {
        match self {
            Self::Loss | Self::LossUnderLoad => Cause::Loss,
            Self::Queue => Cause::Queue,
            Self::Reordering => Cause::Reordering,
            Self::Window => Cause::Window,
            Self::Application => Cause::Application,
        }
    }

    /// The path that it must be charged to, if it is one path's.
    pub(crate) fn path(self) -> Option<u8> {
        let anywhere = matches!(self, Self::Window | Self::Application);
        (!anywhere).then_some(PATH as u8)
    }

    /// Puts it into a network.
    pub(crate) fn inject(self, scenario: &mut Scenario) {
        let name = scenario.path.keys().nth(PATH).cloned().unwrap_or_default();
        let path = &mut scenario.path[PATH];
        match self {
            Self::Loss | Self::LossUnderLoad => {
                path.forward.get_or_insert_default().loss = Some("2%".parse().expect("a share"))
            }
            Self::Queue => {
                let rate = rate_of(path);
                scenario.cross.push(CrossTraffic {
                    link: name,
                    direction: None,
                    rate: Rate(rate + rate / 10),
                    packet: Some(Size(1500)),
                    spacing: None,
                    on: Some(Delay(300 * MILLISECOND)),
                    off: Some(Delay(900 * MILLISECOND)),
                    fixed: Some(true),
                    start: Some(Delay(1_500 * MILLISECOND)),
                    until: None,
                });
            }
            Self::Reordering => {
                let Delay(delay) = path.delay.unwrap_or_default();
                path.delay = Some(Delay(delay + 80 * MILLISECOND));
            }
            Self::Window => {
                let message = scenario.flow[0].message.map_or(0, |size| size.0);
                scenario.stack.receive_buffer = Some(Size(message * 4 / 3));
            }
            Self::Application => {
                let flow = &mut scenario.flow[0];
                let sent = flow.rate.map_or(0, |rate| rate.0);
                flow.read_rate = Some(Rate(sent * 9 / 10));
            }
        }
    }
}

fn rate_of(path: &PathSpec) -> u64 {
    let forward = path.forward.as_ref().and_then(|forward| forward.rate);
    forward.or(path.rate).map_or(0, |rate| rate.0)
}

/// The network of a draw without what disturbs it, and traffic that fills none of its queues.
/// `None`: it has not two paths of their own with a rate each.
pub(crate) fn calm_network(population: Population, number: u64, fault: Fault) -> Option<Scenario> {
    let drawn = population.draw(number).expect("a draw").scenario;
    let usable = drawn.path.len() >= 2 && drawn.route.is_empty();
    if !usable || drawn.path.values().any(|path| rate_of(path) < 500_000) {
        return None;
    }
    let delay = drawn.path[PATH].delay;
    let calm = |(name, path)| (name, PathSpec { delay, ..calm_path(path) });
    let mut scenario = Scenario {
        path: drawn.path.into_iter().map(calm).collect(),
        endpoints: drawn.endpoints,
        stack: drawn.stack,
        seeds: drawn.seeds,
        ..Scenario::default()
    };
    scenario.stack.sender = None;
    scenario.stack.receiver = None;
    scenario.stack.path_scheduler = Some("rr".to_owned());
    scenario.stack.receive_buffer = Some(Size(4 << 20));
    let slowest = scenario.path.values().map(rate_of).min().unwrap_or(0);
    let round_trip = 2 * scenario.path[PATH].delay.map_or(0, |delay| delay.0);
    let each = match fault {
        Fault::Loss => (slowest / 3).min(rate_despite_loss(round_trip)),
        _ => slowest / 3,
    };
    let rate = each * scenario.path.len() as u64;
    // The window is told by messages of which less than two fit it, a third of what a round trip
    // would carry.
    let per_round_trip = rate as u128 * u128::from(round_trip) / 8_000_000_000;
    let message = match fault {
        Fault::Window => u64::try_from(per_round_trip / 4).unwrap_or(u64::MAX),
        _ => 1_200,
    };
    if !(1_200..60_000).contains(&message) || fault == Fault::Window && message < 4_500 {
        return None;
    }
    // A message that the send buffer cannot hold is never sent.
    let buffer = match scenario.stack.send_buffer {
        Some(Limit::Bytes(Size(buffer))) => buffer,
        _ => u64::MAX,
    };
    if message > buffer {
        return None;
    }
    let seconds = (120_000_000 / rate.max(1)).clamp(10, 30);
    scenario.flow =
        vec![FlowSpec { message: Some(Size(message)), rate: Some(Rate(rate)), ..saturated() }];
    scenario.time =
        TimeSpec { measure: Some(Delay(seconds * 1_000 * MILLISECOND)), ..TimeSpec::default() };
    Some(scenario)
}

/// What a path carries that loses one packet in fifty, with room to spare, bit/s: four messages a
/// round trip, half of the window of Mathis' formula, sqrt(3/2)/sqrt(p). Beyond it the loss closes
/// windows, other paths take over, and queues fill there: more than one thing is wrong then.
fn rate_despite_loss(round_trip: u64) -> u64 {
    let per_second = 4 * 1_200 * 8 * 1_000_000_000_u64;
    per_second.checked_div(round_trip).unwrap_or(u64::MAX)
}

fn saturated() -> FlowSpec {
    let flow: FlowSpec = toml::from_str("app = 'cbr'").expect("a flow");
    assert_eq!(flow.app, App::Cbr);
    flow
}

/// Rate and delay alone, in each direction, and a queue that no burst fills: it holds half a second
/// of packets of 1000 bytes, where [`Fault::Queue`] needs an eighth.
fn calm_path(path: PathSpec) -> PathSpec {
    let half_second = rate_of(&path) / 16 / 1_000;
    let one_way = |link: LinkSettings| LinkSettings { rate: link.rate, ..LinkSettings::default() };
    PathSpec {
        rate: path.rate,
        queue: Some(QueueSize::Packets(Packets(half_second.max(1_000)))),
        forward: path.forward.map(one_way),
        reverse: path.reverse.map(one_way),
        ..PathSpec::default()
    }
}
