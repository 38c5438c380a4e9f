//! An application that depends on `polypath` alone: what it cannot do, nobody can who types `cargo
//! add polypath`.

mod executor;
/// That of the tutorial docs/tutorials/first-scheduler.md.
#[path = "../../../crates/polypath/examples/first_scheduler/scheduler.rs"]
mod scheduler;
mod statistics;

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::thread;

use executor::block_on;
use polypath::policy::Registry;
use polypath::{
    AssocBuilder, Association, Bytes, Config, Encapsulation, Endpoint, Identity, PathAdmin, Profile,
    SendError, SendOptions, SendRefusal, Tls, Trust,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The SCTP port of the server.
const PORT: u16 = 7;
/// Messages that fill the send buffer, and then some.
const MESSAGES: usize = 400;
/// Bytes of each.
const SIZE: usize = 1000;

fn main() -> Outcome<()> {
    let here = |last| IpAddr::from([127, 0, 0, last]);
    let (ours, theirs) = (Identity::generate()?, Identity::generate()?);
    let keys = |of: &Identity, peer: &Identity| {
        Tls::new(of, Trust::pinned([peer.public().fingerprint()]))
    };
    let server = Config::server([here(1), here(2)], PORT, keys(&theirs, &ours))
        .encapsulation(Encapsulation::Udp(0));
    let server = Endpoint::bind(server.assoc(by_name()?))?;
    let at = server.local_addresses();
    let received = thread::spawn(move || block_on(receive(&server)));

    let client = Config::client([here(3), here(4)], keys(&ours, &theirs));
    let client = Endpoint::bind(client.assoc(of_our_own()?))?;
    block_on(send(&client, &at))?;
    println!("{:?}", statistics::of_endpoint(&client));
    let received = received.join().map_err(|_| "the server's thread panicked")??;
    assert_eq!(received, MESSAGES * SIZE, "bytes that arrived");
    Ok(())
}

/// A scheduler that Polypath knows by its name; what it does not know is refused.
fn by_name() -> Outcome<std::sync::Arc<polypath::AssocConfig>> {
    let unknown = AssocBuilder::default().path_scheduler("nonsense").build();
    assert!(unknown.is_err_and(|error| error.to_string().contains("min-rtt")));
    let settings = AssocBuilder::new("paper".parse::<Profile>()?).path_scheduler("min-rtt");
    Ok(settings.build()?)
}

/// A scheduler of our own.
fn of_our_own() -> Outcome<std::sync::Arc<polypath::AssocConfig>> {
    let mut registry = Registry::builtin();
    registry.add(scheduler::ENTRY)?;
    let settings = AssocBuilder::new(Profile::Fast).path_scheduler("most-room?reserve=1500");
    Ok(settings.buffers(64 << 10).build_from(&registry)?)
}

async fn receive(server: &Endpoint) -> Outcome<usize> {
    let association = server.accept().await.ok_or("the server was closed")?;
    let mut bytes = 0;
    while let Some(message) = association.recv().await? {
        assert_eq!(message.ppid, 51);
        bytes += message.data.len();
    }
    Ok(bytes)
}

async fn send(client: &Endpoint, server: &[SocketAddr]) -> Outcome<()> {
    let association = client.connect(server, PORT).await?;
    assert_eq!(association.peer_port(), Some(PORT));
    assert!(association.is_protected() && association.peer_identity().is_some());
    let blocked = send_all(&association).await?;
    assert!(blocked > 0, "the send buffer was never full");
    change_settings(&association)?;
    println!("{}", statistics::of_association(&association));
    println!("{:?}", statistics::path_settings(&association));
    association.shutdown().await?;
    Ok(())
}

/// Sends without waiting where there is room, and waits where there is none. How often there was
/// none.
async fn send_all(association: &Association) -> Outcome<usize> {
    let data = Bytes::from(vec![0xa5; SIZE]);
    let options = SendOptions { ppid: 51, ..SendOptions::default() };
    let mut blocked = 0;
    for _ in 0..MESSAGES {
        match association.try_send(0, data.clone(), options) {
            Ok(_) => {}
            Err(SendError::Refused(SendRefusal::WouldBlock)) => {
                blocked += 1;
                association.send_with(0, data.clone(), options).await?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(blocked)
}

/// What may change while the association lives.
fn change_settings(association: &Association) -> Outcome<()> {
    let mut settings = association.settings().ok_or("the association is over")?;
    settings.assoc_max_retrans = 4;
    association.set_settings(settings)?;
    for path in association.paths() {
        association.set_path_admin(path.stats.path, PathAdmin::Active);
    }
    Ok(())
}
