//! The end that takes part in tests, as many at once as ask.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polypath_net::{Association, Closed, Config, Endpoint, Event, Warning};
use serde::Serialize;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::client::{LONGEST_LEAD, expect};
use super::clock::{ClockRelation, mark, now_ns};
use super::control::{self, Control, Hello, VERSION, tell};
use super::error::{PerfError, tame};
use super::report::EndReport;
use super::run::{Progress, Run, Stop};
use super::spec::{Limits, TestSpec};

/// What a server is told.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Its endpoint.
    pub endpoint: Config,
    /// End after the first client's test.
    pub one_off: bool,
    /// What it takes part in.
    pub limits: Limits,
}

/// What a server did for one association.
#[derive(Clone, Debug, Serialize)]
pub struct Session {
    /// Its number, from 1 on.
    pub id: u64,
    /// The client's addresses.
    pub remote: Vec<SocketAddr>,
    /// What was measured, if the client came that far.
    pub test: Option<TestSpec>,
    /// What this end saw.
    pub report: EndReport,
    /// Why it ended early, if it did.
    pub error: Option<String>,
}

/// What is heard of a server.
#[derive(Clone, Debug)]
pub enum SessionUpdate {
    /// A test begins.
    Began {
        /// Number of the session.
        id: u64,
        /// The client's addresses.
        remote: Vec<SocketAddr>,
        /// What it asked for.
        test: TestSpec,
    },
    /// An interval of a test.
    Progress(Progress),
    /// A session is over.
    Ended(Box<Session>),
}

/// How long a client may take for each step before the test.
const PATIENCE: Duration = Duration::from_secs(15);

/// A server with its sockets open.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    shared: Arc<Common>,
}

/// What sessions have in common.
#[derive(Debug)]
struct Common {
    limits: Limits,
    one_off: bool,
    /// For a server of one test: its number, and associations of it that are not over.
    group: Mutex<Option<(u64, u16)>>,
    finished: Notify,
}

impl Server {
    /// Opens the sockets.
    ///
    /// # Errors
    /// When an address cannot be used.
    pub fn bind(options: ServerOptions) -> Result<Self, PerfError> {
        let endpoint = Endpoint::bind(options.endpoint)?;
        let shared = Arc::new(Common {
            limits: options.limits,
            one_off: options.one_off,
            group: Mutex::new(None),
            finished: Notify::new(),
        });
        Ok(Self { endpoint, shared })
    }

    /// Where it listens.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.endpoint.local_addresses()
    }

    /// Its SCTP port.
    pub fn port(&self) -> u16 {
        self.endpoint.port()
    }

    /// What works less well than it could.
    pub fn warnings(&self) -> &[Warning] {
        self.endpoint.warnings()
    }

    /// Takes part in tests until `stop`, or, if told so, until the first is over.
    pub async fn run(self, observer: mpsc::UnboundedSender<SessionUpdate>, stop: Stop) {
        let mut sessions = JoinSet::new();
        let mut number = 0;
        loop {
            tokio::select! {
                accepted = self.endpoint.accept() => {
                    let Some(association) = accepted else { break };
                    number += 1;
                    let shared = self.shared.clone();
                    sessions.spawn(serve(number, association, shared, observer.clone(), stop.clone()));
                }
                Some(_) = sessions.join_next() => {}
                () = self.shared.finished.notified() => break,
                () = stop.set() => break,
            }
        }
        while sessions.join_next().await.is_some() {}
        let _ = tokio::time::timeout(Duration::from_secs(2), self.endpoint.wait_idle()).await;
    }
}

async fn serve(
    id: u64,
    association: Association,
    common: Arc<Common>,
    observer: mpsc::UnboundedSender<SessionUpdate>,
    stop: Stop,
) {
    let association = Arc::new(association);
    let remote = association.paths().iter().map(|path| path.stats.remote).collect();
    let mut session = Session { id, remote, test: None, report: EndReport::default(), error: None };
    let mut member = Member { common: common.clone(), joined: false };
    let outcome = tokio::select! {
        agreed = agree(&association, &mut member) => agreed,
        () = stop.set() => Err(PerfError::Interrupted),
    };
    let outcome = match outcome {
        Ok((test, clock, at_ns)) => {
            session.test = Some(test.clone());
            let began =
                SessionUpdate::Began { id, remote: session.remote.clone(), test: test.clone() };
            let _ = observer.send(began);
            let start_ns = soon(clock.at_server(at_ns));
            let correction = clock.correction(false);
            let run = Run::new(association.clone(), test, false, correction, start_ns);
            let outcome = measure(&run, id, &observer, &stop).await;
            session.report = run.report();
            outcome
        }
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        let told =
            if stop.is_set() { "the server was stopped".to_owned() } else { error.to_string() };
        association.abort(told.clone());
        session.error = Some(tame(&told));
    }
    // Nobody has to watch.
    let _ = observer.send(SessionUpdate::Ended(Box::new(session)));
}

/// Learns what test it is to be, and answers questions for the time until it begins.
async fn agree(
    association: &Association,
    member: &mut Member,
) -> Result<(TestSpec, ClockRelation, u64), PerfError> {
    let test = match patiently(association).await? {
        Control::Hello(hello) => match member.admit(&hello) {
            Ok(()) => hello.test,
            Err(reason) => {
                tell(association, Control::Refused { reason: reason.clone() }).await?;
                let _ = tokio::time::timeout(PATIENCE, association.shutdown()).await;
                return Err(PerfError::Refused(reason));
            }
        },
        other => return Err(PerfError::Protocol(format!("{other:?} before a greeting"))),
    };
    tell(association, Control::Ready { clock: mark() }).await?;
    for _ in 0..100 {
        match patiently(association).await? {
            Control::Ping => tell(association, Control::Pong { now_ns: now_ns() }).await?,
            Control::Start { clock, at_ns } => return Ok((test, clock, at_ns)),
            other => return Err(PerfError::Protocol(format!("{other:?} before the test"))),
        }
    }
    Err(PerfError::Protocol("too many questions".to_owned()))
}

async fn patiently(association: &Association) -> Result<Control, PerfError> {
    let answer = tokio::time::timeout(PATIENCE, expect(association)).await;
    answer.unwrap_or(Err(PerfError::Silent(PATIENCE)))
}

/// `at_ns`, if it is now or shortly.
fn soon(at_ns: u64) -> u64 {
    let now = now_ns();
    let lead = u64::try_from(LONGEST_LEAD.as_nanos()).unwrap_or(0);
    at_ns.clamp(now, now.saturating_add(lead))
}

async fn measure(
    run: &Run,
    id: u64,
    observer: &mpsc::UnboundedSender<SessionUpdate>,
    stop: &Stop,
) -> Result<(), PerfError> {
    let (inlet, mut outlet) = control::pipe();
    let (progress, mut heard) = mpsc::unbounded_channel();
    // A server's user ends it at once: the client is told by the end of the association.
    let (_never, unhurried) = super::run::stop_switch();
    let mut events = run.association.events();
    let whole = async {
        tell(&run.association, Control::Begun).await?;
        run.begin().await;
        run.conduct(&mut outlet, id, &progress, &unhurried).await?;
        control::ship(&run.association, &run.report()).await?;
        // The client has it when it says goodbye; the end of that may get lost on the way.
        while let Some(event) = events.next().await {
            if event == Event::PeerShutdown {
                return Ok(());
            }
        }
        core::future::pending().await
    };
    let tell_observer = async {
        while let Some(progress) = heard.recv().await {
            let _ = observer.send(SessionUpdate::Progress(progress));
        }
        core::future::pending().await
    };
    let error = tokio::select! {
        outcome = whole => return outcome,
        error = run.receive(&inlet) => error,
        error = run.watch(&unhurried) => error,
        () = stop.set() => PerfError::Interrupted,
        outcome = tell_observer => return outcome,
    };
    // A goodbye is one only after the test.
    let over = run.is_over(now_ns());
    if over && matches!(error, PerfError::Closed(Closed::Shutdown)) { Ok(()) } else { Err(error) }
}

/// A session's part in the only test of a server that ends after it.
struct Member {
    common: Arc<Common>,
    joined: bool,
}

impl Member {
    /// Whether the server takes part; if not, why.
    fn admit(&mut self, hello: &Hello) -> Result<(), String> {
        let limits = &self.common.limits;
        if hello.version != VERSION {
            return Err(format!("version {} of the protocol (allowed: {VERSION})", hello.version));
        }
        if !(1..=limits.parallel).contains(&hello.parallel) {
            let most = limits.parallel;
            return Err(format!("{} associations at once (allowed: 1 to {most})", hello.parallel));
        }
        hello.test.check(limits).map_err(|error| error.to_string())?;
        if !self.common.one_off {
            return Ok(());
        }
        let mut group = self.common.group.lock().unwrap_or_else(PoisonError::into_inner);
        let (number, _) = group.get_or_insert((hello.group, hello.parallel));
        if *number != hello.group {
            return Err("it takes part in one test only, which is another".to_owned());
        }
        self.joined = true;
        Ok(())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut group = self.common.group.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, left)) = group.as_mut().filter(|_| self.joined) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.common.finished.notify_one();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::second;
    use super::*;

    fn member(one_off: bool) -> Member {
        let common = Common {
            limits: Limits::default(),
            one_off,
            group: Mutex::new(None),
            finished: Notify::new(),
        };
        Member { common: Arc::new(common), joined: false }
    }

    fn hello(group: u64) -> Hello {
        Hello { version: VERSION, group, parallel: 1, clock: None, test: second() }
    }

    #[test]
    fn who_asks_too_much_is_told_what_is_allowed() {
        let mut member = member(false);
        assert_eq!(member.admit(&hello(1)), Ok(()));
        let told = |hello: Hello| super::tests::member(false).admit(&hello).unwrap_err();
        assert!(told(Hello { version: 9, ..hello(1) }).contains("allowed: 1"));
        assert!(told(Hello { parallel: 1000, ..hello(1) }).contains("1 to 128"));
        let test = TestSpec { streams: 60_000, ..second() };
        assert!(told(Hello { test, ..hello(1) }).contains("streams"));
    }

    #[test]
    fn a_server_of_one_test_refuses_another() {
        let mut first = member(true);
        assert_eq!(first.admit(&hello(1)), Ok(()));
        let mut other = Member { common: first.common.clone(), joined: false };
        assert!(other.admit(&hello(2)).is_err());
        assert_eq!(other.admit(&hello(1)), Ok(()));
    }
}
