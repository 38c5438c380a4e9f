//! How long a translator or firewall lets answers in after the last packet out (RFC 4787 section
//! 4.3): sockets of ours fall silent at once, and the mirror sends to each after another time.

use std::time::Duration;

use polypath_net::LocalAddress;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::echo::listen;
use super::nat::open_way_in;
use super::report::Lifetime;
use super::visit::Visit;
use crate::mirror::probe::Pushed;
use crate::mirror::socket::ProbeSocket;
use crate::mirror::words::Cookie;

/// The longest wait that can be asked for, seconds: RFC 4787 has mappings last two minutes at
/// least, and advises five (REQ-5).
pub const LONGEST: u16 = 300;
/// Waits between nothing and the longest.
const STEPS: u32 = 16;
/// How long the packet may take.
const PATIENCE: Duration = Duration::from_millis(1200);
/// After so many waits in a row without an answer the others are not tried.
const SILENT: u32 = 2;

/// Tries waits up to `longest`; `tell` hears of each.
pub(super) async fn measure(
    visit: &Visit,
    local: &LocalAddress,
    longest: Duration,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Option<Lifetime> {
    let mut ways = open_ways(visit, local).await;
    let mut found = Found::default();
    for step in 1..=STEPS {
        let Some((silent_since, socket, cookie)) = ways.pop() else { break };
        let wait = wait_of(step, longest);
        tokio::time::sleep_until(silent_since + wait).await;
        visit.send(0, cookie).await;
        let open = comes(&socket, cookie).await;
        let word = if open { "open" } else { "closed" };
        tell(&format!("after {:.1} s of silence the way in is {word}", wait.as_secs_f64()));
        if found.note(wait, open) {
            break;
        }
    }
    found.tried.then_some(found.lifetime)
}

/// Longer and longer waits: short times are told apart as finely as long ones.
fn wait_of(step: u32, longest: Duration) -> Duration {
    let part = f64::from(step) / f64::from(STEPS);
    longest.mul_f64(part * part)
}

/// Sockets with a way in, and since when they are silent.
async fn open_ways(visit: &Visit, local: &LocalAddress) -> Vec<(Instant, ProbeSocket, Cookie)> {
    let mut opening = JoinSet::new();
    for _ in 0..STEPS {
        let (visit, local) = (visit.clone(), local.clone());
        opening.spawn(async move {
            let (socket, cookie) = open_way_in(&visit, &local).await?;
            Some((Instant::now(), socket, cookie))
        });
    }
    opening.join_all().await.into_iter().flatten().collect()
}

async fn comes(socket: &ProbeSocket, cookie: Cookie) -> bool {
    let mut came = false;
    listen(socket, Instant::now() + PATIENCE, |packet| {
        came |= Pushed::from_bytes(packet.bytes) == Some(Pushed { cookie, socket: 0 });
        came
    })
    .await;
    came
}

/// What is known so far.
#[derive(Debug, Default)]
struct Found {
    lifetime: Lifetime,
    tried: bool,
    silent: u32,
}

impl Found {
    /// Notes what came of a wait, longer than those before; whether that is enough.
    fn note(&mut self, wait: Duration, open: bool) -> bool {
        self.tried = true;
        let wait = Some(wait.as_secs_f64());
        if open {
            // A packet that was lost is no closed way.
            (self.lifetime, self.silent) = (Lifetime { open_s: wait, closed_s: None }, 0);
        } else {
            self.lifetime.closed_s = self.lifetime.closed_s.or(wait);
            self.silent += 1;
        }
        self.silent >= SILENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(open: &[bool]) -> (Lifetime, usize) {
        let mut found = Found::default();
        let waits = (1..).map(Duration::from_secs).zip(open);
        let enough = waits.into_iter().position(|(wait, open)| found.note(wait, *open));
        (found.lifetime, enough.map_or(open.len(), |at| at + 1))
    }

    #[test]
    fn the_time_is_between_the_last_answer_and_the_first_silence() {
        let between = Lifetime { open_s: Some(2.0), closed_s: Some(3.0) };
        assert_eq!(found(&[true, true, false, false, true]), (between, 4));
        let always = Lifetime { open_s: Some(3.0), closed_s: None };
        assert_eq!(found(&[true, false, true]), (always, 3), "a packet was lost");
        let never = Lifetime { open_s: None, closed_s: Some(1.0) };
        assert_eq!(found(&[false; 16]), (never, 2));
    }

    #[test]
    fn waits_grow_up_to_the_longest() {
        let longest = Duration::from_secs(300);
        let all: Vec<_> = (1..=STEPS).map(|step| wait_of(step, longest)).collect();
        assert!(all.is_sorted() && all.last() == Some(&longest));
        assert!(all[0] < Duration::from_secs(2), "{all:?}");
    }
}
