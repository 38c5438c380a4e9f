//! A device that takes next to nothing fills its socket's send buffer. What goes over other devices
//! goes on.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use polypath_hostile::{Field, Kind, PORT, Pace, Victim, exchange_messages, transfer_for};
use polypath_net::{Association, Config, Endpoint, FourTuple};

/// Bytes: the least that the kernel gives. A few packets fill it.
const SMALL_BUFFER: usize = 2 << 10;

fn slow_down(field: &Field, device: &str) {
    let mut tc = Command::new("tc");
    tc.args(["qdisc", "add", "dev", device, "root"]);
    tc.args(["tbf", "rate", "20kbit", "burst", "3000", "limit", "100mb"]);
    let done = field.client.spawn(&mut tc).and_then(|mut tc| tc.wait());
    assert!(done.expect("tc (iproute2)").success(), "tc on {device}");
}

/// An association with the server on wire `n`.
async fn over(client: &Endpoint, n: usize) -> Association {
    let (there, _) = Field::two_paths();
    let local = client.local_addresses()[n];
    let remote = (there[n], Kind::COMMON.port()).into();
    let path = [FourTuple { local, remote }];
    client.connect_paths(&path, PORT, Arc::default()).await.expect("the victim answers")
}

#[tokio::test]
async fn a_full_socket_holds_up_no_other() {
    let Some(field) = Field::build() else { return };
    let (there, here) = Field::two_paths();
    let _servers =
        there.map(|at| Victim::start_at(&field.victim, Kind::COMMON, &at.to_string(), &[]));
    let config = Config::insecure_client(here).socket_buffer(SMALL_BUFFER);
    let client = field.client.run(|| Endpoint::bind(config)).unwrap().unwrap();
    let (slow, fast) = (over(&client, 0).await, over(&client, 1).await);
    slow_down(&field, Field::DEVICES[0]);
    let greedy = async { transfer_for(&slow, Pace::Greedy, Duration::from_secs(8)).await };
    let modest = async {
        // By then the slow device's socket is full.
        tokio::time::sleep(Duration::from_millis(500)).await;
        tokio::time::timeout(Duration::from_secs(5), exchange_messages(&fast, 200)).await
    };
    let (carried, answered) = tokio::join!(greedy, modest);
    answered.expect("200 messages over the other device in 5 s").expect("all answers are right");
    eprintln!("{carried} bytes over the slow device");
    slow.abort("done");
    fast.abort("done");
}
