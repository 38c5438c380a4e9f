//! What the victim does: it answers every message with what proves that it arrived whole.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::net::IpAddr;

use polypath_net::{
    Association, Config, DEFAULT_PORT, Encapsulation, Endpoint, Identity, Tls, Trust,
};

use crate::runtime::block_on;

/// The victim's SCTP port.
pub const PORT: u16 = 5000;

/// Associations at the same time: enough to see what each costs.
const ASSOCIATIONS: usize = 100_000;

/// What the victim answers to a message.
pub fn answer_to(message: &[u8]) -> [u8; 8] {
    let mut hasher = DefaultHasher::new();
    message.hash(&mut hasher);
    hasher.finish().to_be_bytes()
}

/// The argument of a victim that protects its associations and lets everybody in.
pub const PROTECTED: &str = "protected";

/// The argument of a victim that protects its associations and lets nobody in.
pub const CLOSED: &str = "closed";

/// Listens as the arguments `udp|raw ADDRESS[,ADDRESS] [BUFFER|protected|closed]` have it, says
/// "ready", and ends the process when its input ends. BUFFER: what to ask the kernel for per socket
/// and direction, bytes.
///
/// # Panics
/// When they make no sense, or the addresses are not this host's.
pub fn serve(arguments: &[String]) {
    let [how, addresses, rest @ ..] = arguments else {
        panic!("udp|raw ADDRESS[,ADDRESS] [BUFFER|protected|closed]")
    };
    let addresses: Vec<IpAddr> =
        addresses.split(',').map(|a| a.parse().expect("ADDRESS is one")).collect();
    let option = rest.first().map(String::as_str);
    let mut config = match option {
        Some(PROTECTED) => Config::server(addresses, PORT, keys(Trust::anyone())),
        Some(CLOSED) => Config::server(addresses, PORT, keys(Trust::pinned([]))),
        _ => Config::insecure_server(addresses, PORT),
    };
    config.encapsulation = match how.as_str() {
        "raw" => Encapsulation::Raw,
        _ => Encapsulation::Udp(DEFAULT_PORT),
    };
    if let Some(buffer) = option.filter(|option| ![PROTECTED, CLOSED].contains(option)) {
        config.socket_buffer = buffer.parse().expect("BUFFER is a number");
    }
    (config.max_associations, config.max_associations_per_address) = (ASSOCIATIONS, ASSOCIATIONS);
    block_on(listen_forever(config));
}

/// A new identity, and whom it lets in.
pub(crate) fn keys(trust: Trust) -> Tls {
    Tls::new(&Identity::generate().expect("random numbers"), trust)
}

async fn listen_forever(config: Config) {
    let endpoint = Endpoint::bind(config).expect("the addresses are this host's");
    tokio::task::spawn_blocking(|| {
        println!("ready");
        std::io::stdout().flush().expect("somebody reads");
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    while let Some(association) = endpoint.accept().await {
        tokio::spawn(answer_messages(association));
    }
}

async fn answer_messages(association: Association) {
    while let Ok(Some(message)) = association.recv().await {
        let answer = answer_to(&message.data).to_vec();
        if association.send(message.stream.0, answer).await.is_err() {
            return;
        }
    }
}
