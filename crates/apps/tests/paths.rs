//! No path is lost in silence: paths through a relay of the test's own, which can be switched off.
//! Over the loopback device.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use polypath_apps::admission::Places;
use polypath_apps::paths;
use polypath_apps::perf::{
    ClientOptions, Limits, Load, Progress, Server, ServerOptions, TestSpec, Way, run_client,
    stop_switch, text,
};
use polypath_net::{Association, Config, Encapsulation, Endpoint, Pairing, SendOptions};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

fn ip(last: u8) -> IpAddr {
    IpAddr::from([127, 0, 10, last])
}

fn server(last: u8) -> Config {
    Config::insecure_server([ip(last)], 5000).encapsulation(Encapsulation::Udp(0))
}

/// Passes packets on between whoever speaks to it and a server, while it is on.
async fn relay(at: u8, server: SocketAddr, on: Arc<AtomicBool>) -> SocketAddr {
    let near = UdpSocket::bind((ip(at), 0)).await.unwrap();
    let far = UdpSocket::bind((ip(at), 0)).await.unwrap();
    let address = near.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut there, mut back) = (vec![0; 65_536], vec![0; 65_536]);
        let mut client = None;
        loop {
            tokio::select! {
                Ok((bytes, from)) = near.recv_from(&mut there) => {
                    client = Some(from);
                    if on.load(Ordering::Relaxed) {
                        let _ = far.send_to(&there[..bytes], server).await;
                    }
                }
                Ok((bytes, _)) = far.recv_from(&mut back) => {
                    if let Some(client) = client.filter(|_| on.load(Ordering::Relaxed)) {
                        let _ = near.send_to(&back[..bytes], client).await;
                    }
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn a_path_that_never_answered_is_told_of_at_the_end_and_in_json() {
    let places = Places { all: 4, per_source: 2 };
    let limits = Limits::default();
    let options = ServerOptions { endpoint: server(1), places, one_off: true, limits };
    let server = Server::bind(options).unwrap();
    let (at, port) = (server.local_addresses()[0], server.port());
    let nowhere = relay(2, at, Arc::default()).await;
    let (sessions, _ended) = mpsc::unbounded_channel();
    let (_server_switch, server_stop) = stop_switch();
    tokio::spawn(server.run(sessions, server_stop));
    let test = TestSpec {
        duration_ms: 4000,
        omit_ms: 0,
        interval_ms: 1000,
        way: Way::Forward,
        streams: 1,
        size: 1000,
        unordered: false,
        load: Load::Rate(8_000_000),
    };
    let options = ClientOptions {
        endpoint: Config::insecure_client([ip(3), ip(4)]),
        remote: vec![at, nowhere],
        port,
        pairing: Pairing::Auto,
        parallel: 1,
        test,
        connect_timeout: Duration::from_secs(10),
    };
    let (progress, _nobody) = mpsc::unbounded_channel::<Progress>();
    let (_switch, stop) = stop_switch();
    let report = run_client(options, progress, stop, |_| {}).await.unwrap();
    assert_eq!(report.error(), None);
    let told = text::format_client(&report);
    let line = "path 127.0.10.4 -> 127.0.10.2: nothing ever came back (NAT or firewall?)";
    assert!(told.contains(line), "{told}");
    let json = serde_json::to_value(&report).unwrap();
    let paths = &json["associations"][0]["client"]["paths"];
    assert_eq!(paths[1]["note"], "nothing ever came back (NAT or firewall?)");
    assert!(paths[0].get("note").is_none(), "{paths}");
}

#[tokio::test]
async fn a_path_that_is_cut_in_mid_transfer_is_told_of() {
    let server = Endpoint::bind(server(11)).unwrap();
    let on = Arc::new(AtomicBool::new(true));
    let through = relay(12, server.local_addresses()[0], on.clone()).await;
    let client = Endpoint::bind(Config::insecure_client([ip(13)])).unwrap();
    let remote = [through];
    let (a, b) = tokio::join!(client.connect(&remote, 5000), server.accept());
    let (a, b) = (Arc::new(a.unwrap()), b.unwrap());
    let sender = a.clone();
    let sending = tokio::spawn(async move {
        let block = vec![0_u8; 1000];
        while sender.send_with(0, block.clone(), SendOptions::default()).await.is_ok() {}
    });
    for _ in 0..1000 {
        b.recv().await.unwrap().unwrap();
    }
    on.store(false, Ordering::Relaxed);
    let line = first_note(&a).await;
    assert!(line.starts_with("path 127.0.10.13 -> 127.0.10.12: "), "{line}");
    assert!(line.contains("last heard of ") && line.ends_with(" s ago"), "{line}");
    sending.abort();
    a.abort("enough");
}

/// The first thing that is said of its paths.
async fn first_note(association: &Association) -> String {
    for _ in 0..1200 {
        if let Some(line) = paths::explain_paths(&association.paths(), true).pop() {
            return line;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("nothing is said of {:?}", association.paths());
}
