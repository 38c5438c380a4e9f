//! The server's end: who may have a mirror, and the mirror itself.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use polypath_net::LocalAddress;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

use super::elsewhere::{Elsewhere, TOLD};
use super::probe::{Answer, Ecn, Probe, Pushed};
use super::proven::Proven;
use super::share::{Share, Shares};
use super::socket::{Packet, ProbeSocket, Room};
use super::words::{Cookie, LONGEST, MirrorSocket, Token, Words};
use crate::forward::refusal::Refusal;

/// Mirrors of one association, one after the other.
const IN_TURN: u8 = 8;

/// The mirrors of one server. Clones are the same ones.
#[derive(Clone, Debug)]
pub struct Mirrors {
    /// The addresses at which the server listens.
    addresses: Arc<[IpAddr]>,
    free: Arc<Semaphore>,
    shares: Shares,
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
    tell: mpsc::Sender<Words>,
    told: mpsc::Receiver<Words>,
}

/// One mirror.
#[derive(Debug)]
struct Mirror {
    token: Token,
    /// The client's address, which its association has proven: nobody else is answered, whatever
    /// address a client writes into its probes.
    client: IpAddr,
    sockets: Vec<ProbeSocket>,
    proven: Mutex<Proven>,
    elsewhere: Mutex<Elsewhere>,
    _place: OwnedSemaphorePermit,
    _share: Share,
}

impl Mirrors {
    /// At most so many at a time, a quarter of them for one source; with 0 clients are told that it
    /// is not permitted. `addresses` are those at which the server listens.
    pub fn new(most: usize, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        Self {
            addresses: addresses.into_iter().collect(),
            free: Arc::new(Semaphore::new(most)),
            shares: Shares::new(most.div_ceil(4)),
            offered: most > 0,
        }
    }

    /// Those of one client, who has none yet.
    pub fn of_client(&self) -> OfClient {
        let (tell, told) = mpsc::channel(TOLD);
        OfClient { mirrors: self.clone(), current: None, left: IN_TURN, tell, told }
    }

    /// Mirrors that there may be more of now.
    pub fn free(&self) -> usize {
        self.free.available_permits()
    }

    /// Sockets at two ports of the address that the client reached, and at one of another address,
    /// if there is one that it can use.
    fn open(
        &self,
        between: Between,
        named: &[IpAddr],
        tell: mpsc::Sender<Words>,
    ) -> Result<Mirror, Refusal> {
        if !self.offered {
            return Err(Refusal::NotPermitted);
        }
        let client = between.remote.ip().to_canonical();
        let share = self.shares.take(client).ok_or(Refusal::TooMany)?;
        let place = self.free.clone().try_acquire_owned().map_err(|_| Refusal::TooMany)?;
        let ports = [between.local; 2].into_iter().map(bind);
        let mut sockets = ports.collect::<io::Result<Vec<_>>>().map_err(|_| Refusal::Failed)?;
        sockets.extend(self.bind_other(between.local, named));
        Ok(Mirror {
            token: draw().ok_or(Refusal::Failed)?,
            client,
            sockets,
            proven: Mutex::default(),
            elsewhere: Mutex::new(Elsewhere::new(tell)),
            _place: place,
            _share: share,
        })
    }

    /// At another address of the same family, which is one of ours and which the client named: it
    /// sends to no others.
    fn bind_other(&self, local: IpAddr, named: &[IpAddr]) -> Option<ProbeSocket> {
        let is_other = |ip: &&IpAddr| **ip != local && ip.is_ipv4() == local.is_ipv4();
        let mut usable = named.iter().filter(is_other).filter(|ip| self.addresses.contains(ip));
        usable.find_map(|ip| bind(*ip).ok())
    }
}

fn bind(ip: IpAddr) -> io::Result<ProbeSocket> {
    ProbeSocket::bind(&LocalAddress::from(ip))
}

impl OfClient {
    /// What to answer to what the client says; `None`: nothing.
    pub async fn hear(&mut self, words: Words, between: Between) -> Option<Words> {
        match words {
            Words::Ask { seconds, addresses } => {
                Some(match self.ask(seconds, &addresses, between) {
                    Ok(mirror) => mirror.introduce(between),
                    Err(why) => Words::Not(why),
                })
            }
            Words::Send { socket, cookie } => {
                let current = self.current.as_ref();
                if let Some(mirror) = current.and_then(|(mirror, _)| mirror.upgrade()) {
                    mirror.push(socket, cookie).await;
                }
                None
            }
            Words::Done => {
                self.end();
                None
            }
            Words::Here { .. } | Words::Not(_) | Words::Elsewhere { .. } => None,
        }
    }

    /// What the client is to be told without having asked. It waits until there is something, and
    /// loses nothing when it is dropped.
    pub async fn told(&mut self) -> Option<Words> {
        self.told.recv().await
    }

    fn ask(
        &mut self,
        seconds: u16,
        named: &[IpAddr],
        between: Between,
    ) -> Result<Arc<Mirror>, Refusal> {
        if self.left == 0 || self.current.as_ref().is_some_and(|(_, task)| !task.is_finished()) {
            return Err(Refusal::TooMany);
        }
        self.end();
        let mirror = Arc::new(self.mirrors.open(between, named, self.tell.clone())?);
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
        let describe = |socket: &ProbeSocket| {
            let at = socket.local();
            let address = (at.ip() != between.local).then_some(at.ip());
            MirrorSocket { address, port: at.port() }
        };
        let sockets = self.sockets.iter().map(describe).collect();
        Words::Here { token: self.token, seen: between.remote, sockets }
    }

    /// Answers probes until it is dropped.
    async fn reflect(self: Arc<Self>) {
        let mut reflecting = JoinSet::new();
        for number in (0..).take(self.sockets.len()) {
            reflecting.spawn(self.clone().reflect_at(number));
        }
        while reflecting.join_next().await.is_some() {}
    }

    async fn reflect_at(self: Arc<Self>, number: u8) {
        let Some(socket) = self.sockets.get(usize::from(number)) else { return };
        let mut room = Room::default();
        while let Ok(packets) = socket.recv(&mut room).await {
            for packet in packets {
                if let Some((answer, ecn)) = self.answer(number, packet) {
                    // Who hears nothing asks again.
                    let _ = socket.send(packet.from, ecn, &answer.to_bytes()).await;
                }
            }
        }
    }

    fn answer(&self, socket: u8, packet: Packet<'_>) -> Option<(Answer, Ecn)> {
        let probe = Probe::from_bytes(packet.bytes).filter(|probe| probe.token == self.token)?;
        if packet.from.ip() != self.client {
            lock(&self.elsewhere).note(socket, probe.nonce, packet.from);
            return None;
        }
        let cookie = lock(&self.proven).answer(packet.from, draw()?)?;
        let answer = Answer { nonce: probe.nonce, cookie, ecn: packet.ecn, from: packet.from };
        Some((answer, probe.want))
    }

    async fn push(&self, number: u8, cookie: Cookie) {
        let Some(socket) = self.sockets.get(usize::from(number)) else { return };
        let to = lock(&self.proven).push(number.into(), cookie);
        if let Some(to) = to {
            let pushed = Pushed { cookie, socket: number };
            let _ = socket.send(to, Ecn::None, &pushed.to_bytes()).await;
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
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
    const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 0, 2));
    const SOON: Duration = Duration::from_secs(10);
    /// Long enough for a packet on this host, most likely.
    const SILENCE: Duration = Duration::from_millis(100);

    fn between() -> Between {
        Between { local: LOCAL, remote: "127.0.0.1:7".parse().unwrap() }
    }

    fn ask_for(seconds: u16, addresses: &[IpAddr]) -> Words {
        Words::Ask { seconds, addresses: addresses.to_vec() }
    }

    /// A client with a mirror: its token, and where its sockets are.
    async fn mirror(mirrors: &Mirrors) -> (OfClient, Token, Vec<SocketAddr>) {
        let mut client = mirrors.of_client();
        let answer = client.hear(ask_for(20, &[LOCAL, OTHER]), between()).await;
        let Some(Words::Here { token, seen, sockets }) = answer else { panic!("{answer:?}") };
        assert_eq!(seen, between().remote);
        let at =
            |socket: MirrorSocket| SocketAddr::new(socket.address.unwrap_or(LOCAL), socket.port);
        (client, token, sockets.into_iter().map(at).collect())
    }

    fn local_socket() -> ProbeSocket {
        bind(LOCAL).unwrap()
    }

    /// What comes to a socket: from where, with which field, and what.
    async fn hear(socket: &ProbeSocket) -> Option<(SocketAddr, Ecn, Vec<u8>)> {
        let mut room = Room::default();
        let came = timeout(SILENCE, socket.recv(&mut room)).await.ok()?.unwrap();
        let came: Vec<_> = came.map(|one| (one.from, one.ecn, one.bytes.to_vec())).collect();
        assert_eq!(came.len(), 1);
        came.into_iter().next()
    }

    async fn ask(socket: &ProbeSocket, to: SocketAddr, token: Token) -> Option<Answer> {
        let probe = Probe { token, nonce: [1; 8], want: Ecn::Ect0 };
        socket.send(to, Ecn::Ce, &probe.to_bytes()).await.unwrap();
        let (from, ecn, bytes) = hear(socket).await?;
        assert_eq!((from, ecn), (to, Ecn::Ect0));
        Answer::from_bytes(&bytes)
    }

    #[tokio::test]
    async fn a_probe_is_told_where_it_came_from_and_how() {
        let mirrors = Mirrors::new(1, [LOCAL, OTHER, "::1".parse().unwrap()]);
        let (_client, token, at) = mirror(&mirrors).await;
        assert_eq!(at.len(), 3);
        assert_eq!((at[0].ip(), at[2].ip()), (at[1].ip(), OTHER));
        let socket = local_socket();
        for to in at {
            let answer = ask(&socket, to, token).await.unwrap();
            let seen = (answer.from, answer.ecn, answer.nonce);
            assert_eq!(seen, (socket.local(), Ecn::Ce, [1; 8]));
        }
    }

    /// The third socket is at an address that the client named and the server listens at, of the
    /// family that the association has; where none can be opened, there are two sockets.
    #[tokio::test]
    async fn a_third_socket_is_where_the_client_can_use_it_or_not_at_all() {
        let [v6, third, nowhere] = ["::1", "127.0.0.3", "192.0.2.1"].map(|ip| ip.parse().unwrap());
        let mirrors = Mirrors::new(16, [LOCAL, v6, nowhere, OTHER, third]);
        let foreign = IpAddr::from([127, 0, 0, 4]);
        for (named, address) in [
            (&[][..], None),
            (&[LOCAL, v6, foreign], None),
            (&[nowhere], None),
            (&[nowhere, third, OTHER], Some(third)),
        ] {
            let answer = mirrors.of_client().hear(ask_for(20, named), between()).await;
            let Some(Words::Here { sockets, .. }) = answer else { panic!("{answer:?}") };
            assert_eq!(sockets.get(2).map(|socket| socket.address), address.map(Some), "{named:?}");
            assert!(sockets.len() >= 2);
        }
    }

    #[tokio::test]
    async fn who_does_not_know_the_token_hears_nothing() {
        let mirrors = Mirrors::new(1, [LOCAL]);
        let (_client, token, at) = mirror(&mirrors).await;
        let socket = local_socket();
        assert_eq!(ask(&socket, at[0], [0; 16]).await, None);
        let whole = Probe { token, nonce: [1; 8], want: Ecn::None }.to_bytes();
        for bytes in [&whole[..63], &[&whole[..], &[0]].concat(), &[0; 64], b"", &[0; 9000]] {
            socket.send(at[0], Ecn::None, bytes).await.unwrap();
        }
        assert!(hear(&socket).await.is_none());
        assert!(ask(&socket, at[0], token).await.is_some());
    }

    /// What looks as if it came from somebody else is not answered; but the client is told.
    #[tokio::test]
    async fn strangers_are_sent_nothing_and_the_client_is_told() {
        let mirrors = Mirrors::new(1, [LOCAL]);
        let (mut client, token, at) = mirror(&mirrors).await;
        let stranger = bind(IpAddr::from([127, 0, 0, 9])).unwrap();
        assert_eq!(ask(&stranger, at[0], [0; 16]).await, None, "this is none of its probes");
        for _ in 0..3 {
            assert_eq!(ask(&stranger, at[1], token).await, None);
        }
        let source = stranger.local();
        let told = Words::Elsewhere { socket: 1, nonce: [1; 8], source };
        assert_eq!(client.told().await, Some(told));
        assert!(timeout(SILENCE, client.told()).await.is_err(), "once");
        assert!(ask(&local_socket(), at[0], token).await.is_some());
    }

    /// A client cannot have packets sent to anybody who has not given it an answer's cookie.
    #[tokio::test]
    async fn packets_are_sent_to_proven_addresses_alone_and_once() {
        let mirrors = Mirrors::new(1, [LOCAL]);
        let (mut client, token, at) = mirror(&mirrors).await;
        let (ours, stranger) = (local_socket(), local_socket());
        let cookie = ask(&ours, at[0], token).await.unwrap().cookie;
        for cookie in [[0; 16], [255; 16]] {
            assert_eq!(client.hear(Words::Send { socket: 0, cookie }, between()).await, None);
        }
        for socket in [1, 1, 9, 255] {
            assert_eq!(client.hear(Words::Send { socket, cookie }, between()).await, None);
        }
        let (from, _, bytes) = timeout(SOON, hear(&ours)).await.unwrap().unwrap();
        assert_eq!(from, at[1]);
        assert_eq!(Pushed::from_bytes(&bytes), Some(Pushed { cookie, socket: 1 }));
        assert!(hear(&ours).await.is_none());
        assert!(hear(&stranger).await.is_none());
    }

    #[tokio::test]
    async fn sockets_are_bounded_and_given_back() {
        let mirrors = Mirrors::new(8, [LOCAL]);
        let (mut first, token, at) = mirror(&mirrors).await;
        let again = first.hear(ask_for(20, &[]), between()).await;
        assert_eq!(again, Some(Words::Not(Refusal::TooMany)), "one for each client");
        let (second, ..) = mirror(&mirrors).await;
        let mut third = mirrors.of_client();
        let full = third.hear(ask_for(20, &[]), between()).await;
        assert_eq!(full, Some(Words::Not(Refusal::TooMany)), "a quarter for each source");
        assert_eq!(mirrors.free(), 6);
        drop(second);
        assert_eq!(first.hear(Words::Done, between()).await, None);
        timeout(SOON, async {
            while mirrors.free() < 8 {
                tokio::task::yield_now().await;
            }
        })
        .await
        .unwrap();
        assert_eq!(ask(&local_socket(), at[0], token).await, None);
        mirror(&mirrors).await;
    }

    #[tokio::test]
    async fn all_sources_together_have_no_more_than_there_are() {
        let mirrors = Mirrors::new(2, [LOCAL]);
        let mut clients = Vec::new();
        for host in 1..=4 {
            let remote = SocketAddr::from(([192, 0, 2, host], 7));
            let mut client = mirrors.of_client();
            let answer = client.hear(ask_for(20, &[]), Between { remote, ..between() }).await;
            let is_full = answer == Some(Words::Not(Refusal::TooMany));
            assert_eq!(is_full, host > 2, "{answer:?}");
            clients.push(client);
        }
    }

    #[tokio::test]
    async fn nobody_has_sockets_opened_without_end() {
        let mirrors = Mirrors::new(64, [LOCAL]);
        let mut client = mirrors.of_client();
        let mut opened = 0;
        for _ in 0..100 {
            let answer = client.hear(ask_for(20, &[]), between()).await;
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
        let here = client.hear(ask_for(u16::MAX, &[]), between()).await;
        assert!(matches!(here, Some(Words::Here { .. })), "{here:?}");
        tokio::time::sleep(Duration::from_secs(u64::from(LONGEST) + 1)).await;
        assert_eq!(mirrors.free(), 1);
    }

    #[tokio::test]
    async fn who_offers_none_says_so() {
        let mut client = Mirrors::new(0, [LOCAL]).of_client();
        let answer = client.hear(ask_for(1, &[]), between()).await;
        assert_eq!(answer, Some(Words::Not(Refusal::NotPermitted)));
    }
}
