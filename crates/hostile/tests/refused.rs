//! The system refuses to send on one device of the victim: a firewall, no route, a device that is
//! down. The others go on, and nothing spins.

use std::time::Duration;

use polypath_emu::Error;
use polypath_hostile::{Field, Kind, PORT, Victim, exchange_messages, run_nft};
use polypath_net::{Association, Config, Endpoint};

/// The time for which the victim is watched.
const WATCHED: Duration = Duration::from_secs(1);

const FIREWALL: &str =
    "table inet f { chain out { type filter hook output priority 0; oifname honest drop; }; }\n";

/// A client that knows wire `n` alone, and its association with the victim there.
async fn over(field: &Field, n: usize) -> (Endpoint, Association) {
    let (there, here) = Field::two_paths();
    let config = Config::insecure_client([here[n]]);
    let client = field.client.run(|| Endpoint::bind(config)).expect("the namespace");
    let client = client.expect("the client binds");
    let to = [(there[n], Kind::COMMON.port()).into()];
    let association = client.connect(&to, PORT).await.expect("the victim answers");
    (client, association)
}

async fn others_go_on(what: &str, refuse: impl Fn(&Field) -> Result<(), Error>) {
    let Some(field) = Field::build() else { return };
    let (there, _) = Field::two_paths();
    let both = format!("{},{}", there[0], there[1]);
    let victim = Victim::start_at(&field.victim, Kind::COMMON, &both, &[]);
    let (_first, broken) = over(&field, 0).await;
    let (_second, whole) = over(&field, 1).await;
    exchange_messages(&broken, 3).await.expect("at first it works");
    refuse(&field).expect(what);
    // The victim has something to say there.
    let unheard = tokio::time::timeout(WATCHED, exchange_messages(&broken, 3)).await;
    assert!(unheard.is_err(), "{what}: nothing should come back");
    let before = victim.usage().cpu;
    tokio::time::sleep(WATCHED).await;
    let spent = victim.usage().cpu - before;
    assert!(spent < WATCHED / 4, "{what}: {spent:?} of processor time in {WATCHED:?}");
    let going_on =
        tokio::time::timeout(Duration::from_secs(8), exchange_messages(&whole, 50)).await;
    going_on.expect(what).expect("the other device's messages are answered");
    broken.abort("done");
    whole.abort("done");
}

#[tokio::test]
async fn by_a_firewall() {
    others_go_on("EPERM", |field| run_nft(&field.victim, FIREWALL)).await;
}

#[tokio::test]
async fn for_want_of_a_route() {
    let (_, [client, _]) = Field::two_paths();
    let route = format!("route add unreachable {client}/32\n");
    others_go_on("EHOSTUNREACH", |field| field.victim.run_ip_commands(&route)).await;
}

#[tokio::test]
async fn by_a_device_that_is_down() {
    others_go_on("down", |field| field.victim.run_ip_commands("link set dev honest down\n")).await;
}
