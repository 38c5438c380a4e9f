//! A peer whose process is killed: its host says so, in plain, and is believed once nothing
//! protected comes any more.

use std::io::{BufRead, BufReader, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use polypath_net::{CloseReason, Endpoint, Identity, PublicKey, Tls, Trust};

use super::{PORT, client_config, identity, print, server_config, soon};

/// Names the process that is to be the server.
const SERVER: &str = "POLYPATH_TEST_SERVER";

/// Not a test: the server, in a process of its own, which says where it is.
#[tokio::test]
async fn serve() {
    let Ok(pem) = std::env::var(SERVER) else { return };
    let identity = Identity::from_pkcs8_pem(&pem).unwrap();
    let keys = Tls::new(&identity, Trust::anyone());
    let server = Endpoint::bind(server_config(&[2], keys)).unwrap();
    println!("\nserver at {}", server.local_addresses()[0]);
    std::io::stdout().flush().unwrap();
    let association = server.accept().await.unwrap();
    while let Ok(Some(message)) = association.recv().await {
        association.send(0, message.data).await.unwrap();
    }
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _status = self.0.wait();
    }
}

fn start(identity: &Identity) -> (Server, SocketAddr) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let arguments = ["killed::serve", "--exact", "--nocapture"];
    command.args(arguments).env(SERVER, identity.to_pkcs8_pem().as_str());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("server at ").and_then(|at| at.parse().ok()));
    (Server(child), said.expect("where it is"))
}

#[tokio::test]
async fn the_end_of_a_killed_peer_is_known_soon() {
    let (ours, theirs) = (identity(), identity());
    let (server, at) = start(&theirs);
    let keys = Tls::new(&ours, Trust::pinned([print(&theirs)]));
    let client = Endpoint::bind(client_config(&[1], keys)).unwrap();
    let association = soon(client.connect(&[at], PORT)).await.unwrap();
    assert_eq!(
        association.peer_identity().as_ref().map(PublicKey::spki),
        Some(theirs.public().spki())
    );
    association.send(0, "hello").await.unwrap();
    assert_eq!(soon(association.recv()).await.unwrap().unwrap().data, "hello");
    drop(server);
    association.send(0, "are you there").await.unwrap();
    // Two RTO from what its host answers, 0.4 s where nobody is in the way; never tens of seconds.
    let end = tokio::time::timeout(Duration::from_secs(5), association.closed()).await;
    assert_eq!(end.expect("soon"), CloseReason::PeerGone);
}
