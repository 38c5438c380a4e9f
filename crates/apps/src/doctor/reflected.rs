//! What the mirror at the far end tells of a path.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{Association, LocalAddress};
use tokio::time::timeout;

use super::echo::{Question, ask_all};
use super::report::{Ecn, Nat};
use super::route::Way;
use super::setup::Setup;
use super::visit::Visit;
use super::{ecn, lifetime, nat};
use crate::mirror::socket::ProbeSocket;
use crate::mirror::words::SOCKETS;

/// A mirror is asked for so many seconds, and for the longest wait beside.
const SECONDS: u16 = 25;
/// How long a mirror may take for all, whatever the server does.
const LIMIT: Duration = Duration::from_secs(18);
/// Sockets of ours that are tried until one comes from the address of the association.
const TRIES: usize = 3;

/// What a mirror told, as far as it came.
#[derive(Debug, Default)]
pub(super) struct Reflected {
    pub(super) nat: Option<Nat>,
    pub(super) ecn: Option<Ecn>,
    /// Why it told nothing.
    pub(super) no_mirror: Option<String>,
}

/// How the mirror's sockets see one of ours.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// From where its probes come.
    seen: [Option<SocketAddr>; SOCKETS],
    /// Whether they were answered.
    works: [bool; SOCKETS],
}

impl Reflected {
    /// Asks; `tell` hears how far it is.
    pub(super) async fn reflect(
        &mut self,
        association: &Arc<Association>,
        way: Way<'_>,
        setup: &Setup,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) {
        let limit = LIMIT + setup.longest.unwrap_or_default();
        let in_time = timeout(limit, self.ask_for_all(association, way, setup, tell)).await.is_ok();
        let is_empty = self.ecn.is_none() && self.nat.is_none_or(|nat| nat.mapping.is_none());
        if !in_time && is_empty {
            self.no_mirror = Some("it took too long".to_owned());
        }
    }

    async fn ask_for_all(
        &mut self,
        association: &Arc<Association>,
        way: Way<'_>,
        setup: &Setup,
        tell: &(dyn Fn(&str) + Send + Sync),
    ) {
        let longest = setup.longest.map_or(0, |longest| longest.as_secs_f64().ceil() as u16);
        let seconds = SECONDS + longest.min(lifetime::LONGEST);
        let visit = Visit::begin(association, way.remote.ip(), &setup.named, seconds).await;
        let visit = match visit {
            Ok(visit) => visit,
            Err(error) => return self.no_mirror = Some(error.to_string()),
        };
        let from = association.paths().first().map(|path| path.stats.local);
        let nat = self.nat.insert(Nat {
            seen: visit.seen,
            translated: from.is_some_and(|from| from != visit.seen),
            port_kept: from.is_some_and(|from| from.port() == visit.seen.port()),
            mapping: None,
            filtering: None,
            second_address: visit.sockets.last().is_some_and(Option::is_some),
            other_address: None,
            lifetime: None,
        });
        match ask(&visit, way.local, &mut self.ecn).await {
            Some(Asked { seen, works }) => {
                nat.mapping = nat::judge_mapping(seen);
                nat.other_address = other_address(&visit);
                nat.filtering = nat::try_filtering(&visit, way.local, works).await;
                if let Some(longest) = setup.longest {
                    nat.lifetime = lifetime::measure(&visit, way.local, longest, tell).await;
                }
                nat.other_address = other_address(&visit);
            }
            None => self.no_mirror = Some("its sockets did not answer".to_owned()),
        }
        visit.end().await;
    }
}

fn other_address(visit: &Visit) -> Option<IpAddr> {
    visit.elsewhere.other_than(visit.seen.ip().to_canonical())
}

/// How the mirror's sockets see a new one of ours, and what becomes of the ECN field on the way;
/// `None`: the first does not answer.
async fn ask(visit: &Visit, local: &LocalAddress, ecn: &mut Option<Ecn>) -> Option<Asked> {
    let [first, second, third] = [0, 1, 2].map(Question::plain);
    let [ect0_there, ce_there, ect0_back, ce_back] = ecn::questions();
    let questions = [first, second, third, ect0_there, ce_there, ect0_back, ce_back];
    let mut asked = None;
    for _ in 0..TRIES {
        let socket = ProbeSocket::bind(local).ok()?;
        let echoes = ask_all(visit, &socket, &questions).await?;
        let [here, other_port, other_address, marks @ ..] = echoes.answers;
        let plain = [here, other_port, other_address];
        let mut elsewhere = echoes.elsewhere.into_iter();
        let seen = plain.map(|echo| echo.map(|e| e.answer.from).or(elsewhere.next().flatten()));
        let [at_first, ..] = seen;
        if at_first.is_none() {
            break;
        }
        // The server tells of few probes that it does not answer: those before may say more.
        if here.is_some() || asked.is_none() {
            asked = Some(Asked { seen, works: plain.map(|echo| echo.is_some()) });
        }
        if here.is_some() {
            *ecn = Some(ecn::judge(marks));
            break;
        }
    }
    asked
}
