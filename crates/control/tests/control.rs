//! A control socket as its users, and those who mean no good, find it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use polypath_control::message::{LONGEST_REQUEST, Sections, Use};
use polypath_control::{Client, Control};
use polypath_net::{Association, Config, Encapsulation, Endpoint, Observer};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Connections at a time.
const SESSIONS: usize = 16;

/// Two paths over the loopback, and the control socket of the sending end.
struct Field {
    runtime: Runtime,
    observer: Observer,
    near: Arc<Association>,
    far: Arc<Association>,
    _ends: (Endpoint, Endpoint),
    control: Control,
    _folder: TempDir,
}

impl Field {
    /// `net`: the third number of the addresses, so that tests do not meet.
    fn new(net: u8) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let observer = Observer::new();
        let at = |host: u8| [[127, 60, net, host].into(), [127, 60, net, host + 1].into()];
        let config = Config::insecure_server(at(11), 7).encapsulation(Encapsulation::Udp(0));
        let server = Endpoint::bind(config).unwrap();
        let config = Config::insecure_client(at(21)).observer(observer.clone());
        let client = Endpoint::bind(config).unwrap();
        let (near, far) = runtime.block_on(async {
            let addresses = server.local_addresses();
            let (near, far) = tokio::join!(client.connect(&addresses, 7), server.accept());
            (Arc::new(near.unwrap()), Arc::new(far.unwrap()))
        });
        let control =
            Control::open(&folder.path().join("1.sock"), observer.clone(), "test").unwrap();
        Self { runtime, observer, near, far, _ends: (client, server), control, _folder: folder }
    }

    fn client(&self) -> Client {
        Client::connect(self.control.path()).unwrap()
    }

    fn stream(&self) -> UnixStream {
        let stream = UnixStream::connect(self.control.path()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    fn exchange(&self, line: &str) -> String {
        let mut stream = self.stream();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ended = BufReader::new(stream).read_line(&mut answer);
        answer
    }

    /// Sends a message, and has it received.
    fn carry(&self, bytes: usize) {
        self.runtime.block_on(async {
            self.near.send(3, vec![7; bytes]).await.unwrap();
            let message = tokio::time::timeout(Duration::from_secs(10), self.far.recv()).await;
            assert_eq!(message.unwrap().unwrap().unwrap().data.len(), bytes);
        });
    }
}

#[test]
fn it_tells_of_associations_their_paths_and_what_limits_them() {
    let field = Field::new(1);
    field.carry(100_000);
    let status = field.client().look(Sections::Status, None).unwrap();
    assert_eq!((status.process.command.as_str(), status.process.pid), ("test", std::process::id()));
    let [association] = &status.associations[..] else { panic!("{status:?}") };
    assert_eq!((association.association, association.state.as_str()), (1, "established"));
    assert_eq!(association.totals.sent_bytes, 100_000);
    let paths = association.paths.as_ref().unwrap();
    let names: Vec<_> = paths.iter().map(|path| path.name.as_str()).collect();
    assert_eq!(names, ["127.60.1.21", "127.60.1.22"]);
    assert!(paths.iter().map(|path| path.sent_bytes).sum::<u64>() >= 100_000, "{paths:?}");
    assert!(paths.iter().all(|path| path.state == "active" && !path.trouble), "{paths:?}");
    assert!(association.limits.as_ref().is_some_and(|limits| !limits.is_empty()));

    let paths = field.client().look(Sections::Paths, Some(1)).unwrap();
    assert!(paths.associations[0].limits.is_none() && paths.associations[0].paths.is_some());
    assert!(field.client().look(Sections::Streams, Some(2)).unwrap().associations.is_empty());
}

#[test]
fn a_stream_that_waits_is_told_with_its_path() {
    let field = Field::new(2);
    // Nobody reads there, so some of it stays here.
    field.runtime.block_on(async {
        let sending = async {
            loop {
                field.near.send(5, vec![1; 60_000]).await.unwrap();
            }
        };
        let _full = tokio::time::timeout(Duration::from_secs(1), sending).await;
    });
    let status = field.client().look(Sections::Status, None).unwrap();
    let association = &status.associations[0];
    let streams = association.streams.as_ref().unwrap();
    assert_eq!(streams[0].stream, 5);
    assert!(streams[0].unsent_for > Some(0.1) && streams[0].unsent > 0, "{streams:?}");
    assert!(association.limited_by.contains("receive window"), "{}", association.limited_by);
}

#[test]
fn a_path_is_switched_off_and_on() {
    let field = Field::new(3);
    let mut client = field.client();
    assert_eq!(client.set_path("127.60.3.22", Use::Off, None).unwrap(), 1);
    let usage = |client: &mut Client| {
        let paths = client.look(Sections::Paths, Some(1)).unwrap().associations.remove(0).paths;
        paths.unwrap().iter().map(|path| (path.admin, path.limited_by.clone())).collect::<Vec<_>>()
    };
    assert_eq!(usage(&mut client)[1], (Use::Off, "switched off".to_owned()));
    assert_eq!(client.set_path("1", Use::Backup, Some(1)).unwrap(), 1);
    assert_eq!(usage(&mut client)[1].0, Use::Backup);
    let error = client.set_path("wwan0", Use::On, None).unwrap_err().to_string();
    let allowed = "(allowed: 127.60.3.21, 127.60.3.22)";
    assert_eq!(error, format!("path: there is none \"wwan0\" {allowed}"));
    assert_eq!(client.set_path("127.60.3.22", Use::On, Some(1)).unwrap(), 1);
    assert!(usage(&mut client).iter().all(|(usage, _)| *usage == Use::On));
}

#[test]
fn events_come_as_they_happen_and_the_last_is_the_end() {
    let field = Field::new(4);
    let mut events = field.client().events().unwrap();
    field.near.abort("enough");
    let last = loop {
        let event = events.next_event().unwrap().expect("the end is told");
        if event.text.starts_with("closed") {
            break event;
        }
    };
    assert_eq!(last.association, 1);
    assert!(field.client().look(Sections::Status, None).unwrap().associations.is_empty());
    drop(field);
    assert!(events.next_event().unwrap().is_none());
}

#[test]
fn what_is_no_request_is_answered_in_one_line() {
    let field = Field::new(5);
    for (line, answer) in [
        ("rubbish\n", r#"{"polypath":1,"error":"not a request: "#),
        ("\n", r#"{"polypath":1,"error":"not a request: "#),
        ("\u{1}\u{2}\n", r#"{"polypath":1,"error":"not a request: "#),
        (r#"{"polypath":1,"request":"reboot"}"#, r#"{"polypath":1,"error":"not a request: "#),
        (
            r#"{"polypath":9,"request":"events"}"#,
            r#"{"polypath":1,"error":"polypath: version 9 is not known (allowed: 1)"}"#,
        ),
        (r#"{"polypath":1,"request":"status","later":1}"#, r#"{"polypath":1,"status":{"process""#),
    ] {
        let said = field.exchange(&format!("{}\n", line.trim_end_matches('\n')));
        assert!(said.starts_with(answer), "{line:?}: {said:?}");
    }
    let long = "x".repeat(LONGEST_REQUEST + 10);
    assert_eq!(field.exchange(&long), "", "no answer, and the end");
    let deep = format!("{}\n", "[".repeat(LONGEST_REQUEST - 10));
    assert!(field.exchange(&deep).contains("error"));
}

#[test]
fn the_socket_is_its_users_alone_and_goes_with_the_process() {
    let field = Field::new(6);
    let path = field.control.path().to_owned();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let again = Control::open(&path, field.observer.clone(), "test").unwrap_err().to_string();
    assert!(again.ends_with("is there already (allowed: a name that is free)"), "{again}");
    drop(field);
    assert!(!path.exists());
    let missing = PathBuf::from("/nonexistent/1.sock");
    let error = Control::open(&missing, Observer::new(), "test").unwrap_err().to_string();
    assert!(error.starts_with("/nonexistent/1.sock: "), "{error}");
}

#[test]
fn readers_that_stall_flood_or_die_harm_nothing() {
    let field = Field::new(7);
    let asked = r#"{"polypath":1,"request":"status"}"#.to_owned() + "\n";
    let stall = || {
        let mut stream = field.stream();
        stream.set_nonblocking(true).unwrap();
        let _full = stream.write(asked.repeat(2000).as_bytes());
        stream
    };
    // Some ask and take nothing, some die in the middle.
    let mut stalled: Vec<UnixStream> = (0..4).map(|_| stall()).collect();
    for _ in 0..100 {
        let mut stream = field.stream();
        let _gone = stream.write_all(&asked.as_bytes()[..10]);
    }
    let patiently = || loop {
        match field.client().look(Sections::Status, None) {
            Ok(status) => break status,
            // Those who died have not been noticed yet.
            Err(error) => assert!(error.to_string().contains("asked by too many"), "{error}"),
        }
    };
    drop(field.client().events());
    // Others are served, and data goes on.
    for _ in 0..3 {
        field.carry(200_000);
        assert_eq!(patiently().associations.len(), 1);
    }
    // When all places are taken, who comes is told at once.
    stalled.extend((4..SESSIONS).map(|_| stall()));
    let refused = field.client().look(Sections::Status, None).unwrap_err().to_string();
    assert!(refused.contains("asked by too many"), "{refused}");
    field.carry(200_000);
    // Those who take nothing are left after a while, and their places are free.
    let mut rest = Vec::new();
    for stream in &mut stalled {
        stream.set_nonblocking(false).unwrap();
        let _ended = stream.read_to_end(&mut rest);
    }
    assert_eq!(patiently().associations.len(), 1);
}

#[test]
fn a_file_that_is_no_socket_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes");
    std::fs::write(&path, "mine").unwrap();
    let error = Control::open(&path, Observer::new(), "test").unwrap_err().to_string();
    assert!(error.ends_with("is there already (allowed: a name that is free)"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
}
