//! What is sent: the flow of a draw.

use std::collections::BTreeSet;

use polypath_scenario::units::{Delay, Rate, Size};
use polypath_scenario::{App, BesideSpec, Direction, FlowSpec, NeedsSpec};

use super::network::Network;
use crate::application::Application;
use crate::dice::{Cup, Dice};
use crate::feature::Feature;
use crate::quantity::{
    BURST_CYCLE, BURST_LOAD, BURST_PEAK, FILE, MESSAGE, PACED_RATE, REQUEST, RESPONSE,
    SIDE_MESSAGE, SIDE_RATE, STREAMS, THINK, UNEQUAL_MESSAGE, round_to_three_digits,
};

/// Payload of a full packet of 1500 bytes over IPv4.
const FULL: u64 = 1_452;
/// Bytes of a packet of 1500 that are left for chunks: without the headers of IPv4 and SCTP.
const ROOM: u64 = 1_468;
/// Bytes of the headers of IPv4 and SCTP.
const HEADERS: u64 = 32;
/// Bytes of a DATA chunk's header.
const CHUNK: u64 = 16;

/// Draws what an application needs.
pub(crate) struct Writer<'a> {
    pub(crate) cup: Cup,
    pub(crate) network: &'a Network,
    /// Bytes of each end's buffer.
    pub(crate) buffer: u64,
    /// Packets that a run may carry.
    pub(crate) packets: u64,
}

/// The application of a draw; of plain ones, one that always has something to send.
pub(crate) fn draw_application(cup: Cup, is_plain: bool) -> Application {
    let mut dice = cup.dice_for("application");
    let weight = |one: Application| if is_plain { one.is_saturated().into() } else { one.weight() };
    let drawn = dice.pick_weighted(&Application::ALL.map(weight));
    Application::ALL.get(drawn).copied().unwrap_or(Application::OneStream)
}

/// The size on the wire of packets with messages of so many bytes, in bits, on average.
pub(crate) fn packet_bits(message: u64) -> f64 {
    if message > FULL {
        let parts = message.div_ceil(FULL);
        return 8.0 * (message as f64 / parts as f64 + (HEADERS + CHUNK) as f64);
    }
    let chunk = CHUNK + message.next_multiple_of(4);
    8.0 * (HEADERS + ROOM / chunk * chunk) as f64
}

/// The size of messages as far as packets go: of requests, that of the responses.
pub(crate) fn packed_size(flow: &FlowSpec) -> u64 {
    let Size(bytes) = flow.response.unwrap_or_else(|| flow.message_or_default());
    bytes
}

/// How long one request takes at least, s: its pause, and a round trip and the response over the
/// path that is best for it. `None` of other applications.
pub(crate) fn request_cycle(flow: &FlowSpec, network: &Network) -> Option<f64> {
    let bits = 8.0 * flow.response?.0 as f64;
    let over_path = |number| network.round_trip(number) + bits / network.rate_alone(number);
    let answered = (0..network.paths.len()).map(over_path).fold(f64::INFINITY, f64::min);
    Some(flow.think.unwrap_or_default().as_secs_f64() + answered)
}

impl Writer<'_> {
    /// The flow of `application`. Features that it cannot have are taken out of `features`.
    pub(crate) fn draw_flow(
        &self,
        application: Application,
        features: &mut BTreeSet<Feature>,
    ) -> FlowSpec {
        let mut dice = self.cup.dice_for(application.words());
        let mut flow = FlowSpec { message: Some(Size(self.draw_message())), ..self.plain_flow() };
        match application {
            Application::OneStream => {}
            Application::StreamsInTurn => flow.streams = Some(draw_streams(&mut dice)),
            Application::StreamsByBacklog => {
                flow.streams = Some(draw_streams(&mut dice));
                flow.per_stream_backlog = Some(true);
            }
            Application::Unordered => flow.unordered = Some(true),
            Application::Paced => self.pace_flow(&mut dice, &mut flow),
            Application::Bursts => self.burst_flow(&mut dice, &mut flow),
            Application::File => self.carry_file(&mut dice, &mut flow),
            Application::Requests => self.ask_requests(&mut dice, &mut flow),
        }
        if matches!(flow.app, App::File | App::Request) {
            features.remove(&Feature::UnequalMessages);
        }
        if features.contains(&Feature::UnequalMessages) {
            self.vary_messages(&mut flow);
        }
        flow
    }

    /// bit/s at most: what the network carries, and of requests, which wait for one another, no
    /// more than the responses.
    pub(crate) fn most_sent(&self, flow: &FlowSpec) -> f64 {
        let carried = self.network.most_carried(Some(self.buffer));
        let cycle = request_cycle(flow, self.network);
        cycle.map_or(carried, |cycle| carried.min(8.0 * packed_size(flow) as f64 / cycle))
    }

    fn plain_flow(&self) -> FlowSpec {
        let paths = (0..self.network.paths.len()).map(Network::path_name);
        FlowSpec {
            name: None,
            app: App::Saturated,
            paths: Some(paths.collect()),
            direction: None,
            streams: None,
            message: None,
            message_most: None,
            unordered: None,
            reliability: None,
            start: None,
            send_at: None,
            jitter: None,
            per_stream_share: None,
            per_stream_backlog: None,
            size: None,
            rate: None,
            on: None,
            off: None,
            fixed: None,
            response: None,
            think: None,
            count: None,
            needs: None,
            beside: Vec::new(),
            read_rate: None,
            stack: None,
        }
    }

    fn draw_message(&self) -> u64 {
        let mut dice = self.cup.dice_for("messages");
        if dice.decide_with(0.5) {
            return FULL;
        }
        dice.draw_whole(&MESSAGE.up_to(self.buffer as f64 / 4.0))
    }

    fn pace_flow(&self, dice: &mut Dice, flow: &mut FlowSpec) {
        flow.app = App::Cbr;
        flow.rate = Some(share_of(self.network.total_rate(), dice.draw_value(&PACED_RATE)));
    }

    /// The time on makes of the rate while on the load that was drawn.
    fn burst_flow(&self, dice: &mut Dice, flow: &mut FlowSpec) {
        let load = self.network.best_rate() * dice.draw_value(&BURST_LOAD);
        let peak = self.network.total_rate() * dice.draw_value(&BURST_PEAK);
        let cycle = dice.draw_value(&BURST_CYCLE);
        let on = cycle * load / peak;
        flow.app = App::Onoff;
        flow.rate = Some(share_of(peak, 1.0));
        flow.on = Some(Delay(round_to_three_digits(on).max(1)));
        flow.off = Some(Delay(round_to_three_digits(cycle - on).max(1)));
    }

    fn carry_file(&self, dice: &mut Dice, flow: &mut FlowSpec) {
        let most = (self.packets * FULL) as f64;
        flow.app = App::File;
        flow.size = Some(Size(dice.draw_whole(&FILE.up_to(most))));
    }

    /// The server asks, so that responses go from client to server as all data does.
    fn ask_requests(&self, dice: &mut Dice, flow: &mut FlowSpec) {
        flow.app = App::Request;
        flow.direction = Some(Direction::Reverse);
        flow.message = Some(Size(dice.draw_whole(&REQUEST)));
        flow.response = Some(Size(dice.draw_whole(&RESPONSE.up_to(self.buffer as f64 / 4.0))));
        flow.think = Some(Delay(dice.draw_whole(&THINK)));
    }

    /// Two sizes or many: beside the application, or on its own streams.
    fn vary_messages(&self, flow: &mut FlowSpec) {
        let mut dice = self.cup.dice_for("messages of varying size");
        if dice.decide_with(0.5) {
            flow.beside.push(self.draw_beside());
            return;
        }
        let sizes = UNEQUAL_MESSAGE.up_to(self.buffer as f64 / 4.0);
        let (one, other) = (dice.draw_whole(&sizes), dice.draw_whole(&sizes));
        flow.message = Some(Size(one.min(other)));
        flow.message_most = Some(Size(one.max(other).max(one.min(other) + 1)));
    }

    /// Messages of another size on a stream beside the application's.
    fn draw_beside(&self) -> BesideSpec {
        let mut dice = self.cup.dice_for("messages of another size");
        let message = dice.draw_whole(&SIDE_MESSAGE.up_to(self.buffer as f64 / 8.0));
        let rate = self.network.total_rate() * dice.draw_value(&SIDE_RATE);
        let every = round_to_three_digits(8e9 * message as f64 / rate).max(1);
        BesideSpec {
            message: Size(message),
            every: Delay(every),
            unordered: false,
            reliability: None,
            needs: NeedsSpec::default(),
        }
    }
}

fn draw_streams(dice: &mut Dice) -> u16 {
    u16::try_from(dice.draw_count(&STREAMS)).unwrap_or(u16::MAX)
}

fn share_of(rate: f64, share: f64) -> Rate {
    Rate(round_to_three_digits(rate * share).max(1))
}
