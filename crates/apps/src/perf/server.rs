//! The end that takes part in tests, as many at once as ask.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{Association, Closed, Config, Endpoint, Event, Refusal, Warning};
use serde::Serialize;
use tokio::sync::mpsc;

use super::client::{LONGEST_LEAD, expect_control};
use super::clock::{ClockRelation, clock_mark, now_ns};
use super::control::{self, Control, Hello, VERSION, send_control};
use super::error::PerfError;
use super::only::{Member, OnlyTest};
use super::report::EndReport;
use super::run::{Progress, Run, Stop};
use super::spec::{Limits, TestSpec};
use crate::admission::{Dismissed, Door, Place, Places};
use crate::keys;
use crate::shown;

/// What a server is told.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Its endpoint.
    pub endpoint: Config,
    /// Associations that it takes part with at a time. Its endpoint's bounds follow from them.
    pub places: Places,
    /// End after the first client's test.
    pub one_off: bool,
    /// What it takes part in.
    pub limits: Limits,
}

/// What a server did for one association.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Its number, from 1 on.
    pub id: u64,
    /// The client's addresses.
    pub remote: Vec<SocketAddr>,
    /// The key that the client proved to have, as `polypath id` prints it there; `None`: it proved
    /// nothing.
    pub peer: Option<String>,
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
        /// The fingerprint of its key, if it proved to have one.
        peer: Option<String>,
        /// What it asked for.
        test: TestSpec,
    },
    /// An interval of a test.
    Progress(Progress),
    /// A session is over.
    Ended(Box<Session>),
    /// Somebody was not let in, for no keys could be agreed on with it.
    Refused(Refusal),
}

/// Those that were not let in and are told of, at most: anybody can be one.
const REFUSALS: u32 = 20;

/// How long a client may take for all before the test, once it said hello.
const AGREEMENT: Duration = Duration::from_secs(60);
/// How long one that was refused may take to leave.
const REFUSAL: Duration = Duration::from_secs(2);

/// A server with its sockets open.
#[derive(Debug)]
pub struct Server {
    endpoint: Endpoint,
    door: Door,
    shared: Arc<Common>,
}

/// What sessions have in common.
#[derive(Debug)]
struct Common {
    limits: Limits,
    /// For a server of one test.
    only: Option<Arc<OnlyTest>>,
}

impl Server {
    /// Opens the sockets.
    ///
    /// # Errors
    /// When an address cannot be used.
    pub fn bind(options: ServerOptions) -> Result<Self, PerfError> {
        let endpoint = Endpoint::bind(options.places.bound_config(options.endpoint))?;
        let only = options.one_off.then(Arc::default);
        let shared = Arc::new(Common { limits: options.limits, only });
        Ok(Self { endpoint, door: Door::new(options.places), shared })
    }

    /// Where it listens.
    pub fn local_addresses(&self) -> Vec<SocketAddr> {
        self.endpoint.local_addresses()
    }

    /// Its SCTP port.
    pub fn port(&self) -> u16 {
        self.endpoint.port()
    }

    /// A place for an association; without one it is told why, and ends.
    fn admit_association(&self, association: &Association) -> Option<Place> {
        let from = association.paths().first().map(|path| path.stats.remote.ip())?;
        match self.door.admit_guest(from) {
            Ok(place) => Some(place),
            Err(full) => {
                association.abort(full.to_string());
                None
            }
        }
    }

    /// What works less well than it could.
    pub fn warnings(&self) -> &[Warning] {
        self.endpoint.warnings()
    }

    /// Takes part in tests until `stop`, or, if told so, until the first is over.
    pub async fn run(self, observer: mpsc::UnboundedSender<SessionUpdate>, stop: Stop) {
        // Every session has an end of this; a `JoinSet` would keep a record of each, beside its
        // task.
        let (alive, mut all_over) = mpsc::channel::<Infallible>(1);
        let mut number = 0;
        let mut refusals = 0;
        loop {
            tokio::select! {
                accepted = self.endpoint.accept() => {
                    let Some(association) = accepted else { break };
                    let Some(place) = self.admit_association(&association) else { continue };
                    number += 1;
                    let guest = Guest { id: number, association, place };
                    let common = self.shared.clone();
                    let (observer, stop, alive) = (observer.clone(), stop.clone(), alive.clone());
                    tokio::spawn(serve_association(guest, common, observer, stop, alive));
                }
                Some(refusal) = self.endpoint.refused(), if refusals < REFUSALS => {
                    refusals += 1;
                    let _ = observer.send(SessionUpdate::Refused(refusal));
                }
                () = self.door.turn_out_mute() => {}
                () = self.shared.await_end() => break,
                () = stop.await_set() => break,
            }
        }
        self.door.dismiss_mute();
        drop(alive);
        let _ = all_over.recv().await;
        let _ = tokio::time::timeout(Duration::from_secs(2), self.endpoint.wait_idle()).await;
    }
}

/// An association that was let in.
struct Guest {
    id: u64,
    association: Association,
    place: Place,
}

/// A server may have many guests that only wait, so what others need is kept out of this future, in
/// boxes made when it is needed.
#[expect(
    clippy::manual_async_fn,
    reason = "the arguments of an `async fn` are in its future twice"
)]
fn serve_association(
    guest: Guest,
    common: Arc<Common>,
    observer: mpsc::UnboundedSender<SessionUpdate>,
    stop: Stop,
    alive: mpsc::Sender<Infallible>,
) -> impl Future<Output = ()> + Send {
    async move {
        let first = guest.place.await_greeting(pin!(expect_control(&guest.association))).await;
        let first = first.map_err(PerfError::from).and_then(|said| said);
        Box::pin(answer_guest(guest, first, &common, &observer, &stop)).await;
        drop(alive);
    }
}

/// Does what a guest wants by its first words.
async fn answer_guest(
    guest: Guest,
    first: Result<Control, PerfError>,
    common: &Common,
    observer: &mpsc::UnboundedSender<SessionUpdate>,
    stop: &Stop,
) {
    let Guest { id, association, place } = guest;
    let association = Arc::new(association);
    let remote = association.paths().iter().map(|path| path.stats.remote).collect();
    let peer = keys::peer_fingerprint(&association).map(|key| key.to_string());
    let report = EndReport::default();
    let mut session = Session { id, remote, peer, test: None, report, error: None };
    let agreed = match first {
        Ok(first) => tokio::select! {
            agreed = agree_on_test(&association, first, &place, common) => agreed,
            () = stop.await_set() => Err(PerfError::Interrupted),
        },
        Err(error) => Err(error),
    };
    let outcome = match agreed {
        Ok(agreed) => Box::pin(take_part(&mut session, &association, agreed, observer, stop)).await,
        Err(error) => Err(error),
    };
    if let Err(error) = outcome {
        let told =
            if stop.is_set() { "the server was stopped".to_owned() } else { error.to_string() };
        association.abort(told.clone());
        session.error = Some(shown::escape_remark(&told));
    }
    // Nobody has to watch.
    let _ = observer.send(SessionUpdate::Ended(Box::new(session)));
}

/// What client and server agreed on.
struct Agreed {
    test: TestSpec,
    clock: ClockRelation,
    at_ns: u64,
    member: Option<Member>,
}

/// Learns what test it is to be, and answers questions for the time until it begins.
async fn agree_on_test(
    association: &Association,
    first: Control,
    place: &Place,
    common: &Common,
) -> Result<Agreed, PerfError> {
    let Control::Hello(hello) = first else {
        return Err(PerfError::Protocol(format!("{first:?} before a greeting")));
    };
    let member = match common.admit_hello(&hello) {
        Ok(member) => member,
        Err(reason) => {
            send_control(association, Control::Refused { reason: reason.clone() }).await?;
            let _ = tokio::time::timeout(REFUSAL, association.shutdown()).await;
            return Err(PerfError::Refused(reason));
        }
    };
    if !place.keep_place() {
        return Err(Dismissed::GaveWay.into());
    }
    let questions = tokio::time::timeout(AGREEMENT, answer_questions(association)).await;
    let (clock, at_ns) = questions.unwrap_or(Err(PerfError::Silent(AGREEMENT)))?;
    Ok(Agreed { test: hello.test, clock, at_ns, member })
}

/// Says what time it is until the client says when load begins.
async fn answer_questions(association: &Association) -> Result<(ClockRelation, u64), PerfError> {
    send_control(association, Control::Ready { clock: clock_mark() }).await?;
    for _ in 0..100 {
        match expect_control(association).await? {
            Control::Ping => send_control(association, Control::Pong { now_ns: now_ns() }).await?,
            Control::Start { clock, at_ns } => return Ok((clock, at_ns)),
            other => return Err(PerfError::Protocol(format!("{other:?} before the test"))),
        }
    }
    Err(PerfError::Protocol("too many questions".to_owned()))
}

/// Goes through the test.
async fn take_part(
    session: &mut Session,
    association: &Arc<Association>,
    agreed: Agreed,
    observer: &mpsc::UnboundedSender<SessionUpdate>,
    stop: &Stop,
) -> Result<(), PerfError> {
    let Agreed { test, clock, at_ns, member } = agreed;
    member.iter().for_each(Member::begin_load);
    let (id, remote, peer) = (session.id, session.remote.clone(), session.peer.clone());
    session.test = Some(test.clone());
    let _ = observer.send(SessionUpdate::Began { id, remote, peer, test: test.clone() });
    let start_ns = clamp_start(clock.at_server(at_ns));
    let run = Run::new(association.clone(), test, false, clock.stamp_correction(false), start_ns);
    let outcome = measure_test(&run, id, observer, stop).await;
    session.report = run.report();
    outcome
}

/// `at_ns`, if it is now or shortly.
fn clamp_start(at_ns: u64) -> u64 {
    let now = now_ns();
    let lead = u64::try_from(LONGEST_LEAD.as_nanos()).unwrap_or(0);
    at_ns.clamp(now, now.saturating_add(lead))
}

async fn measure_test(
    run: &Run,
    id: u64,
    observer: &mpsc::UnboundedSender<SessionUpdate>,
    stop: &Stop,
) -> Result<(), PerfError> {
    let (inlet, mut outlet) = control::control_pipe(false);
    let tell_observer = |progress| {
        // Nobody has to watch.
        let _ = observer.send(SessionUpdate::Progress(progress));
    };
    // A server's user ends it at once: the client is told by the end of the association.
    let (_never, unhurried) = super::run::stop_switch();
    let mut events = run.association.events();
    let whole = async {
        send_control(&run.association, Control::Begun).await?;
        run.await_beginning().await;
        run.conduct_test(&mut outlet, id, &tell_observer, &unhurried).await?;
        control::send_report(&run.association, &run.report()).await?;
        // The client has it when it says goodbye; the end of that may get lost on the way.
        while let Some(event) = events.next().await {
            if event == Event::PeerShutdown {
                return Ok(());
            }
        }
        core::future::pending().await
    };
    let error = tokio::select! {
        outcome = whole => return outcome,
        error = run.receive_messages(&inlet) => error,
        error = run.watch_peer(&unhurried) => error,
        () = stop.await_set() => PerfError::Interrupted,
    };
    // A goodbye is one only after the test.
    let over = run.is_over(now_ns());
    if over && matches!(error, PerfError::Closed(Closed::Shutdown)) { Ok(()) } else { Err(error) }
}

impl Common {
    /// Takes part; otherwise says why not.
    fn admit_hello(&self, hello: &Hello) -> Result<Option<Member>, String> {
        if hello.version != VERSION {
            return Err(format!("version {} of the protocol (allowed: {VERSION})", hello.version));
        }
        if !(1..=self.limits.parallel).contains(&hello.parallel) {
            let most = self.limits.parallel;
            return Err(format!("{} associations at once (allowed: 1 to {most})", hello.parallel));
        }
        hello.test.check_limits(&self.limits).map_err(|error| error.to_string())?;
        let Some(only) = &self.only else { return Ok(None) };
        let member = only.join_test(hello.group);
        member.map(Some).ok_or("it takes part in one test only, which is another".to_owned())
    }

    /// Waits until the only test is over.
    async fn await_end(&self) {
        match &self.only {
            Some(only) => only.await_end().await,
            None => core::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::tests::second;
    use super::*;

    fn told(one_off: bool, hello: &[Hello]) -> Vec<Result<bool, String>> {
        let only = one_off.then(Arc::default);
        let common = Common { limits: Limits::default(), only };
        let admitted: Vec<_> = hello.iter().map(|hello| common.admit_hello(hello)).collect();
        admitted.into_iter().map(|told| told.map(|member| member.is_some())).collect()
    }

    fn hello(group: u64) -> Hello {
        Hello { version: VERSION, group, parallel: 1, clock: None, test: second() }
    }

    #[test]
    fn who_asks_too_much_is_told_what_is_allowed() {
        assert_eq!(told(false, &[hello(1)]), [Ok(false)]);
        let refused = |hello| told(false, &[hello]).remove(0).unwrap_err();
        assert!(refused(Hello { version: 9, ..hello(1) }).contains("allowed: 1"));
        assert!(refused(Hello { parallel: 1000, ..hello(1) }).contains("1 to 128"));
        let test = TestSpec { streams: 60_000, ..second() };
        assert!(refused(Hello { test, ..hello(1) }).contains("streams"));
    }

    #[test]
    fn a_server_of_one_test_refuses_another() {
        let told = told(true, &[hello(1), hello(2), hello(1)]);
        assert!(told[0].is_ok() && told[1].is_err() && told[2].is_ok(), "{told:?}");
    }
}
