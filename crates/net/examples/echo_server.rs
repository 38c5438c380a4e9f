//! Sends every message back on the stream that it came on, to any number of peers at once.
//!
//! `cargo run -p polypath-net --example echo_server -- 127.0.0.1 127.0.0.2`

use std::error::Error;
use std::net::IpAddr;

use polypath_net::{Association, Config, Endpoint, Identity, SendError, Tls, Trust};

/// The SCTP port of echo (RFC 862).
const ECHO: u16 = 7;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let addresses =
        std::env::args().skip(1).map(|a| a.parse()).collect::<Result<Vec<IpAddr>, _>>()?;
    let identity = Identity::generate()?;
    let keys = Tls::new(&identity, Trust::anyone());
    // An error without addresses: nothing listens on all of them by itself.
    let endpoint = Endpoint::bind(Config::server(addresses, ECHO, keys))?;
    for warning in endpoint.warnings() {
        eprintln!("warning: {warning}");
    }
    eprintln!("echo at {:?}, SCTP port {ECHO}", endpoint.local_addresses());
    eprintln!("we are {}", identity.public().fingerprint());
    while let Some(association) = endpoint.accept().await {
        tokio::spawn(async move {
            match echo(&association).await {
                Ok(count) => println!("{association:?}: {count} messages"),
                Err(error) => println!("{association:?}: {error}"),
            }
        });
    }
    Ok(())
}

/// Until the peer says goodbye. Who reads slowly is read from slowly: `send` waits while the buffer
/// is full.
async fn echo(association: &Association) -> Result<u64, SendError> {
    let mut count = 0;
    while let Some(message) = association.recv().await? {
        let last = association.streams().0.saturating_sub(1);
        association.send(message.stream.0.min(last), message.data).await?;
        count += 1;
    }
    Ok(count)
}
