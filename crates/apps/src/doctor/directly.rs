//! SCTP directly over IP, where UDP gets no answer.

use std::net::SocketAddr;
use std::time::Duration;

use polypath_net::{ConnectError, Encapsulation, FourTuple, LocalAddress};

use super::opened::Opened;
use super::report::Directly;
use super::setup::Setup;

/// How long an answer may take: it comes from where UDP was already waited for.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What comes of an INIT by IP protocol 132; `None`: this host may not send any.
pub(super) async fn try_directly(
    opened: &Opened,
    setup: &Setup,
    local: &LocalAddress,
    remote: SocketAddr,
) -> Option<Directly> {
    let config = setup.config.clone().local([local.clone()]).encapsulation(Encapsulation::Raw);
    let endpoint = opened.bind(config).ok()?;
    let path = FourTuple {
        local: SocketAddr::new(local.address, 0),
        remote: SocketAddr::new(remote.ip(), 0),
    };
    let paths = [path];
    let connecting = endpoint.connect_paths(&paths, setup.port, setup.assoc.clone());
    Some(match tokio::time::timeout(PATIENCE, connecting).await {
        Ok(Ok(association)) => {
            association.abort("it was only a question");
            Directly::Answered
        }
        Ok(Err(ConnectError::Rejected { .. } | ConnectError::Closed(_))) => Directly::Answered,
        Ok(Err(ConnectError::Unreachable { why, .. })) if says_no_protocol(&why) => {
            Directly::Reached
        }
        Ok(Err(_)) | Err(_) => Directly::NoAnswer,
    })
}

/// ICMP protocol unreachable, in the system's words.
fn says_no_protocol(why: &str) -> bool {
    let word = std::io::Error::from_raw_os_error(nix::errno::Errno::ENOPROTOOPT as i32);
    let word = word.to_string().to_ascii_lowercase();
    let word = word.split(" (os error").next().unwrap_or(&word);
    why.to_ascii_lowercase().contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_the_protocol_says_so() {
        assert!(says_no_protocol("10.0.0.1:0 -> 10.0.0.2:0: protocol not available"));
        assert!(!says_no_protocol("10.0.0.1:0 -> 10.0.0.2:0: connection refused"));
    }
}
