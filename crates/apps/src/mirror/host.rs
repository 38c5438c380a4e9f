//! The server's end: who may have a mirror, and the mirror itself.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use polypath_net::LocalAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::{AbortHandle, JoinSet};

use super::ear::{Ear, Heard};
use super::probe::{Answer, Ecn, Probe, Pushed};
use super::proven::Proven;
use super::words::{Cookie, Door, LONGEST, Token, Words};
use crate::forward::refusal::Refusal;

/// Mirrors of one association, one after the other.
const IN_TURN: u8 = 8;

/// The mirrors of one server. Clones are the same ones.
#[derive(Clone, Debug)]
pub struct Mirrors {
    /// The addresses at which the server listens.
    addresses: Arc<[IpAddr]>,
    free: Arc<Semaphore>,
    offered: bool,
}

/// Where a client's association goes between, as the server sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// The server's address.
    pub local: IpAddr,
    /// The client's.
    pub remote: SocketAddr,
}

/// What one client has: no more than one mirror at a time, which goes with this.
#[derive(Debug)]
pub struct OfClient {
    mirrors: Mirrors,
    /// The task that has it.
    current: Option<(Weak<Mirror>, AbortHandle)>,
    /// Mirrors that it may still have, one after the other.
    left: u8,
}

/// One mirror.
#[derive(Debug)]
struct Mirror {
    token: Token,
    /// The client's address, which its association has proven: nobody else is answered, whatever
    /// address a client writes into its probes.
    client: IpAddr,
    ears: Vec<Ear>,
    proven: Mutex<Proven>,
    _place: OwnedSemaphorePermit,
}

impl Mirrors {
    /// At most so many at a time; with 0 clients are told that it is not permitted. `addresses` are
    /// those at which the server listens.
    pub fn new(most: usize, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        let addresses = addresses.into_iter().collect();
        Self { addresses, free: Arc::new(Semaphore::new(most)), offered: most > 0 }
    }

    /// Those of one client, who has none yet.
    pub fn of_client(&self) -> OfClient {
        OfClient { mirrors: self.clone(), current: None, left: IN_TURN }
    }

    /// Mirrors that there may be more of now.
    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// Sockets at two ports of the address that the client reached, and at one of another address
    /// of the same family, if there is any.
    fn open(&self, between: Between) -> Result<Mirror, Refusal> {
        let local = between.local;
        if !self.offered {
            return Err(Refusal::NotPermitted);
        }
        let place = self.free.clone().try_acquire_owned().map_err(|_| Refusal::TooMany)?;
        let other = |ip: &&IpAddr| **ip != local && ip.is_ipv4() == local.is_ipv4();
        let other = self.addresses.iter().find(other).copied();
        let bind = |ip: IpAddr| Ear::bind(&LocalAddress::from(ip));
        let ears = [Some(local), Some(local), other].into_iter().flatten().map(bind);
        let ears = ears.collect::<io::Result<Vec<_>>>().map_err(|_| Refusal::Failed)?;
        let token = draw().ok_or(Refusal::Failed)?;
        let client = between.remote.ip().to_canonical();
        Ok(Mirror { token, client, ears, proven: Mutex::default(), _place: place })
    }
}

impl OfClient {
    /// What to answer to what the client says; `None`: nothing.
    pub async fn hear(&mut self, words: Words, between: Between) -> Option<Words> {
        match words {
            Words::Ask { seconds } => Some(match self.ask(seconds, between) {
                Ok(mirror) => mirror.introduce(between),
                Err(why) => Words::Not(why),
            }),
            Words::Send { door, cookie } => {
                let current = self.current.as_ref();
                if let Some(mirror) = current.and_then(|(mirror, _)| mirror.upgrade()) {
                    mirror.push(door, cookie).await;
                }
                None
            }
            Words::Done => {
                self.end();
                None
            }
            Words::Here { .. } | Words::Not(_) => None,
        }
    }

    fn ask(&mut self, seconds: u16, between: Between) -> Result<Arc<Mirror>, Refusal> {
        if self.left == 0 || self.current.as_ref().is_some_and(|(_, task)| !task.is_finished()) {
            return Err(Refusal::TooMany);
        }
        self.end();
        let mirror = Arc::new(self.mirrors.open(between)?);
        self.left -= 1;
        let life = Duration::from_secs(seconds.clamp(1, LONGEST).into());
        let task = tokio::spawn(tokio::time::timeout(life, mirror.clone().reflect()));
        self.current = Some((Arc::downgrade(&mirror), task.abort_handle()));
        Ok(mirror)
    }

    fn end(&mut self) {
        if let Some((_, task)) = self.current.take() {
            task.abort();
        }
    }
}

impl Drop for OfClient {
    fn drop(&mut self) {
        self.end();
    }
}

impl Mirror {
    fn introduce(&self, between: Between) -> Words {
        let door = |ear: &Ear| {
            let at = ear.local();
            let address = (at.ip() != between.local).then_some(at.ip());
            Door { address, port: at.port() }
        };
        let doors = self.ears.iter().map(door).collect();
        Words::Here { token: self.token, seen: between.remote, doors }
    }

    /// Answers probes until it is dropped.
    async fn reflect(self: Arc<Self>) {
        let mut doors = JoinSet::new();
        for number in 0..self.ears.len() {
            doors.spawn(self.clone().reflect_at(number));
        }
        while doors.join_next().await.is_some() {}
    }

    async fn reflect_at(self: Arc<Self>, number: usize) {
        let Some(ear) = self.ears.get(number) else { return };
        while let Ok(heard) = ear.hear().await {
            for one in heard {
                if let Some((answer, ecn)) = self.answer(&one) {
                    // Who hears nothing asks again.
                    let _ = ear.send(one.from, ecn, &answer.to_bytes()).await;
                }
            }
        }
    }

    fn answer(&self, heard: &Heard) -> Option<(Answer, Ecn)> {
        if heard.from.ip() != self.client {
            return None;
        }
        let probe = Probe::from_bytes(&heard.bytes).filter(|probe| probe.token == self.token)?;
        let cookie = self.lock().answer(heard.from, draw()?)?;
        let answer = Answer { nonce: probe.nonce, cookie, ecn: heard.ecn, from: heard.from };
        Some((answer, probe.want))
    }

    async fn push(&self, door: u8, cookie: Cookie) {
        let Some(ear) = self.ears.get(usize::from(door)) else { return };
        let to = self.lock().push(door.into(), cookie);
        if let Some(to) = to {
            let _ = ear.send(to, Ecn::None, &Pushed { cookie, door }.to_bytes()).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Proven> {
        self.proven.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Random bytes; `None` when the system has none.
fn draw() -> Option<[u8; 16]> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const SOON: Duration = Duration::from_secs(10);
    /// Long enough for a packet on this host, most likely.
    const SILENCE: Duration = Duration::from_millis(100);

    fn between() -> Between {
        Between { local: LOCAL, remote: "127.0.0.1:7".parse().unwrap() }
    }

    /// A client with a mirror: its token, and where its sockets are.
    async fn mirror(mirrors: &Mirrors) -> (OfClient, Token, Vec<SocketAddr>) {
        let mut client = mirrors.of_client();
        let answer = client.hear(Words::Ask { seconds: 20 }, between()).await;
        let Some(Words::Here { token, seen, doors }) = answer else { panic!("{answer:?}") };
        assert_eq!(seen, between().remote);
        let at = |door: Door| SocketAddr::new(door.address.unwrap_or(LOCAL), door.port);
        (client, token, doors.into_iter().map(at).collect())
    }

    fn ear() -> Ear {
        Ear::bind(&LOCAL.into()).unwrap()
    }

    async fn ask(ear: &Ear, to: SocketAddr, token: Token) -> Option<Answer> {
        let probe = Probe { token, nonce: [1; 8], want: Ecn::Ect0 };
        ear.send(to, Ecn::Ce, &probe.to_bytes()).await.unwrap();
        let heard = timeout(SILENCE, ear.hear()).await.ok()?.unwrap();
        assert_eq!((heard.len(), heard[0].ecn, heard[0].from), (1, Ecn::Ect0, to));
        Answer::from_bytes(&heard[0].bytes)
    }

    #[tokio::test]
    async fn a_probe_is_told_where_it_came_from_and_how() {
        let mirrors = Mirrors::new(1, [LOCAL, [127, 0, 0, 2].into(), "::1".parse().unwrap()]);
        let (_client, token, doors) = mirror(&mirrors).await;
        assert_eq!(doors.len(), 3);
        assert_eq!((doors[0].ip(), doors[2].ip()), (doors[1].ip(), [127, 0, 0, 2].into()));
        let ear = ear();
        for door in doors {
            let answer = ask(&ear, door, token).await.unwrap();
            assert_eq!((answer.from, answer.ecn, answer.nonce), (ear.local(), Ecn::Ce, [1; 8]));
        }
    }

    #[tokio::test]
    async fn who_does_not_know_the_token_hears_nothing() {
        let mirrors = Mirrors::new(1, [LOCAL]);
        let (_client, token, doors) = mirror(&mirrors).await;
        let ear = ear();
        assert_eq!(ask(&ear, doors[0], [0; 16]).await, None);
        let whole = Probe { token, nonce: [1; 8], want: Ecn::None }.to_bytes();
        for bytes in [&whole[..63], &[&whole[..], &[0]].concat(), &[0; 64], b""] {
            ear.send(doors[0], Ecn::None, bytes).await.unwrap();
        }
        assert!(timeout(SILENCE, ear.hear()).await.is_err());
        assert!(ask(&ear, doors[0], token).await.is_some());
    }

    /// What looks as if it came from somebody else is not answered.
    #[tokio::test]
    async fn strangers_are_sent_nothing() {
        let mirrors = Mirrors::new(1, [LOCAL]);
        let (_client, token, doors) = mirror(&mirrors).await;
        let stranger = Ear::bind(&IpAddr::from([127, 0, 0, 9]).into()).unwrap();
        assert_eq!(ask(&stranger, doors[0], token).await, None);
        assert!(ask(&ear(), doors[0], token).await.is_some());
    }

    /// A client cannot have packets sent to anybody who has not given it an answer's cookie.
    #[tokio::test]
    async fn packets_are_sent_to_proven_addresses_alone_and_once() {
        let mirrors = Mirrors::new(1, [LOCAL]);
        let (mut client, token, doors) = mirror(&mirrors).await;
        let (ear, stranger) = (ear(), ear());
        let cookie = ask(&ear, doors[0], token).await.unwrap().cookie;
        for cookie in [[0; 16], [255; 16]] {
            assert_eq!(client.hear(Words::Send { door: 0, cookie }, between()).await, None);
        }
        for door in [1, 1, 9, 255] {
            assert_eq!(client.hear(Words::Send { door, cookie }, between()).await, None);
        }
        let heard = timeout(SOON, ear.hear()).await.unwrap().unwrap();
        assert_eq!((heard.len(), heard[0].from), (1, doors[1]));
        assert_eq!(Pushed::from_bytes(&heard[0].bytes), Some(Pushed { cookie, door: 1 }));
        assert!(timeout(SILENCE, ear.hear()).await.is_err());
        assert!(timeout(SILENCE, stranger.hear()).await.is_err());
    }

    #[tokio::test]
    async fn sockets_are_bounded_and_given_back() {
        let mirrors = Mirrors::new(2, [LOCAL]);
        let (mut first, token, doors) = mirror(&mirrors).await;
        let again = first.hear(Words::Ask { seconds: 20 }, between()).await;
        assert_eq!(again, Some(Words::Not(Refusal::TooMany)), "one for each client");
        let (second, ..) = mirror(&mirrors).await;
        let mut third = mirrors.of_client();
        let full = third.hear(Words::Ask { seconds: 20 }, between()).await;
        assert_eq!((full, mirrors.free()), (Some(Words::Not(Refusal::TooMany)), 0));
        drop(second);
        assert_eq!(first.hear(Words::Done, between()).await, None);
        timeout(SOON, async {
            while mirrors.free() < 2 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
        assert_eq!(ask(&ear(), doors[0], token).await, None);
        mirror(&mirrors).await;
    }

    #[tokio::test]
    async fn nobody_has_sockets_opened_without_end() {
        let mirrors = Mirrors::new(64, [LOCAL]);
        let mut client = mirrors.of_client();
        let mut opened = 0;
        for _ in 0..100 {
            let answer = client.hear(Words::Ask { seconds: 20 }, between()).await;
            opened += u8::from(matches!(answer, Some(Words::Here { .. })));
            client.hear(Words::Done, between()).await;
        }
        assert_eq!(opened, IN_TURN);
    }

    #[tokio::test]
    async fn a_mirror_ends_by_itself() {
        let mirrors = Mirrors::new(1, [LOCAL]);
        let mut client = mirrors.of_client();
        tokio::time::pause();
        let here = client.hear(Words::Ask { seconds: u16::MAX }, between()).await;
        assert!(matches!(here, Some(Words::Here { .. })), "{here:?}");
        tokio::time::sleep(Duration::from_secs(u64::from(LONGEST) + 1)).await;
        assert_eq!(mirrors.free(), 1);
    }

    #[tokio::test]
    async fn who_offers_none_says_so() {
        let mut client = Mirrors::new(0, [LOCAL]).of_client();
        let answer = client.hear(Words::Ask { seconds: 1 }, between()).await;
        assert_eq!(answer, Some(Words::Not(Refusal::NotPermitted)));
    }
}
