//! Connecting to the first of several addresses that answers: happy eyeballs (RFC 8305).

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use super::refusal::Refusal;

/// The next attempt begins so long after the last one (RFC 8305, section 5).
const DELAY: Duration = Duration::from_millis(250);

/// More addresses of one name are not tried.
const MOST: usize = 8;

/// The order of attempts: the families in turns, the first one's first (RFC 8305, section 4), each
/// in the order in which the resolver has put them (RFC 6724); each address once, a few at most.
pub(super) fn order_attempts(found: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut seen = BTreeSet::new();
    let each: Vec<_> = found.into_iter().filter(|address| seen.insert(*address)).collect();
    let ipv4 = each.first().is_some_and(SocketAddr::is_ipv4);
    let (first, second): (Vec<SocketAddr>, Vec<_>) =
        each.into_iter().partition(|to| to.is_ipv4() == ipv4);
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut ordered = Vec::new();
    for _ in 0..MOST {
        ordered.extend(first.next().into_iter().chain(second.next()));
    }
    ordered.truncate(MOST);
    ordered
}

/// Connects to one of the addresses: a next attempt begins when one has failed, or [`DELAY`] after
/// the last. The first that succeeds wins, and the others are dropped, as all are with the future.
///
/// # Errors
/// When all fail: the most telling of what they came to.
pub(super) async fn connect_first<S, F>(
    addresses: Vec<SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> Result<S, Refusal>
where
    S: Send + 'static,
    F: Future<Output = io::Result<S>> + Send + 'static,
{
    let mut waiting = addresses.into_iter();
    let mut attempts = JoinSet::new();
    let mut failure = None;
    loop {
        if let Some(to) = waiting.next() {
            attempts.spawn(connect(to));
        }
        let ended = tokio::select! {
            biased;
            ended = attempts.join_next() => ended,
            () = sleep(DELAY), if waiting.len() > 0 => continue,
        };
        let why = match ended {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => Refusal::of_tcp(&error),
            Some(Err(_)) => Refusal::Failed,
            None => return Err(failure.unwrap_or(Refusal::Failed)),
        };
        failure = Some(failure.map_or(why, |before| more_telling(before, why)));
    }
}

/// Who was refused got farther than who found no way, as with IPv6 where a host has none.
fn more_telling(a: Refusal, b: Refusal) -> Refusal {
    let rank = |refusal| match refusal {
        Refusal::Refused => 3,
        Refusal::TimedOut => 2,
        Refusal::Unreachable => 0,
        _ => 1,
    };
    if rank(b) > rank(a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::time::Instant;

    use super::*;

    fn address(text: &str) -> SocketAddr {
        format!("{text}:80").parse().unwrap()
    }

    fn ordered(found: &str) -> String {
        let found = found.split_whitespace().map(address);
        let texts = order_attempts(found).into_iter().map(|to| to.ip().to_string());
        texts.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn families_take_turns() {
        assert_eq!(ordered(""), "");
        assert_eq!(ordered("[::1] [::2] 1.1.1.1 [::3] 2.2.2.2"), "::1 1.1.1.1 ::2 2.2.2.2 ::3");
        assert_eq!(ordered("1.1.1.1 [::1] 2.2.2.2 3.3.3.3"), "1.1.1.1 ::1 2.2.2.2 3.3.3.3");
        assert_eq!(ordered("1.1.1.1 1.1.1.1 [::1] 1.1.1.1 [::1]"), "1.1.1.1 ::1");
        let many: Vec<_> = (1..20).map(|i| format!("[::{i}]")).collect();
        assert_eq!(ordered(&(many.join(" ") + " 1.1.1.1")), "::1 1.1.1.1 ::2 ::3 ::4 ::5 ::6 ::7");
    }

    /// What happens at one address: after so many milliseconds, this.
    type Script = &'static [(&'static str, u64, Option<io::ErrorKind>)];

    /// The result, when it came, and the attempts: when each began, `!` behind it if it ended.
    async fn run(script: Script) -> (Result<SocketAddr, Refusal>, u128, Vec<String>) {
        let began = Instant::now();
        let log = Arc::new(Mutex::new(Vec::new()));
        let logged = log.clone();
        let connect = move |to: SocketAddr| {
            let (_, after, error) = *script.iter().find(|(at, ..)| address(at) == to).unwrap();
            let (log, note) = (log.clone(), format!("{}", began.elapsed().as_millis()));
            log.lock().unwrap().push(note.clone());
            async move {
                sleep(Duration::from_millis(after)).await;
                log.lock().unwrap().push(note + "!");
                error.map_or(Ok(to), |kind| Err(kind.into()))
            }
        };
        let addresses = script.iter().map(|(at, ..)| address(at)).collect();
        let result = connect_first(addresses, connect).await;
        let took = began.elapsed().as_millis();
        // Attempts that went on would end by then.
        sleep(Duration::from_secs(3600)).await;
        let log = logged.lock().unwrap().clone();
        (result, took, log)
    }

    const HOLE: u64 = 600_000;
    const REFUSED: Option<io::ErrorKind> = Some(io::ErrorKind::ConnectionRefused);
    const UNREACHABLE: Option<io::ErrorKind> = Some(io::ErrorKind::NetworkUnreachable);

    #[tokio::test(start_paused = true)]
    async fn a_black_hole_costs_a_quarter_of_a_second() {
        let (result, took, log) = run(&[("[::1]", HOLE, None), ("1.1.1.1", 30, None)]).await;
        assert_eq!((result, took), (Ok(address("1.1.1.1")), 280));
        assert_eq!(log, ["0", "250", "250!"]);
    }

    #[tokio::test(start_paused = true)]
    async fn who_answers_late_may_still_win() {
        let script = &[("[::1]", 600, None), ("1.1.1.1", HOLE, None), ("[::2]", HOLE, None)];
        let (result, took, log) = run(script).await;
        assert_eq!((result, took), (Ok(address("[::1]")), 600));
        assert_eq!(log, ["0", "250", "500", "0!"]);
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_failure_the_next_begins_at_once() {
        let script = &[("[::1]", 10, UNREACHABLE), ("1.1.1.1", 5, None), ("2.2.2.2", 0, None)];
        let (result, took, log) = run(script).await;
        assert_eq!((result, took), (Ok(address("1.1.1.1")), 15));
        assert_eq!(log, ["0", "0!", "10", "10!"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_most_telling_failure_is_told() {
        let script =
            &[("[::1]", 0, UNREACHABLE), ("1.1.1.1", 5, REFUSED), ("[::2]", 0, UNREACHABLE)];
        assert_eq!(run(script).await.0, Err(Refusal::Refused));
        assert_eq!(run(&[("[::1]", 0, UNREACHABLE)]).await.0, Err(Refusal::Unreachable));
        assert_eq!(run(&[]).await.0, Err(Refusal::Failed));
    }

    #[tokio::test(start_paused = true)]
    async fn without_the_future_nothing_goes_on() {
        let (began, ended) = (Arc::new(Mutex::new(0)), Arc::new(Mutex::new(0)));
        let (counted, over) = (began.clone(), ended.clone());
        let connect = move |to| {
            *counted.lock().unwrap() += 1;
            let over = over.clone();
            async move {
                sleep(Duration::from_secs(9)).await;
                *over.lock().unwrap() += 1;
                Ok(to)
            }
        };
        let addresses = vec![address("[::1]"), address("1.1.1.1"), address("2.2.2.2")];
        let patience = Duration::from_millis(300);
        assert!(tokio::time::timeout(patience, connect_first(addresses, connect)).await.is_err());
        sleep(Duration::from_secs(60)).await;
        assert_eq!((*began.lock().unwrap(), *ended.lock().unwrap()), (2, 0));
    }
}
