//! Which kind of translator or firewall is on the way, in the words of RFC 4787.

use std::net::SocketAddr;
use std::time::Duration;

use polypath_net::LocalAddress;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::echo::{Question, ask_all, listen};
use super::report::Dependence;
use super::visit::Visit;
use crate::mirror::probe::Pushed;
use crate::mirror::socket::ProbeSocket;
use crate::mirror::words::{Cookie, SOCKETS};

/// How long packets from strangers may take.
const PATIENCE: Duration = Duration::from_millis(1200);
/// Sockets that wait for them: one packet may be lost.
const WAITING: usize = 2;

/// How a mirror's sockets saw one of ours: two ports of one address, and another address.
pub(super) fn judge_mapping(seen: [Option<SocketAddr>; SOCKETS]) -> Option<Dependence> {
    let [here, other_port, other_address] = seen;
    let here = here?;
    Some(match (other_port? == here, other_address) {
        (false, _) => Dependence::AddressAndPortDependent,
        (true, None) => Dependence::NotPortDependent,
        (true, Some(there)) if there == here => Dependence::EndpointIndependent,
        (true, Some(_)) => Dependence::AddressDependent,
    })
}

/// Whose packets came in: from another port, and from another address; `None`: nothing can come
/// from there anyway.
pub(super) fn judge_filtering(came: [Option<bool>; 2]) -> Option<Dependence> {
    match came {
        [_, Some(true)] => Some(Dependence::EndpointIndependent),
        [Some(true), Some(false)] => Some(Dependence::AddressDependent),
        [Some(true), None] => Some(Dependence::NotPortDependent),
        [Some(false), _] => Some(Dependence::AddressAndPortDependent),
        [None, _] => None,
    }
}

/// Has the mirror send from sockets to which we sent nothing. `works`: which of its sockets are
/// known to be reached.
pub(super) async fn try_filtering(
    visit: &Visit,
    local: &LocalAddress,
    works: [bool; SOCKETS],
) -> Option<Dependence> {
    let [true, rest @ ..] = works else { return None };
    let mut ways = Vec::new();
    for _ in 0..WAITING {
        ways.extend(open_way_in(visit, local).await);
    }
    if ways.is_empty() {
        return None;
    }
    let numbers: Vec<u8> = (1..).zip(rest).filter(|(_, works)| *works).map(|(n, _)| n).collect();
    for (_, cookie) in &ways {
        for number in &numbers {
            visit.send(*number, *cookie).await;
        }
    }
    let [_, port, address] = listen_to_all(ways, &numbers).await;
    let [port_works, address_works] = rest;
    judge_filtering([port_works.then_some(port), address_works.then_some(address)])
}

/// From which of the mirror's sockets, of these numbers, a packet came in by any of the ways.
async fn listen_to_all(ways: Vec<(ProbeSocket, Cookie)>, numbers: &[u8]) -> [bool; SOCKETS] {
    let deadline = Instant::now() + PATIENCE;
    let mut listening = JoinSet::new();
    for (socket, cookie) in ways {
        let numbers = numbers.to_vec();
        listening.spawn(async move { listen_to(&socket, cookie, &numbers, deadline).await });
    }
    let mut came = [false; SOCKETS];
    while let Some(one) = listening.join_next().await {
        came.iter_mut().zip(one.unwrap_or_default()).for_each(|(came, one)| *came |= one);
        // The other ways can tell no more.
        if came_from_all(&came, numbers) {
            break;
        }
    }
    came
}

async fn listen_to(
    socket: &ProbeSocket,
    cookie: Cookie,
    numbers: &[u8],
    deadline: Instant,
) -> [bool; SOCKETS] {
    let mut came = [false; SOCKETS];
    listen(socket, deadline, |packet| {
        let pushed = Pushed::from_bytes(packet.bytes).filter(|pushed| pushed.cookie == cookie);
        if let Some(came) = pushed.and_then(|p| came.get_mut(usize::from(p.socket))) {
            *came = true;
        }
        came_from_all(&came, numbers)
    })
    .await;
    came
}

fn came_from_all(came: &[bool; SOCKETS], numbers: &[u8]) -> bool {
    numbers.iter().all(|number| came.get(usize::from(*number)) == Some(&true))
}

/// A new socket that only the mirror's first socket has answered, and its cookie.
pub(super) async fn open_way_in(
    visit: &Visit,
    local: &LocalAddress,
) -> Option<(ProbeSocket, Cookie)> {
    let socket = ProbeSocket::bind(local).ok()?;
    let echoes = ask_all(visit, &socket, &[Question::plain(0)]).await?;
    let [echo] = echoes.answers;
    Some((socket, echo?.answer.cookie))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_have_the_kinds_of_rfc_4787() {
        let at = |port: u16| Some(SocketAddr::from(([198, 51, 100, 7], port)));
        for (seen, kind) in [
            ([at(1), at(1), at(1)], Some(Dependence::EndpointIndependent)),
            ([at(1), at(1), at(2)], Some(Dependence::AddressDependent)),
            ([at(1), at(2), at(3)], Some(Dependence::AddressAndPortDependent)),
            ([at(1), at(2), None], Some(Dependence::AddressAndPortDependent)),
            ([at(1), at(1), None], Some(Dependence::NotPortDependent)),
            ([at(1), None, at(1)], None),
            ([None, at(1), at(1)], None),
        ] {
            assert_eq!(judge_mapping(seen), kind, "{seen:?}");
        }
    }

    #[test]
    fn filters_have_the_kinds_of_rfc_4787() {
        for (came, kind) in [
            ([Some(true), Some(true)], Some(Dependence::EndpointIndependent)),
            ([Some(false), Some(true)], Some(Dependence::EndpointIndependent)),
            ([Some(true), Some(false)], Some(Dependence::AddressDependent)),
            ([Some(false), Some(false)], Some(Dependence::AddressAndPortDependent)),
            ([Some(true), None], Some(Dependence::NotPortDependent)),
            ([Some(false), None], Some(Dependence::AddressAndPortDependent)),
            ([None, None], None),
        ] {
            assert_eq!(judge_filtering(came), kind, "{came:?}");
        }
    }
}
