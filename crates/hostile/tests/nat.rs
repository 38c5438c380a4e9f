//! Two clients behind one address translator with the same SCTP port: both work, and neither gets
//! anything of the other.

use std::time::Duration;

use polypath_hostile::{Kind, Nat, NatKind, Victim, exchange_messages, receive_all};
use polypath_net::{Config, Encapsulation, Endpoint};

/// Both clients' SCTP port, and their UDP port inside.
const SAME: u16 = 6000;

/// Messages of each exchange.
const MESSAGES: u32 = 50;

const PATIENCE: Duration = Duration::from_secs(10);

fn client(nat: &Nat, n: u8) -> Endpoint {
    let local = [Nat::client(n)];
    let config = Config::insecure_client(local).port(SAME).encapsulation(Encapsulation::Udp(SAME));
    let bind = || Endpoint::bind(config);
    nat.clients[usize::from(n)].run(bind).expect("the namespace").expect("the client binds")
}

async fn both_work(kind: NatKind) {
    let Some(nat) = Nat::build(kind) else { return };
    let _victim = Victim::start_with(&nat.victim, Kind::COMMON, &[]);
    let (first, second) = (client(&nat, 0), client(&nat, 1));
    let there = Kind::COMMON.victim();
    let a = receive_all(&first, there, MESSAGES).await.expect("the first client is served");
    let b = receive_all(&second, there, MESSAGES).await.expect("the second client is served");
    let again =
        |association| tokio::time::timeout(PATIENCE, exchange_messages(association, MESSAGES));
    again(&a).await.expect("in time").expect("the first still gets its own answers");
    again(&b).await.expect("in time").expect("and so does the second");
}

#[tokio::test]
async fn ports_that_are_kept() {
    both_work(NatKind::Plain).await;
}

#[tokio::test]
async fn random_ports() {
    both_work(NatKind::Random).await;
}

#[tokio::test]
async fn ports_of_a_range() {
    both_work(NatKind::Range).await;
}
