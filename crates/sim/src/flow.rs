//! One flow at work: both ends, the application, the reader, and what is measured about them.

use std::sync::Arc;

use polypath_link::Nanos;
use polypath_proto::config::AssocConfig;
use polypath_proto::event::SenderQueueInfo;
use polypath_proto::rng::Rng;
use polypath_proto::time::Time;
use polypath_proto::view::PathView;
use polypath_proto::{
    AssocHandle, Association, CloseReason, Event, FourTuple, RecvFrom, Reliability, StreamNeeds,
};

use crate::app::{self, App, AppIo, SideStream, UNLIMITED_BACKLOG};
use crate::delivery_checker::{Content, DeliveryChecker};
use crate::end::{self, End, Side};
use crate::event_queue::NEVER;
use crate::meter::{OccupancyMeter, SpellMeter};
use crate::network::Route;
use crate::random::named_rng;
use crate::reader::Reader;
use crate::responses::Responses;
use crate::results::{Outcome, PathSample, Sample, TransferTimes};
use crate::spec::{AppSpec, FileContent, FlowSpec};

/// A flow.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) client: End,
    pub(crate) server: End,
    pub(crate) traced: bool,
    pub(crate) data: DeliveryChecker,
    pub(crate) responses: Option<Responses>,
    pub(crate) times: TransferTimes,
    pub(crate) outcome: Outcome,
    pub(crate) blocked: SpellMeter,
    pub(crate) held: OccupancyMeter,
    pub(crate) out_of_order: OccupancyMeter,
    pub(crate) samples: Vec<Sample>,
    opening: Opening,
    app: Box<dyn App>,
    /// What the application's streams declare; taken when it starts.
    needs: Option<(u16, StreamNeeds)>,
    reliability: Reliability,
    beside: Vec<SideStream>,
    app_rng: Rng,
    /// The application was started, and not told to stop.
    running: bool,
    stopped: bool,
    start_at: Nanos,
    /// Bytes in the send buffer when the application last ran.
    used_at_run: u64,
    /// Payload and charge of the usual DATA chunk; a smaller peer window blocks.
    usual_chunk: u64,
    reader: Reader,
}

/// How the client opens the association.
#[derive(Debug)]
struct Opening {
    at: Nanos,
    tuples: Vec<FourTuple>,
    peer_port: u16,
    config: Arc<AssocConfig>,
}

impl Flow {
    /// A flow of a checked specification; `hosts` are the positions of both ends' hosts.
    pub(crate) fn new(
        spec: &FlowSpec,
        seed: u64,
        hosts: [usize; 2],
        routes: &[Route],
        observed: bool,
    ) -> Self {
        let rng = |what: &str| named_rng(seed, &format!("flow.{}.{what}", spec.name));
        let traced = spec.trace && observed;
        let end = |side, host, name| End::new(spec, side, host, routes, rng(name), traced);
        let mut start = rng("start");
        let at = spec.connect_at.saturating_add(draw_uniform(&mut start, spec.connect_jitter));
        let opening = Opening {
            at,
            tuples: end::client_tuples(spec),
            peer_port: spec.server.port,
            config: end::assoc_config(&spec.client, traced),
        };
        let (mut data, responses, message_bytes) = delivery_checkers(spec, &mut rng("content"));
        if spec.record_messages {
            data.record_messages();
        }
        let assoc = &spec.client.assoc;
        Self {
            name: spec.name.clone(),
            client: end(Side::Client, hosts[0], "client"),
            server: end(Side::Server, hosts[1], "server"),
            traced,
            data,
            responses,
            times: TransferTimes::default(),
            outcome: Outcome::NotEstablished,
            blocked: SpellMeter::default(),
            held: OccupancyMeter::default(),
            out_of_order: OccupancyMeter::default(),
            samples: Vec::new(),
            opening,
            app: app::build_app(&spec.app, rng("sizes")),
            needs: spec.app.endless_messages().map(|messages| (messages.streams, spec.needs)),
            reliability: spec.reliability,
            beside: side_streams(spec),
            app_rng: rng("app"),
            running: false,
            stopped: false,
            start_at: spec.start_at.saturating_add(draw_uniform(&mut start, spec.start_jitter)),
            used_at_run: 0,
            // Headers of IPv4, SCTP and DATA: what of the MTU the payload cannot use.
            usual_chunk: u64::from(message_bytes.min(assoc.path_mtu.saturating_sub(48)))
                + u64::from(assoc.reproduction.chunk_charge),
            reader: Reader::new(spec.reader.clone()),
        }
    }

    pub(crate) fn end(&self, side: Side) -> &End {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    pub(crate) fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Whether it ends by itself.
    pub(crate) fn is_finite(&self) -> bool {
        self.app.is_finite()
    }

    /// Whether any of its messages may be given up.
    pub(crate) fn may_give_up(&self) -> bool {
        let beside = || self.beside.iter().any(|b| b.reliability() != Reliability::Full);
        self.reliability != Reliability::Full || beside()
    }

    /// Whether it is over.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self.outcome, Outcome::Finished | Outcome::Failed(_))
    }

    /// When the application of one side wants to act next, whatever happens until then.
    pub(crate) fn next_wakeup(&self, now: Nanos, side: Side) -> Nanos {
        match side {
            Side::Client if self.times.connect.is_none() => self.opening.at,
            Side::Client if !self.client.established || self.stopped => NEVER,
            Side::Client if !self.running => self.start_at,
            Side::Client => {
                let beside = self.beside.iter().filter_map(|b| b.next_wakeup(now)).min();
                let app = self.app.next_wakeup().filter(|&at| at > now);
                app.unwrap_or(NEVER).min(beside.unwrap_or(NEVER))
            }
            Side::Server if !self.server.readable => NEVER,
            Side::Server => Some(self.reader.ready_at(now)).filter(|&at| at > now).unwrap_or(NEVER),
        }
    }

    /// Lets one side act: on what its endpoint reports, and on the time, if its `wakeup` has come.
    pub(crate) fn act_on_news(&mut self, now: Nanos, side: Side, woken: bool) {
        self.drain_events(now, side);
        match side {
            Side::Client => {
                if self.times.connect.is_none() && self.opening.at <= now {
                    self.open_association(now);
                }
                self.read_responses(now);
                self.run_app(now, woken);
            }
            Side::Server => {
                self.note_arrival(now);
                self.read_messages(now);
                self.send_responses(now);
            }
        }
    }

    /// Measures one side after it acted and sent.
    pub(crate) fn measure_side(&mut self, now: Nanos, side: Side) {
        match side {
            Side::Client => self.measure_client(now),
            Side::Server => {
                let (held, out_of_order) =
                    self.server.assoc().map_or((0, 0), Association::receive_buffer);
                self.held.set(now, held.into());
                self.out_of_order.set(now, out_of_order.into());
            }
        }
    }

    /// Stops the application; then `close` ends the client's association.
    pub(crate) fn stop_app(&mut self, now: Nanos, close: impl FnOnce(&mut AppIo<'_>)) {
        self.stopped = true;
        let Self { client, data, app_rng, .. } = self;
        if let Some(assoc) = client.assoc_mut() {
            close(&mut AppIo::new(now, assoc, data, app_rng, 0));
        }
    }

    /// Forgets the measurements so far.
    pub(crate) fn restart_measuring(&mut self, now: Nanos) {
        self.data.restart();
        if let Some(responses) = &mut self.responses {
            responses.restart();
        }
        self.blocked.restart(now);
        self.held.restart(now);
        self.out_of_order.restart(now);
        for end in [&mut self.client, &mut self.server] {
            end.settled = end.assoc().map(Association::stats).unwrap_or_default();
            end.abandoned = end.assoc().map(|assoc| assoc.abandoned(None)).unwrap_or_default();
        }
    }

    /// Adds a point to the time series.
    pub(crate) fn take_sample(&mut self, now: Nanos) {
        let Some(assoc) = self.client.assoc() else { return };
        let (view, queue) = (assoc.view(Time(now)), assoc.sender_queue_info());
        let path = |path: &PathView| PathSample {
            cwnd: path.cwnd,
            ssthresh: path.ssthresh,
            outstanding: path.outstanding,
            srtt: path.srtt.map(|srtt| srtt.as_nanos() as Nanos),
        };
        self.samples.push(Sample {
            at: now,
            peer_rwnd: view.peer_rwnd,
            send_buffer: view.send_buffer.used,
            send_buffer_unsent: queue.streams.iter().map(|stream| stream.unsent_bytes).sum(),
            send_buffer_streams: queued_by_stream(&queue),
            receive_buffer: self.held.value(),
            out_of_order: self.out_of_order.value(),
            delivered: self.data.delivered_bytes(),
            paths: view.paths.iter().map(path).collect(),
        });
    }

    fn open_association(&mut self, now: Nanos) {
        self.times.connect = Some(now);
        let Opening { tuples, peer_port, config, .. } = &self.opening;
        let config = Arc::clone(config);
        match self.client.endpoint.connect(Time(now), tuples, *peer_port, config) {
            Ok(handle) => self.client.handle = Some(handle),
            Err(error) => self.outcome = Outcome::Failed(error.to_string()),
        }
    }

    fn drain_events(&mut self, now: Nanos, side: Side) {
        while let Some((handle, event)) = self.end_mut(side).endpoint.poll_event() {
            self.on_event(now, side, handle, &event);
        }
    }

    fn on_event(&mut self, now: Nanos, side: Side, handle: AssocHandle, event: &Event) {
        let end = self.end_mut(side);
        match event {
            Event::Established { .. } => {
                end.handle = Some(handle);
                end.established = true;
                if side == Side::Client {
                    self.times.established.get_or_insert(now);
                    self.outcome = Outcome::Open;
                }
            }
            Event::Readable => end.readable = true,
            Event::Abandoned { message, .. } if side == Side::Client => self.data.give_up(*message),
            Event::Closed(reason) => {
                end.established = false;
                if side == Side::Client {
                    self.times.closed = Some(now);
                    self.outcome = match reason {
                        CloseReason::Shutdown => Outcome::Finished,
                        CloseReason::PolicyFailed(why) => Outcome::PolicyFailed(why.to_string()),
                        other => Outcome::Failed(format!("{other:?}")),
                    };
                }
            }
            _ => {}
        }
    }

    fn run_app(&mut self, now: Nanos, woken: bool) {
        if !self.client.established || self.stopped || now < self.start_at {
            return;
        }
        if self.running && !woken && !self.is_app_due(now) && !self.has_news(now) {
            return;
        }
        self.running = true;
        let received = self.responses.as_ref().map_or(0, Responses::received_count);
        let Self { client, data, app_rng, app, beside, needs, reliability, .. } = self;
        let Some(assoc) = client.assoc_mut() else { return };
        let before = data.accepted_messages();
        let mut io = AppIo::new(now, assoc, data, app_rng, received);
        if let Some((streams, needs)) = needs.take().filter(|n| n.1 != StreamNeeds::default()) {
            (0..streams).for_each(|stream| io.declare_needs(stream, needs));
        }
        beside.iter_mut().for_each(|beside| beside.run(&mut io));
        io.reliability = *reliability;
        app.run(&mut io);
        self.used_at_run = assoc.view(Time(now)).send_buffer.used;
        if let Some(responses) = &mut self.responses {
            responses.note_requests(now, data.accepted_messages() - before);
        }
    }

    /// Whether the application wanted to act now or before. Something else may come at the same
    /// nanosecond and be seen first; the wake-up that was meant for it is gone then.
    fn is_app_due(&self, now: Nanos) -> bool {
        let app = self.app.next_wakeup().is_some_and(|at| at <= now);
        app || self.beside.iter().any(|beside| beside.is_due_at(now))
    }

    /// Whether the application could do something that it could not when it last ran.
    fn has_news(&self, now: Nanos) -> bool {
        let Some(assoc) = self.client.assoc() else { return false };
        let buffer = assoc.view(Time(now)).send_buffer;
        let refill = buffer.limit == u64::MAX && buffer.unsent < UNLIMITED_BACKLOG / 2;
        let answered = self.responses.as_ref().is_some_and(Responses::all_received);
        refill || answered || buffer.used != self.used_at_run
    }

    fn read_messages(&mut self, now: Nanos) {
        let Self { server, reader, data, times, responses, .. } = self;
        while server.readable && reader.ready_at(now) <= now {
            let Some(assoc) = server.assoc_mut() else { return };
            let Some(message) = assoc.recv(Time(now), RecvFrom::Any) else {
                server.readable = false;
                return;
            };
            times.first_delivery.get_or_insert(now);
            times.last_delivery = Some(now);
            data.note_delivered(now, &message);
            reader.note_read(now, message.data.len());
            responses.iter_mut().for_each(Responses::note_request_read);
        }
    }

    fn send_responses(&mut self, now: Nanos) {
        if let (Some(responses), Some(server)) = (&mut self.responses, self.server.assoc_mut()) {
            responses.send_owed(now, server);
        }
    }

    fn read_responses(&mut self, now: Nanos) {
        if let (Some(responses), Some(client)) = (&mut self.responses, self.client.assoc_mut()) {
            responses.read_responses(now, client);
        }
    }

    /// The first DATA shows in the receive buffer before anything is read.
    fn note_arrival(&mut self, now: Nanos) {
        if self.times.first_data_arrived.is_some() {
            return;
        }
        let held = self.server.assoc().map_or(0, |assoc| assoc.receive_buffer().0);
        if self.server.readable || held > 0 {
            self.times.first_data_arrived = Some(now);
        }
    }

    fn measure_client(&mut self, now: Nanos) {
        let Some(view) = self.client.assoc().map(|assoc| assoc.view(Time(now))) else { return };
        let open = |path: &PathView| path.usable && path.has_room();
        let blocked = view.peer_rwnd < self.usual_chunk
            && view.send_buffer.unsent > 0
            && view.paths.iter().any(open);
        if self.times.first_data_sent.is_none()
            && view.paths.iter().any(|path| path.data_chunks > 0)
        {
            self.times.first_data_sent = Some(now);
        }
        self.blocked.set(now, blocked && self.client.established);
    }
}

/// The checkers of a flow, and the payload bytes of its usual message.
fn delivery_checkers(spec: &FlowSpec, rng: &mut Rng) -> (DeliveryChecker, Option<Responses>, u32) {
    let (messages, content) = match &spec.app {
        AppSpec::File { content: FileContent::Bytes(bytes), messages } => {
            (*messages, Content::from_bytes(bytes.clone(), messages.bytes))
        }
        AppSpec::File { content: FileContent::Pattern(total), messages } => {
            (*messages, Content::from_pattern(rng, messages.bytes, Some(*total)))
        }
        AppSpec::Saturated { messages, .. }
        | AppSpec::ConstantRate { messages, .. }
        | AppSpec::OnOff { messages, .. } => {
            (*messages, Content::from_pattern(rng, messages.bytes, None))
        }
        AppSpec::RequestResponse { request_bytes, response_bytes, .. } => {
            let requests =
                DeliveryChecker::new(Content::from_pattern(rng, *request_bytes, None), 1);
            let checker =
                DeliveryChecker::new(Content::from_pattern(rng, *response_bytes, None), 1);
            return (requests, Some(Responses::new(checker)), *request_bytes);
        }
    };
    let streams = messages.streams.saturating_add(spec.beside.len() as u16);
    (DeliveryChecker::new(content, streams), None, messages.bytes)
}

/// The streams beside the application's, numbered behind them.
fn side_streams(spec: &FlowSpec) -> Vec<SideStream> {
    let first = spec.app.endless_messages().map_or(0, |messages| messages.streams);
    (first..).zip(&spec.beside).map(|(stream, beside)| SideStream::new(*beside, stream)).collect()
}

/// Bytes in the send buffer by stream id.
fn queued_by_stream(info: &SenderQueueInfo) -> Vec<u64> {
    let streams = info.streams.last().map_or(0, |last| usize::from(last.stream.0) + 1);
    let mut queued = vec![0; streams];
    for stream in &info.streams {
        if let Some(queued) = queued.get_mut(usize::from(stream.stream.0)) {
            *queued = stream.unsent_bytes + stream.unacked_bytes;
        }
    }
    queued
}

/// Uniform from 0 to `max`.
fn draw_uniform(rng: &mut Rng, max: Nanos) -> Nanos {
    (rng.unit() * (max as f64 + 1.0)) as Nanos
}
