//! Which kind of translator or firewall is on the way, in the words of RFC 4787.

use std::net::SocketAddr;
use std::time::Duration;

use polypath_net::LocalAddress;
use tokio::time::Instant;

use super::echo::{Echo, Question, ask_all, listen};
use super::report::Dependence;
use super::visit::Visit;
use crate::mirror::ear::Ear;
use crate::mirror::probe::Pushed;
use crate::mirror::words::{Cookie, DOORS};

/// How long packets from strangers may take.
const PATIENCE: Duration = Duration::from_millis(1200);
/// Sockets that wait for them: one packet may be lost.
const WAITING: usize = 2;

/// How a mirror's sockets saw one of ours: two ports of one address, and another address.
pub(super) fn judge_mapping(seen: [Option<SocketAddr>; DOORS]) -> Option<Dependence> {
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
    works: [bool; DOORS],
) -> Option<Dependence> {
    let [true, rest @ ..] = works else { return None };
    let mut ears = Vec::new();
    for _ in 0..WAITING {
        if let Some(open) = open_way_in(visit, local).await {
            ears.push(open);
        }
    }
    let doors: Vec<u8> = (1..).zip(rest).filter(|(_, works)| *works).map(|(n, _)| n).collect();
    for (_, cookie) in &ears {
        for door in &doors {
            visit.send(*door, *cookie).await;
        }
    }
    let deadline = Instant::now() + PATIENCE;
    let mut came = [false; DOORS];
    for (ear, cookie) in &ears {
        listen(ear, deadline, |heard| {
            let pushed = Pushed::from_bytes(&heard.bytes).filter(|p| p.cookie == *cookie);
            if let Some(came) = pushed.and_then(|p| came.get_mut(usize::from(p.door))) {
                *came = true;
            }
            doors.iter().all(|door| came.get(usize::from(*door)) == Some(&true))
        })
        .await;
    }
    if ears.is_empty() {
        return None;
    }
    let [_, port, address] = came;
    let [port_works, address_works] = rest;
    judge_filtering([port_works.then_some(port), address_works.then_some(address)])
}

/// A new socket that only the mirror's first socket has answered, and its cookie.
pub(super) async fn open_way_in(visit: &Visit, local: &LocalAddress) -> Option<(Ear, Cookie)> {
    let ear = Ear::bind(local).ok()?;
    let first = Question::plain(visit.doors.first().copied()??);
    let echoes: Vec<Option<Echo>> = ask_all(&ear, visit.token, &[first]).await;
    let echo = echoes.into_iter().flatten().next()?;
    Some((ear, echo.answer.cookie))
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
