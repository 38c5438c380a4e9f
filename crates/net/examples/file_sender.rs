//! Sends a file to the echo server over one path per local address, and checks what comes back.
//!
//! `cargo run -p polypath-net --example file_sender -- pp:... Cargo.toml
//! 127.0.0.1:9899,127.0.0.2:9899 127.0.0.3 127.0.0.4`, with the fingerprint that the server prints

use std::error::Error;
use std::net::{IpAddr, SocketAddr};

use polypath_net::{Bytes, Config, Endpoint, Identity, Tls, Trust};

const ECHO: u16 = 7;
const PIECE: usize = 16 << 10;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(peer), Some(path), Some(server)) = (args.next(), args.next(), args.next()) else {
        return Err("arguments: FINGERPRINT FILE SERVER:PORT[,SERVER:PORT] LOCAL...".into());
    };
    let keys = Tls::new(&Identity::generate()?, Trust::pinned([peer.parse()?]));
    let local = args.map(|a| a.parse()).collect::<Result<Vec<IpAddr>, _>>()?;
    let server = server.split(',').map(str::parse).collect::<Result<Vec<SocketAddr>, _>>()?;
    let file = Bytes::from(std::fs::read(path)?);

    let endpoint = Endpoint::bind(Config::client(local, keys))?;
    let association = endpoint.connect(&server, ECHO).await?;
    let sending = async {
        // In order on stream 0. Each piece is a view of the file, not a copy.
        for start in (0..file.len()).step_by(PIECE) {
            association.send(0, file.slice(start..file.len().min(start + PIECE))).await?;
        }
        Ok::<_, Box<dyn Error>>(())
    };
    let checking = async {
        let mut at = 0;
        while at < file.len() {
            let Some(message) = association.recv().await? else { break };
            let same = file.get(at..at + message.data.len()) == Some(&message.data[..]);
            at += message.data.len();
            if !same {
                return Err(format!("byte {at}: something else came back").into());
            }
        }
        Ok(at)
    };
    let ((), checked) = tokio::try_join!(sending, checking)?;
    association.shutdown().await?;
    println!("{checked} of {} bytes came back as they were sent", file.len());
    for path in association.paths() {
        let stats = &path.stats;
        println!("{} -> {}: {} bytes", stats.local, stats.remote, stats.payload_bytes);
    }
    Ok(())
}
