//! This host: buffers of sockets, and what the system does for many packets at once.

use std::net::UdpSocket;

use polypath_net::{Config, Endpoint, LocalAddress, Warning};
use quinn_udp::{UdpSockRef, UdpSocketState};

use super::report::{About, Finding, Mark};

/// What is so of sockets at `local`, with an endpoint as `config` has it. To be called in a
/// runtime.
pub fn advise_host(config: &Config, local: &LocalAddress) -> Vec<Finding> {
    // What cannot be opened is told of its path.
    let Ok(endpoint) = Endpoint::bind(config.clone().local([local.clone()])) else {
        return Vec::new();
    };
    let mut findings: Vec<_> = endpoint.warnings().iter().map(advise_buffer).collect();
    if findings.is_empty() {
        let what = format!("sockets have buffers of {} MiB", config.socket_buffer >> 20);
        findings.push(finding(Mark::Ok, About::Buffers, what, None));
    }
    findings.extend(offloads(local).map(advise_offloads));
    findings
}

/// Packets that the system sends, and takes, at once.
fn offloads(local: &LocalAddress) -> Option<(usize, usize)> {
    let socket = UdpSocket::bind((local.address, 0)).ok()?;
    let state = UdpSocketState::new(UdpSockRef::from(&socket)).ok()?;
    Some((state.max_gso_segments(), state.gro_segments()))
}

fn advise_buffer(warning: &Warning) -> Finding {
    let text = warning.to_string();
    let (what, remedy) = text.rsplit_once(": ").unwrap_or((&text, ""));
    let remedy = (!remedy.is_empty()).then(|| remedy.to_owned());
    finding(Mark::Warn, About::Buffers, what.to_owned(), remedy)
}

/// `sends` and `takes` packets at once.
fn advise_offloads((sends, takes): (usize, usize)) -> Finding {
    let word = |count| if count > 1 { "in use" } else { "not there" };
    let what = format!("offloads of UDP: GSO {}, GRO {}", word(sends), word(takes));
    let remedy = (sends <= 1 || takes <= 1)
        .then(|| "Linux has GSO from 4.18 and GRO from 5.0 on; without, packets cost more".into());
    let mark = if remedy.is_some() { Mark::Warn } else { Mark::Ok };
    finding(mark, About::Offloads, what, remedy)
}

fn finding(mark: Mark, about: About, what: String, remedy: Option<String>) -> Finding {
    Finding { mark, about, path: None, what, remedy }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[tokio::test]
    async fn buffers_and_offloads_have_a_line_each() {
        let local = LocalAddress::from(IpAddr::from([127, 0, 0, 1]));
        let found = advise_host(&Config::insecure_client([]), &local);
        assert!(found.iter().any(|f| f.about == About::Buffers), "{found:?}");
        assert!(found.iter().any(|f| f.about == About::Offloads), "{found:?}");
        let small = advise_host(&Config::insecure_client([]).socket_buffer(1 << 40), &local);
        let small = small.iter().find(|f| f.mark == Mark::Warn && f.about == About::Buffers);
        let remedy = small.and_then(|f| f.remedy.as_ref());
        assert!(remedy.is_some_and(|r| r.contains("mem_max")), "no host has so large buffers");
        let without = advise_offloads((1, 64));
        assert!(without.mark == Mark::Warn && without.remedy.is_some());
    }
}
