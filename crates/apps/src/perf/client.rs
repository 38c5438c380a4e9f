//! The end that asks for a test.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use polypath_net::{Association, Closed, Config, Endpoint, Pairing, Warning};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::clock::{ClockRelation, Sample, clock_mark, now_ns};
use super::control::{self, Control, Hello, VERSION, ppid, send_control};
use super::error::PerfError;
use super::report::{AssociationReport, ClientReport};
use super::run::{Progress, Run, Stop};
use super::spec::{Limits, TestSpec};
use crate::keys;
use crate::shown;

/// What a client wants.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// The endpoint of each association: every one has sockets and a port of its own.
    pub endpoint: Config,
    /// The server's addresses.
    pub remote: Vec<SocketAddr>,
    /// Its SCTP port.
    pub port: u16,
    /// Which pairs of addresses become paths.
    pub pairing: Pairing,
    /// Associations side by side.
    pub parallel: u16,
    /// The test, on each.
    pub test: TestSpec,
    /// How long to wait for the server.
    pub connect_timeout: Duration,
}

/// Questions for the server's clock.
const PINGS: usize = 10;

/// Associations that are set up at a time: the first must not have waited for too long when the
/// last is ready.
const AT_ONCE: usize = 16;

/// Time between agreement and load, beside two round trips.
const HEAD_START: Duration = Duration::from_millis(20);
/// More is not needed, and not allowed by servers.
pub(crate) const LONGEST_LEAD: Duration = Duration::from_secs(5);

/// One association before the test.
struct Ready {
    id: u16,
    // Fields are dropped in order: the association says goodbye while its endpoint lives.
    association: Arc<Association>,
    endpoint: Endpoint,
    clock: ClockRelation,
    /// Shortest round trip seen.
    trip: Duration,
    setup: Duration,
}

/// Runs a test: connects, measures, and puts together what both ends saw. `warnings` hears what
/// works less well than it could.
///
/// # Errors
/// When the test could not begin. One that ended early is in the report.
pub async fn run_client(
    options: ClientOptions,
    observer: mpsc::UnboundedSender<Progress>,
    stop: Stop,
    mut warnings: impl FnMut(&Warning),
) -> Result<ClientReport, PerfError> {
    let limits = Limits::default();
    options.test.check_limits(&limits)?;
    let ready = tokio::select! {
        ready = prepare_all(&options) => ready?,
        () = stop.await_set() => return Err(PerfError::Interrupted),
    };
    // Every endpoint has the same.
    let first = ready.first();
    first.into_iter().flat_map(|r| r.endpoint.warnings()).for_each(&mut warnings);
    let mut tests = JoinSet::new();
    for one in ready {
        tests.spawn(measure_test(one, options.test.clone(), observer.clone(), stop.clone()));
    }
    let mut associations = tests.join_all().await;
    associations.sort_by_key(|association| association.id);
    Ok(ClientReport::new(options.test, stop.is_set(), associations))
}

async fn prepare_all(options: &ClientOptions) -> Result<Vec<Ready>, PerfError> {
    // Distinguishes tests, no more.
    let group = now_ns() ^ u64::from(std::process::id()) << 48;
    let mut ready = Vec::new();
    let options = Arc::new(options.clone());
    let ids: Vec<_> = (1..=options.parallel.max(1)).collect();
    for some in ids.chunks(AT_ONCE) {
        let mut preparing = JoinSet::new();
        for &id in some {
            preparing.spawn(prepare_test(options.clone(), id, group));
        }
        for one in preparing.join_all().await {
            ready.push(one?);
        }
    }
    Ok(ready)
}

async fn prepare_test(
    options: Arc<ClientOptions>,
    id: u16,
    group: u64,
) -> Result<Ready, PerfError> {
    let endpoint = Endpoint::bind(options.endpoint.clone())?;
    let wait = options.connect_timeout;
    let unanswered = |_| {
        let remote: Vec<_> = options.remote.iter().map(ToString::to_string).collect();
        PerfError::NoAnswer { remote: remote.join(", "), wait }
    };
    let began = now_ns();
    let config = options.endpoint.assoc.clone();
    let connect = endpoint.connect_with(&options.remote, options.port, options.pairing, config);
    let association = tokio::time::timeout(wait, connect).await.map_err(unanswered)??;
    let setup = Duration::from_nanos(now_ns().saturating_sub(began));
    let association = Arc::new(association);
    let agree = agree_on_test(&association, &options, group);
    let (clock, trip) = tokio::time::timeout(wait, agree).await.map_err(unanswered)??;
    Ok(Ready { id, association, endpoint, clock, trip, setup })
}

/// Says what test it is to be, and compares clocks.
async fn agree_on_test(
    association: &Association,
    options: &ClientOptions,
    group: u64,
) -> Result<(ClockRelation, Duration), PerfError> {
    let clock = clock_mark();
    let hello = Hello {
        version: VERSION,
        group,
        parallel: options.parallel,
        clock: clock.clone(),
        test: options.test.clone(),
    };
    send_control(association, Control::Hello(hello)).await?;
    let same_machine = match expect_control(association).await? {
        Control::Ready { clock: theirs } => theirs.is_some() && theirs == clock,
        Control::Refused { reason } => {
            return Err(PerfError::Refused(shown::escape_remark(&reason)));
        }
        other => return Err(PerfError::Protocol(format!("{other:?} instead of an answer"))),
    };
    let mut samples = Vec::new();
    for _ in 0..PINGS {
        let asked = now_ns();
        send_control(association, Control::Ping).await?;
        let Control::Pong { now_ns: peer } = expect_control(association).await? else {
            return Err(PerfError::Protocol("no answer to the question for its time".to_owned()));
        };
        samples.push(Sample { asked, peer, answered: now_ns() });
    }
    let trip = samples.iter().map(Sample::round_trip).min().unwrap_or(0);
    Ok((ClockRelation::from_samples(&samples, same_machine), Duration::from_nanos(trip)))
}

/// The next control message, before the test.
pub(crate) async fn expect_control(association: &Association) -> Result<Control, PerfError> {
    let message = association.recv().await?.ok_or(Closed::Shutdown)?;
    if message.stream.0 != control::CONTROL_STREAM || message.ppid != ppid::CONTROL {
        return Err(PerfError::Protocol("load before the test".to_owned()));
    }
    Control::from_bytes(&message.data)
}

async fn measure_test(
    ready: Ready,
    test: TestSpec,
    observer: mpsc::UnboundedSender<Progress>,
    stop: Stop,
) -> AssociationReport {
    let Ready { id, association, endpoint, clock, trip, setup } = ready;
    // Late enough for the server to know of it, so that both ends begin together.
    let lead = (2 * trip + HEAD_START).min(LONGEST_LEAD);
    let at_ns = now_ns() + u64::try_from(lead.as_nanos()).unwrap_or(0);
    let run = Run::new(association.clone(), test, true, clock.stamp_correction(true), at_ns);
    let (inlet, mut outlet) = control::control_pipe(true);
    // Nobody has to watch.
    let tell_observer = |progress| drop(observer.send(progress));
    let whole = async {
        send_control(&association, Control::Start { clock, at_ns }).await?;
        match outlet.next_control().await? {
            Control::Begun => run.await_beginning().await,
            other => return Err(PerfError::Protocol(format!("{other:?} instead of the test"))),
        }
        run.conduct_test(&mut outlet, id.into(), &tell_observer, &stop).await?;
        outlet.await_report().await
    };
    let outcome = tokio::select! {
        report = whole => report,
        error = run.receive_messages(&inlet) => Err(error),
        error = run.watch_peer(&stop) => Err(error),
    };
    let mut client = run.report();
    let (server, error) = match outcome {
        Ok(mut server) => {
            client.share_goodput(&server);
            server.share_goodput(&client);
            association.begin_shutdown();
            let _ = tokio::time::timeout(Duration::from_secs(2), endpoint.wait_idle()).await;
            (Some(server), None)
        }
        Err(error) => {
            association.abort("the test ended early");
            let wanted = matches!(error, PerfError::Interrupted);
            (None, (!wanted).then(|| shown::escape_remark(&error.to_string())))
        }
    };
    let peer = keys::peer_fingerprint(&association).map(|key| key.to_string());
    AssociationReport { id, peer, clock, setup_seconds: setup.as_secs_f64(), client, server, error }
}
