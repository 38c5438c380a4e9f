//! A server of `perf` among strangers who take places and say nothing. Over the loopback device,
//! without assertions about speed.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use polypath_apps::admission::Places;
use polypath_apps::perf::{
    ClientOptions, Limits, Load, PerfError, Progress, Server, ServerOptions, Session,
    SessionUpdate, TestSpec, Way, run_client, stop_switch,
};
use polypath_net::{Association, Config, Encapsulation, Endpoint, Pairing, SendOptions};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 9, last])
}

/// A server of few places, at work.
struct Serving {
    at: Vec<SocketAddr>,
    port: u16,
    updates: mpsc::UnboundedReceiver<SessionUpdate>,
    task: JoinHandle<()>,
    _switch: watch::Sender<bool>,
}

impl Serving {
    fn new(at: u8, places: Places, one_off: bool) -> Self {
        let endpoint = Config::insecure_server([ip(at)], 5000);
        let endpoint = endpoint.encapsulation(Encapsulation::Udp(0));
        let options = ServerOptions { endpoint, places, one_off, limits: Limits::default() };
        let server = Server::bind(options).unwrap();
        let (at, port) = (server.local_addresses(), server.port());
        let (observer, updates) = mpsc::unbounded_channel();
        let (switch, stop) = stop_switch();
        let task = tokio::spawn(server.run(observer, stop));
        Self { at, port, updates, task, _switch: switch }
    }

    /// The outcome of a test that somebody at `from` asks for.
    async fn test(&self, from: u8, parallel: u16) -> Result<(), PerfError> {
        let test = TestSpec {
            duration_ms: 100,
            omit_ms: 0,
            interval_ms: 100,
            way: Way::Forward,
            streams: 1,
            size: 1000,
            unordered: false,
            load: Load::Rate(8_000_000),
        };
        let options = ClientOptions {
            endpoint: Config::insecure_client([ip(from)]),
            remote: self.at.clone(),
            port: self.port,
            pairing: Pairing::Auto,
            parallel,
            test,
            connect_timeout: Duration::from_secs(10),
        };
        let (progress, _nobody) = mpsc::unbounded_channel::<Progress>();
        let (_switch, stop) = stop_switch();
        let report = run_client(options, progress, stop, |_| {}).await?;
        assert_eq!(report.error(), None);
        assert_eq!(report.associations.len(), usize::from(parallel));
        Ok(())
    }

    /// Somebody sets an association up, and says nothing.
    async fn stranger(&self, from: u8) -> Stranger {
        let endpoint = Endpoint::bind(Config::insecure_client([ip(from)])).unwrap();
        let association = endpoint.connect(&self.at, self.port).await.unwrap();
        Stranger { association, _endpoint: endpoint }
    }

    async fn ended(&mut self) -> Session {
        loop {
            if let SessionUpdate::Ended(session) = self.updates.recv().await.unwrap() {
                return *session;
            }
        }
    }
}

struct Stranger {
    association: Association,
    _endpoint: Endpoint,
}

impl Stranger {
    /// Speaks as a client does.
    async fn say(&self, json: &str) {
        let options = SendOptions { ppid: 0x5050_0001, ..SendOptions::default() };
        self.association.send_with(0, json.to_owned(), options).await.unwrap();
    }
}

const HELLO: &str = r#"{"type":"hello","version":1,"group":77,"parallel":1,"clock":null,"test":
    {"duration_ms":1000,"omit_ms":0,"interval_ms":1000,"way":"forward","streams":1,"size":1000,
    "unordered":false,"load":"saturated"}}"#;

#[tokio::test]
async fn those_who_say_nothing_keep_nobody_out() {
    let serving = Serving::new(1, Places { all: 6, per_source: 4 }, false);
    let mut strangers = Vec::new();
    for from in [2, 2, 2, 2, 3, 3, 3, 3] {
        strangers.push(serving.stranger(from).await);
    }
    // From elsewhere, and from the strangers' own address, with all the places that one address may
    // have.
    serving.test(4, 1).await.unwrap();
    serving.test(2, 4).await.unwrap();
    drop(strangers);
}

#[tokio::test]
async fn those_who_said_hello_stay_and_have_no_more_than_their_share() {
    let mut serving = Serving::new(11, Places { all: 6, per_source: 2 }, false);
    let (first, second) = (serving.stranger(12).await, serving.stranger(12).await);
    for stranger in [&first, &second] {
        stranger.say(HELLO).await;
        let ready = stranger.association.recv().await.unwrap().unwrap();
        assert!(ready.data.starts_with(br#"{"type":"ready""#), "{ready:?}");
    }
    let refused = serving.test(12, 1).await.unwrap_err().to_string();
    assert!(refused.contains("127.0.9.12 has 2 associations here"), "{refused}");
    serving.test(13, 2).await.unwrap();
    first.association.abort("enough");
    let left = serving.ended().await;
    assert!(left.error.is_some() || left.test.is_some());
    assert!(!second.association.is_closed());
}

#[tokio::test(start_paused = true)]
async fn a_hello_has_ten_seconds() {
    let mut serving = Serving::new(21, Places { all: 6, per_source: 4 }, false);
    let endpoint = Endpoint::bind(Config::insecure_client([ip(22)])).unwrap();
    // The clock of this runtime jumps to the next timer while the network is waited for; there is
    // none but the server's patience.
    let _association = endpoint.connect(&serving.at, serving.port).await;
    let session = serving.ended().await;
    assert_eq!(session.error.as_deref(), Some("no greeting within 10 s"));
}

#[tokio::test]
async fn a_server_of_one_test_waits_for_a_test() {
    let serving = Serving::new(31, Places { all: 6, per_source: 4 }, true);
    serving.stranger(32).await.association.abort("");
    let talker = serving.stranger(33).await;
    talker.say(HELLO).await;
    talker.association.recv().await.unwrap();
    talker.association.abort("");
    talker.association.closed().await;
    // The server may not have heard of it yet.
    while matches!(serving.test(34, 2).await, Err(PerfError::Refused(_))) {}
    tokio::time::timeout(Duration::from_secs(30), serving.task).await.unwrap().unwrap();
}

#[tokio::test]
async fn many_associations_of_one_client_are_let_in() {
    let serving = Serving::new(41, Places { all: 64, per_source: 32 }, false);
    serving.test(42, 32).await.unwrap();
}
