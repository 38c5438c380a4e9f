//! The server that tests attack: `hostile-victim udp|raw ADDRESS[,ADDRESS] [BUFFER]`. It answers every message with what proves that it
//! arrived whole, says "ready" once it listens, and ends with its input. BUFFER: what to ask the kernel for per socket, bytes.

use std::io::{Read as _, Write as _};
use std::net::IpAddr;
use std::sync::Arc;

use polypath_hostile::{PORT, answer_to};
use polypath_net::{Association, Config, DEFAULT_PORT, Encapsulation, Endpoint};

/// Associations at the same time: enough to see what each costs.
const ASSOCIATIONS: usize = 100_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [how, addresses, rest @ ..] = &arguments[..] else {
        panic!("hostile-victim udp|raw ADDRESS[,ADDRESS] [BUFFER]")
    };
    let addresses: Vec<IpAddr> =
        addresses.split(',').map(|a| a.parse().expect("ADDRESS")).collect();
    let mut config = Config::server(addresses, PORT);
    config.encapsulation = match how.as_str() {
        "raw" => Encapsulation::Raw,
        _ => Encapsulation::Udp(DEFAULT_PORT),
    };
    if let Some(buffer) = rest.first() {
        config.socket_buffer = buffer.parse().expect("BUFFER");
    }
    (config.max_associations, config.max_associations_per_address) = (ASSOCIATIONS, ASSOCIATIONS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(serve(config));
}

async fn serve(config: Config) {
    let endpoint = Endpoint::bind(config).expect("the addresses are this host's");
    tokio::task::spawn_blocking(|| {
        println!("ready");
        std::io::stdout().flush().expect("somebody reads");
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    while let Some(association) = endpoint.accept().await {
        tokio::spawn(answer(Arc::new(association)));
    }
}

async fn answer(association: Arc<Association>) {
    while let Ok(Some(message)) = association.recv().await {
        if association.send(message.stream.0, answer_to(&message.data).to_vec()).await.is_err() {
            return;
        }
    }
}
