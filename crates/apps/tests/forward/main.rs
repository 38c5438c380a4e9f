//! `forward` and `serve` over real sockets of this host: what a connection of TCP shows at its two
//! ends must show over the association, too, and nothing that a peer or a slow reader does may harm
//! the others.

mod liars;
mod limits;
mod short;
mod stall;
mod tcp;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use polypath_apps::admission::{Door, Places};
use polypath_apps::forward::channel::{Channel, OpenError};
use polypath_apps::forward::client::Client;
use polypath_apps::forward::frame::Destination;
use polypath_apps::forward::mux::Limits;
use polypath_apps::forward::server::{Server, ServerOptions};
use polypath_apps::forward::watch::let_outlive_outages;
use polypath_apps::mirror::host::Mirrors;
use polypath_net::{AssocConfig, Association, Config, Encapsulation, Endpoint};
use tokio::net::TcpListener;

const PORT: u16 = 5000;
const PATIENCE: Duration = Duration::from_secs(20);

/// What hangs fails.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

/// Addresses that no other test has.
fn addresses() -> [IpAddr; 2] {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let net = NEXT.fetch_add(1, Ordering::Relaxed);
    [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(127, 21, net, host)))
}

fn stack(streams: u16, buffer: u32) -> AssocConfig {
    let mut assoc = (*Config::insecure_client([]).assoc).clone();
    (assoc.outbound_streams, assoc.inbound_streams) = (streams, streams);
    (assoc.receive_buffer, assoc.send_buffer) = (buffer, buffer.into());
    let_outlive_outages(&mut assoc);
    assoc
}

/// How two ends are to be.
struct Setting {
    permit: String,
    permit_listen: String,
    limits: Limits,
    connections: usize,
    streams: u16,
    /// What the server says.
    told: Arc<Mutex<Vec<String>>>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            permit: "anywhere:*".to_owned(),
            permit_listen: String::new(),
            limits: Limits { connections: 1000, waiting: 1 << 20 },
            connections: 10_000,
            streams: 2001,
            told: Arc::default(),
        }
    }
}

/// A client, a server, and the association between them.
struct Pair {
    client: Arc<Client>,
    server: Arc<Server>,
    association: Arc<Association>,
    /// Carries connections over it.
    carrying: tokio::task::JoinHandle<()>,
    endpoints: (Endpoint, Endpoint),
}

/// A server, and where it is to be found.
fn open_server(at: IpAddr, setting: &Setting) -> (Arc<Server>, Endpoint) {
    let options = ServerOptions {
        permits: setting.permit.parse().unwrap(),
        permit_listen: setting.permit_listen.parse().unwrap_or_default(),
        limits: setting.limits,
        connections: setting.connections,
        listeners: 4,
        silence: Duration::from_secs(60),
        // Two for one source: the place of one that ends is free a moment later.
        mirrors: Mirrors::new(8, [at]),
    };
    let told = setting.told.clone();
    let tell = move |line: &str| told.lock().unwrap().push(line.to_owned());
    let server = Server::new(options, tell).unwrap();
    let config = Config::insecure_server([at], PORT).encapsulation(Encapsulation::Udp(0));
    let endpoint = Endpoint::bind(config.assoc(stack(setting.streams, 2 << 20))).unwrap();
    (server, endpoint)
}

/// A server that serves whoever connects.
fn serve(at: IpAddr, setting: &Setting) -> (Arc<Server>, Endpoint) {
    let (server, endpoint) = open_server(at, setting);
    let (accepting, serving) = (endpoint.clone(), server.clone());
    tokio::spawn(async move {
        let door = Door::new(Places { all: 8, per_source: 8 });
        while let Some(association) = accepting.accept().await {
            let place = door.admit_guest(at).unwrap();
            tokio::spawn(serving.clone().serve(Arc::new(association), place));
        }
    });
    (server, endpoint)
}

/// An association of a client with the endpoint of a server.
async fn connect(
    ours: IpAddr,
    there: &Endpoint,
    setting: &Setting,
) -> (Endpoint, Arc<Association>) {
    let config = Config::insecure_client([ours]).assoc(stack(setting.streams, 2 << 20));
    let here = Endpoint::bind(config).unwrap();
    let association = soon(here.connect(&there.local_addresses(), PORT)).await.unwrap();
    (here, Arc::new(association))
}

impl Pair {
    async fn new(setting: Setting) -> Self {
        let [ours, theirs] = addresses();
        let (server, there) = serve(theirs, &setting);
        let (here, association) = connect(ours, &there, &setting).await;
        let client = Client::new(setting.limits, Duration::from_secs(60)).unwrap();
        let (carries, carried) = (client.clone(), association.clone());
        let (ready, is_ready) = tokio::sync::oneshot::channel();
        let carrying = tokio::spawn(async move {
            carries.carry(carried, || ready.send(()).unwrap()).await;
        });
        soon(is_ready).await.unwrap();
        Self { client, server, association, carrying, endpoints: (here, there) }
    }

    async fn open(&self, to: SocketAddr) -> Result<Channel, OpenError> {
        let to = Destination::Place(to.to_string().parse().unwrap());
        soon(self.client.open(&to)).await
    }
}

/// A TCP port that listens.
async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}
