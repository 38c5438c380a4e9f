//! Connecting to targets for others: what is permitted, within bounds of time and number.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

pub use super::network::{Network, System};
use super::permit::{Permits, Reach, Verdict, make_canonical};
use super::race::{connect_first, order_attempts};
use super::refusal::Refusal;
use super::target::{HostName, Target};

/// How long a lookup may take, with the wait for its turn.
pub const LOOKUP: Duration = Duration::from_secs(5);

/// How long all of it may take.
pub const WHOLE: Duration = Duration::from_secs(10);

/// A connection to a target.
#[derive(Debug)]
pub enum Dialed<T = TcpStream> {
    /// By TCP, without Nagle's delay.
    Tcp(T),
    /// To a Unix socket.
    Unix(UnixStream),
}

/// Connects to what is permitted. Clones share the bound on lookups.
#[derive(Clone, Debug)]
pub struct Dialer<N = System> {
    permits: Arc<Permits>,
    lookups: Arc<Semaphore>,
    network: Arc<N>,
}

/// The turn of a lookup: until it has ended, not until nobody waits for it any more.
type Turn = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl Dialer {
    /// Connects by the network of this host, with so many lookups at a time for all. Each keeps a
    /// thread of tokio's.
    pub fn new(permits: Permits, lookups: usize) -> Self {
        Self::with_network(permits, lookups, System)
    }
}

impl<N: Network> Dialer<N> {
    /// Connects by another network.
    pub fn with_network(permits: Permits, lookups: usize, network: N) -> Self {
        let lookups = Arc::new(Semaphore::new(lookups.min(Semaphore::MAX_PERMITS)));
        Self { permits: Arc::new(permits), lookups, network: Arc::new(network) }
    }

    /// Connects to a target for a client, whose share of lookups at a time this is.
    ///
    /// # Errors
    /// What is not permitted is refused at once, and always alike: nothing is looked up or
    /// connected, so the answer tells nothing of the target.
    pub async fn dial(
        &self,
        target: &Target,
        lookups: &Arc<Semaphore>,
    ) -> Result<Dialed<N::Stream>, Refusal> {
        timeout(WHOLE, self.dial_patiently(target, lookups)).await.unwrap_or(Err(Refusal::TimedOut))
    }

    async fn dial_patiently(
        &self,
        target: &Target,
        lookups: &Arc<Semaphore>,
    ) -> Result<Dialed<N::Stream>, Refusal> {
        let addresses = match self.permits.judge(target) {
            Verdict::Refused => return Err(Refusal::NotPermitted),
            Verdict::Unix(path) => {
                let stream = UnixStream::connect(path).await;
                return stream.map(Dialed::Unix).map_err(|error| Refusal::of_unix(&error));
            }
            Verdict::Public(to) if self.network.is_own(to.ip()) => {
                return Err(Refusal::NotPermitted);
            }
            Verdict::Address(to) | Verdict::Public(to) => vec![to],
            Verdict::Lookup { host, port, reach } => {
                self.find_addresses(host, port, reach, lookups).await?
            }
        };
        let connect = |to| {
            let network = self.network.clone();
            async move { network.connect(to).await }
        };
        connect_first(addresses, connect).await.map(Dialed::Tcp)
    }

    /// The addresses to try, at least one.
    async fn find_addresses(
        &self,
        host: HostName,
        port: u16,
        reach: Reach,
        lookups: &Arc<Semaphore>,
    ) -> Result<Vec<SocketAddr>, Refusal> {
        let asked = Instant::now();
        let found = match self.look_up(host, port, asked + LOOKUP, lookups).await? {
            Ok(found) => found,
            // The resolver gives its own word no number; a number is of this host's troubles.
            Err(error) if reach == Reach::All && error.raw_os_error().is_some() => {
                return Err(Refusal::of_tcp(&error));
            }
            Err(_) => Vec::new(),
        };
        let may_be = |to: &SocketAddr| {
            let ip = to.ip();
            reach == Reach::All || reach.includes(ip) && !self.network.is_own(ip)
        };
        let addresses = order_attempts(found.into_iter().map(make_canonical).filter(may_be));
        if !addresses.is_empty() {
            return Ok(addresses);
        }
        if reach == Reach::Global {
            await_whole_second(asked).await;
        }
        Err(Refusal::NoSuchName)
    }

    /// Looks a name up when it is its turn.
    async fn look_up(
        &self,
        host: HostName,
        port: u16,
        until: Instant,
        lookups: &Arc<Semaphore>,
    ) -> Result<io::Result<Vec<SocketAddr>>, Refusal> {
        let turn = timeout_at(until, self.take_turn(lookups)).await;
        let turn = turn.map_err(|_| Refusal::TooMany)??;
        let network = self.network.clone();
        // A task of its own: getaddrinfo(3) cannot be broken off and goes on in its thread, for
        // half a minute if no server answers. If who gives up made room for more, a client could
        // take all threads with names whose servers are silent.
        let lookup = tokio::spawn(async move {
            let _turn: Turn = turn;
            network.look_up(&host, port).await
        });
        let ended = timeout_at(until, lookup).await.map_err(|_| Refusal::TimedOut)?;
        ended.map_err(|_| Refusal::Failed)
    }

    /// First of the client's own, so that who waits for these takes none of all.
    async fn take_turn(&self, lookups: &Arc<Semaphore>) -> Result<Turn, Refusal> {
        let own = lookups.clone().acquire_owned().await.map_err(|_| Refusal::Failed)?;
        let all = self.lookups.clone().acquire_owned().await.map_err(|_| Refusal::Failed)?;
        Ok((own, all))
    }
}

/// Who may go to the Internet alone must not learn which names there are in zones that only the
/// server sees. A name that leads to local addresses alone is told like one that does not exist:
/// [`Refusal::NoSuchName`]. But the resolver knows the former at once, or from its cache, and must
/// ask others for the latter. So both are told when a second is full, by which all but the slowest
/// lookups have ended.
async fn await_whole_second(asked: Instant) {
    let seconds = asked.elapsed().as_secs() + 1;
    sleep_until(asked + Duration::from_secs(seconds)).await;
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Mutex;

    use tokio::time::sleep;

    use super::*;

    /// A name, when its answer comes (milliseconds), and that.
    const NAMES: &[(&str, u64, &[&str])] = &[
        ("public.test", 30, &["[2001:4860:4860::8888]:80", "8.8.8.8:80"]),
        ("private.test", 3, &["10.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"]),
        ("far.test", 1_200, &["169.254.169.254:80"]),
        ("mixed.test", 3, &["10.0.0.1:80", "[64:ff9b::a00:1]:80", "8.8.4.4:80", "0.0.0.0:80"]),
        ("mapped.test", 3, &["[::ffff:127.0.0.1]:80"]),
        ("hole.test", 3, &["9.9.9.9:80"]),
        ("own.test", 3, &["8.8.9.9:80"]),
        ("empty.test", 3, &[]),
        ("silent.test", u64::MAX, &[]),
    ];

    /// Looks names up in [`NAMES`]; everybody answers but 9.9.9.9. Writes down what it is asked.
    #[derive(Clone, Default)]
    struct Fake(Arc<Mutex<Vec<String>>>);

    impl Fake {
        fn log(&self, line: impl ToString) {
            self.0.lock().unwrap().push(line.to_string());
        }

        fn dialer(&self, permits: &str, lookups: usize) -> Dialer<Self> {
            Dialer::with_network(permits.parse().unwrap(), lookups, self.clone())
        }
    }

    impl Network for Fake {
        type Stream = SocketAddr;

        async fn look_up(&self, host: &HostName, _: u16) -> io::Result<Vec<SocketAddr>> {
            self.log(host);
            if host.as_str() == "broken.test" {
                return Err(nix::errno::Errno::EMFILE.into());
            }
            let known = NAMES.iter().find(|(name, ..)| *name == host.as_str());
            let (_, after, found) = known.unwrap_or(&("", 40, &[]));
            sleep(Duration::from_millis(*after)).await;
            known.map_or(Err(io::Error::other("no such name")), |_| {
                Ok(found.iter().map(|text| text.parse().unwrap()).collect())
            })
        }

        fn is_own(&self, ip: std::net::IpAddr) -> bool {
            ip == std::net::IpAddr::from([8, 8, 9, 9])
        }

        async fn connect(&self, to: SocketAddr) -> io::Result<SocketAddr> {
            self.log(to);
            if to.ip() == std::net::IpAddr::from([9; 4]) {
                return std::future::pending().await;
            }
            sleep(Duration::from_millis(5)).await;
            Ok(to)
        }
    }

    fn share(lookups: usize) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(lookups))
    }

    /// What it comes to, after how many milliseconds, and what was asked of the network.
    async fn dial(permits: &str, target: &str) -> (Result<String, Refusal>, u128, Vec<String>) {
        let (fake, began) = (Fake::default(), Instant::now());
        let target = target.parse().unwrap();
        let dialed = fake.dialer(permits, 4).dial(&target, &share(1)).await.map(|to| match to {
            Dialed::Tcp(to) => to.to_string(),
            Dialed::Unix(_) => "unix".to_owned(),
        });
        let asked = fake.0.lock().unwrap().clone();
        (dialed, began.elapsed().as_millis(), asked)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_permitted_is_refused_at_once_and_unseen() {
        let permits = "internet:443,127.0.0.0/8:1,public.test:9,unix:/run/a";
        for target in [
            "public.test:80",
            "private.test:80",
            "nowhere.test:80",
            "8.8.8.8:80",
            "10.0.0.1:443",
            "[::ffff:127.0.0.1]:80",
            "0.0.0.0:1",
            "/run/b",
            "/etc/passwd",
        ] {
            let refused = (Err(Refusal::NotPermitted), 0, Vec::new());
            assert_eq!(dial(permits, target).await, refused, "{target}");
        }
    }

    /// A service of this host that a firewall keeps from others.
    #[tokio::test(start_paused = true)]
    async fn the_public_addresses_of_this_host_are_not_the_internet() {
        let refused = dial("internet:*", "8.8.9.9:80").await;
        assert_eq!(refused, (Err(Refusal::NotPermitted), 0, Vec::new()));
        let (answer, took, asked) = dial("internet:*", "own.test:80").await;
        assert_eq!((answer, took, asked.len()), (Err(Refusal::NoSuchName), 1000, 1));
        for permits in ["anywhere:80", "8.8.9.9:80", "internet:*,8.8.9.0/24:80"] {
            assert_eq!(dial(permits, "8.8.9.9:80").await.0, Ok("8.8.9.9:80".to_owned()));
        }
        assert_eq!(dial("own.test:80", "own.test:80").await.0, Ok("8.8.9.9:80".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn permitted_targets_are_connected_to() {
        let six = "[2001:4860:4860::8888]:80";
        let asked = vec!["public.test".to_owned(), six.to_owned()];
        assert_eq!(dial("internet:80", "public.test:80").await, (Ok(six.to_owned()), 35, asked));
        let local = (Ok("127.0.0.1:80".to_owned()), 5, vec!["127.0.0.1:80".to_owned()]);
        assert_eq!(dial("127.0.0.1:80", "[::ffff:7f00:1]:80").await, local);
        assert_eq!(dial("mapped.test:80", "mapped.test:80").await.0.unwrap(), "127.0.0.1:80");
        // Who permits a name by itself lets it lead anywhere.
        for permits in ["private.test:80", "*.test:80", "anywhere:80", "internet:*,*.test:80"] {
            assert_eq!(dial(permits, "private.test:80").await.0.unwrap(), "10.0.0.1:80");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_of_the_internet_leads_to_global_addresses_alone() {
        let (to, _, asked) = dial("internet:80,10.0.0.0/8:*", "mixed.test:80").await;
        assert_eq!((to.unwrap().as_str(), asked.len()), ("8.8.4.4:80", 2));
    }

    #[tokio::test(start_paused = true)]
    async fn names_that_only_the_server_sees_look_as_if_there_were_none() {
        for name in ["private.test", "nowhere.test", "empty.test", "broken.test"] {
            let (answer, took, asked) = dial("internet:80", &format!("{name}:80")).await;
            assert_eq!((answer, took), (Err(Refusal::NoSuchName), 1_000), "{name}");
            assert_eq!(asked, [name]);
        }
        let (answer, took, _) = dial("internet:80", "far.test:80").await;
        assert_eq!((answer, took), (Err(Refusal::NoSuchName), 2_000));
        // Where it is no secret, nobody waits.
        let (answer, took, _) = dial("*.test:80", "nowhere.test:80").await;
        assert_eq!((answer, took), (Err(Refusal::NoSuchName), 40));
        assert_eq!(dial("*.test:80", "broken.test:80").await.0, Err(Refusal::TooMany));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_takes_for_ever() {
        for permits in ["internet:80", "silent.test:80"] {
            let (answer, took, _) = dial(permits, "silent.test:80").await;
            assert_eq!((answer, took), (Err(Refusal::TimedOut), 5_000), "{permits}");
        }
        let (answer, took, _) = dial("internet:80", "hole.test:80").await;
        assert_eq!((answer, took), (Err(Refusal::TimedOut), 10_000));
    }

    #[tokio::test(start_paused = true)]
    async fn lookups_wait_for_their_turn() {
        let (fake, own) = (Fake::default(), share(1));
        let dialer = fake.dialer("*.test:80", 2);
        let began = Instant::now();
        let one = async || {
            let target = "public.test:80".parse().unwrap();
            dialer.dial(&target, &own).await.unwrap();
            began.elapsed().as_millis()
        };
        assert_eq!(tokio::join!(one(), one(), one()), (35, 65, 95));
    }

    /// The system's goes on in its thread.
    #[tokio::test(start_paused = true)]
    async fn a_lookup_keeps_its_turn_when_nobody_waits_for_it_any_more() {
        let (fake, own, other) = (Fake::default(), share(2), share(1));
        let dialer = fake.dialer("*.test:80", 3);
        let dial = async |name: &str, own: &Arc<Semaphore>| {
            dialer.dial(&format!("{name}.test:80").parse().unwrap(), own).await.map(|_| ())
        };
        let gave_up = timeout(Duration::from_millis(1), dial("silent", &own)).await;
        assert!(gave_up.is_err() && own.available_permits() == 1);
        assert_eq!(dial("silent", &own).await, Err(Refusal::TimedOut));
        // This client has none left; another one has, as long as there are any.
        assert_eq!(dial("public", &own).await, Err(Refusal::TooMany));
        assert_eq!(dial("public", &other).await, Ok(()));
        assert_eq!(dial("silent", &other).await, Err(Refusal::TimedOut));
        assert_eq!(dial("public", &share(1)).await, Err(Refusal::TooMany));
    }

    #[test]
    fn a_dial_may_be_a_task() {
        fn check<T: Send>(_: T) {}
        let (dialer, target) = (Dialer::new(Permits::default(), 1), "a:1".parse().unwrap());
        check(dialer.dial(&target, &share(1)));
    }
}
