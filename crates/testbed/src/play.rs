//! A scenario's flows over real sockets in an emulated network.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use polypath_emu::{Emulation, Host};
use polypath_net::{Association, Config, DEFAULT_PORT, Encapsulation, Endpoint, FourTuple};
use polypath_proto::config;
use polypath_sim::WorldSpec;
use polypath_sim::spec::{Action, AppSpec, FlowSpec};
use tokio::time::{Instant as TokioInstant, sleep_until, timeout_at};

use crate::app;
use crate::error::TestbedError;
use crate::meter::{FlowOutcome, Meter, Played};

/// Below that of the network.
const PRIORITY: u8 = 1;
/// What an association that ends by itself may take beyond the scenario's end to say so.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two looks at counters.
const GLANCE: Duration = Duration::from_millis(100);

/// Runs the flows of a checked world in this network, which begins with them. Applications draw
/// what they draw with this seed in the simulator. Both ends are served before other programs, as
/// far as this process may ask for it.
///
/// # Errors
/// When a flow does something that only the simulator can do, or its association fails.
pub fn play_flows(
    world: &WorldSpec,
    seed: u64,
    emulation: &Emulation,
) -> Result<Played, TestbedError> {
    app::check_all(world)?;
    // On a thread of its own: the threads that it starts inherit its priority.
    let played =
        std::thread::scope(|scope| scope.spawn(|| play_here(world, seed, emulation)).join());
    played.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn play_here(world: &WorldSpec, seed: u64, emulation: &Emulation) -> Result<Played, TestbedError> {
    polypath_emu::serve_first(PRIORITY);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let ends = (0..world.flows.len()).map(|n| Ends::open(world, n, emulation));
    let ends = ends.collect::<Result<Vec<_>, _>>()?;
    emulation.start()?;
    let start = Instant::now();
    let flows = runtime.block_on(play_all(world, seed, ends, start))?;
    Ok(Played { flows, lateness: emulation.stats()?.lateness })
}

async fn play_all(
    world: &WorldSpec,
    seed: u64,
    ends: Vec<Ends>,
    start: Instant,
) -> Result<Vec<FlowOutcome>, TestbedError> {
    let world = Arc::new(world.clone());
    let one = |(n, ends)| tokio::spawn(play_flow(Arc::clone(&world), seed, n, ends, start));
    let running: Vec<_> = ends.into_iter().enumerate().map(one).collect();
    let mut outcomes = Vec::with_capacity(running.len());
    for flow in running {
        outcomes.push(flow.await.map_err(std::io::Error::other)??);
    }
    Ok(outcomes)
}

async fn play_flow(
    world: Arc<WorldSpec>,
    seed: u64,
    n: usize,
    ends: Ends,
    start: Instant,
) -> Result<FlowOutcome, TestbedError> {
    // `n` counts the world's flows.
    let flow = &world.flows[n];
    let at = |ns| TokioInstant::from_std(start + Duration::from_nanos(ns));
    let meter = Meter::new(&flow.name, start, world.time);
    let meter = Arc::new(meter.sending_from(start + Duration::from_nanos(flow.start_at)));
    sleep_until(at(flow.connect_at)).await;
    let (client, server) = ends.connect_flow(flow).await?;
    let client = Arc::new(client);
    declare_needs(flow, &client)?;
    let receiver = tokio::spawn(receive_all(server, Arc::clone(&meter), flow.name.clone()));
    let wishes = tokio::spawn(carry_out_actions(Arc::clone(&world), n, Arc::clone(&client), start));
    let counting = tokio::spawn(count_sacks(Arc::clone(&client), Arc::clone(&meter)));
    sleep_until(at(flow.start_at)).await;
    let beside = start_beside(flow, &client, &meter);
    let sending = app::send_messages(&client, flow, seed, &meter);
    let end = TokioInstant::from_std(meter.end());
    let sent = timeout_at(end, sending).await;
    // Time is up, or the application is done.
    let finished = sent.is_ok() && matches!(flow.app, AppSpec::File { .. });
    if let Ok(result) = sent {
        result.map_err(TestbedError::sending_failed(&flow.name))?;
    }
    if finished {
        let over = timeout_at(end + GRACE, client.shutdown()).await;
        over.unwrap_or(Ok(())).map_err(TestbedError::association_ended(&flow.name))?;
    } else {
        sleep_until(end).await;
        client.abort("the run is over");
    }
    wishes.abort();
    counting.abort();
    beside.iter().for_each(tokio::task::JoinHandle::abort);
    let received = receiver.await.map_err(std::io::Error::other)?;
    if finished {
        received?;
    }
    Ok(meter.outcome(finished))
}

/// Tells the association what its streams need.
fn declare_needs(flow: &FlowSpec, client: &Association) -> Result<(), TestbedError> {
    let own = stream_count(&flow.app);
    let all = (0..own).map(|stream| (stream, flow.needs));
    let beside = (own..).zip(flow.beside.iter().map(|beside| beside.needs));
    let failed = TestbedError::sending_failed(&flow.name);
    all.chain(beside)
        .try_for_each(|(stream, needs)| client.set_stream_needs(stream, needs))
        .map_err(failed)
}

fn stream_count(app: &AppSpec) -> u16 {
    match app {
        AppSpec::Saturated { messages, .. }
        | AppSpec::File { messages, .. }
        | AppSpec::ConstantRate { messages, .. }
        | AppSpec::OnOff { messages, .. } => messages.streams,
        AppSpec::RequestResponse { .. } => 1,
    }
}

fn start_beside(
    flow: &FlowSpec,
    client: &Arc<Association>,
    meter: &Meter,
) -> Vec<tokio::task::JoinHandle<()>> {
    let until = meter.end();
    let one = |(stream, spec): (u16, &polypath_sim::spec::BesideSpec)| {
        let (client, spec) = (Arc::clone(client), *spec);
        tokio::spawn(async move {
            // The association's end is told by those who read it.
            let _ = app::send_beside(&client, spec, stream, until).await;
        })
    };
    (stream_count(&flow.app)..).zip(&flow.beside).map(one).collect()
}

/// Reads all that comes.
async fn receive_all(
    server: Association,
    meter: Arc<Meter>,
    name: String,
) -> Result<(), TestbedError> {
    let mut messages = Vec::new();
    loop {
        let count = server.recv_many(&mut messages, 256).await;
        if count.map_err(TestbedError::association_ended(&name))? == 0 {
            return Ok(());
        }
        messages.drain(..).for_each(|message| meter.note_delivered(&message.data));
    }
}

/// Reads the sender's counters as long as it is there: they go with it.
async fn count_sacks(client: Arc<Association>, meter: Arc<Meter>) {
    while !client.is_closed() {
        let stats = client.stats();
        if stats.packets_sent > 0 {
            meter.note_sacks(stats.packets_sent, stats.sacks_received);
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// Carries out what the scenario wants of this flow's paths, each at its time.
async fn carry_out_actions(
    world: Arc<WorldSpec>,
    n: usize,
    client: Arc<Association>,
    start: Instant,
) {
    let name = &world.flows[n].name;
    for action in &world.actions {
        if let Action::PathAdmin { flow, path, admin } = &action.action
            && flow == name
        {
            sleep_until(TokioInstant::from_std(start + Duration::from_nanos(action.at))).await;
            client.set_path_admin(*path, *admin);
        }
    }
}

/// The endpoints of a flow, each in its host.
struct Ends {
    client: Endpoint,
    server: Endpoint,
    udp: u16,
}

impl Ends {
    fn open(world: &WorldSpec, n: usize, emulation: &Emulation) -> Result<Self, TestbedError> {
        let flow = &world.flows[n];
        // Flows share addresses, so each has a port of its own; there are far fewer than 50,000.
        let udp = DEFAULT_PORT.saturating_add(u16::try_from(n).unwrap_or(u16::MAX));
        let (near, far): (Vec<_>, Vec<_>) = flow.paths.iter().copied().unzip();
        let client = Config::insecure_client(each_once(&near)).assoc(flow.client.assoc.clone());
        let far = each_once(&far);
        let server =
            Config::insecure_server(far, flow.server.port).assoc(flow.server.assoc.clone());
        let over = |port| match flow.encapsulation {
            config::Encapsulation::Udp => Encapsulation::Udp(port),
            config::Encapsulation::Raw => Encapsulation::Raw,
        };
        let client = client.encapsulation(over(0)).port(flow.client.port);
        let server = server.encapsulation(over(udp));
        Ok(Self {
            client: bind_endpoint(flow, client, emulation)?,
            server: bind_endpoint(flow, server, emulation)?,
            udp,
        })
    }

    async fn connect_flow(
        &self,
        flow: &FlowSpec,
    ) -> Result<(Association, Association), TestbedError> {
        let locals = self.client.local_addresses();
        let local = |address| locals.iter().copied().find(|local| local.ip() == address);
        let udp = if flow.encapsulation == config::Encapsulation::Udp { self.udp } else { 0 };
        let path = |&(near, far): &(IpAddr, IpAddr)| {
            Some(FourTuple { local: local(near)?, remote: SocketAddr::new(far, udp) })
        };
        let paths: Vec<_> = flow.paths.iter().filter_map(path).collect();
        let name = || flow.name.clone();
        let assoc = flow.client.assoc.clone();
        let opened = self.client.connect_paths(&paths, flow.server.port, assoc).await;
        let client = opened.map_err(|error| TestbedError::Connect { flow: name(), error })?;
        let accepted = self.server.accept().await;
        let gone = || TestbedError::Ended { flow: name(), error: "the server has ended".into() };
        Ok((client, accepted.ok_or_else(gone)?))
    }
}

fn bind_endpoint(
    flow: &FlowSpec,
    config: Config,
    emulation: &Emulation,
) -> Result<Endpoint, TestbedError> {
    let first = config.local.first().map(|local| local.address);
    let clients = emulation.addresses(Host::Client);
    let at_client = first.is_some_and(|first| clients.contains(&first));
    let host = if at_client { Host::Client } else { Host::Server };
    let bound = emulation.namespace(host).run(|| Endpoint::bind(config))?;
    bound.map_err(|error| TestbedError::Bind { flow: flow.name.clone(), error })
}

fn each_once(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let mut once: Vec<IpAddr> = Vec::new();
    for address in addresses {
        if !once.contains(address) {
            once.push(*address);
        }
    }
    once
}
