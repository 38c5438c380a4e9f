//! `polypath send`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "a transfer takes the user's time")]
use std::time::Instant;

use polypath_apps::keys::peer_fingerprint;
use polypath_apps::perf::LimitShare;
use polypath_apps::runtime::build_runtime;
use polypath_apps::shown;
use polypath_apps::transfer::{self, Exclude, Identity, SendFilesOptions, Sources};
use polypath_net::{AssocConfig, Association, LimitStats};

use super::LOCAL;
use super::args::SendArgs;
use super::display::Display;
use super::listing;
use super::outcome::{Outcome, Role};
use crate::failure::Failure;
use crate::interrupt::{self, INTERRUPTED};
use crate::keys::{ClientKeys, UNTRUSTED};
use crate::quantity::to_duration;
use crate::reach::{Reach, UNREACHABLE};
use crate::recording::LiveCapture;
use crate::talk::Talk;

/// The longest wait between two attempts.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

pub(crate) fn send(args: &SendArgs) -> Result<(), Failure> {
    let exclude = Exclude::new(&args.exclude)
        .map_err(|error| Failure::bad_input(format!("--exclude: {error}")))?;
    let sources = Sources::excluding(&args.files, exclude)
        .map_err(|error| Failure::with_code(LOCAL, error))?;
    if args.dry_run {
        let talk = Talk::new(args.common.quiet);
        return listing::list_sources(&sources, args.common.json, talk);
    }
    let talk = Talk::new(args.common.quiet);
    let keys = ClientKeys::new(&args.common.keys, &args.peer, receiver(args), talk)?;
    let command = format!("send to {}", shown::escape_remark(receiver(args)));
    let capture = args.common.capture.open(LOCAL, ("client", &command), talk)?;
    let identity = load_identity(args)?;
    let sender = Sender { args, sources: &sources, identity, keys, capture };
    let runtime = build_runtime().map_err(|error| Failure::with_code(LOCAL, error))?;
    let done = runtime.block_on(sender.enrol_and_send());
    done.and(sender.capture.finish())
}

const INTERRUPTION: &str = "interrupted; send again to go on";

fn interruption_failure() -> Failure {
    Failure::with_code(INTERRUPTED, INTERRUPTION)
}

/// Who sends. Where that cannot be kept, nothing but the going on after a break is lost.
fn load_identity(args: &SendArgs) -> Result<Identity, Failure> {
    let kept = state_file().filter(|_| !args.no_state).map(|path| {
        Identity::load_or_make(&path).map_err(|error| format!("{}: {error}", path.display()))
    });
    match kept {
        Some(Ok(identity)) => return Ok(identity),
        Some(Err(why)) if !args.common.quiet => {
            eprintln!("warning: {why}: after a break the receiver will not know this sender again");
        }
        _ => {}
    }
    Identity::generate_new().map_err(|error| Failure::with_code(LOCAL, error))
}

/// Where the XDG Base Directory Specification has state.
fn state_file() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = || folder("HOME").filter(absolute).map(|home| home.join(".local/state"));
    let state = folder("XDG_STATE_HOME").filter(absolute).or_else(home)?;
    Some(state.join("polypath/sender"))
}

struct Sender<'a> {
    args: &'a SendArgs,
    sources: &'a Sources,
    identity: Identity,
    keys: ClientKeys,
    capture: LiveCapture,
}

impl Sender<'_> {
    fn reach<'a>(&'a self, stack: &'a Arc<AssocConfig>) -> Reach<'a> {
        let args = self.args;
        Reach {
            to: receiver(args),
            route: &args.route,
            port: args.common.port,
            patience: args.connect_timeout,
            stack,
            keys: &self.keys,
            capture: &self.capture,
            talk: Talk::new(args.common.quiet),
            program: "polypath receive",
            interrupted: INTERRUPTION,
        }
    }

    /// Becomes known to the receiver first if there is a code.
    async fn enrol_and_send(&self) -> Result<(), Failure> {
        if let Some(code) = &self.args.peer.code {
            self.reach(&super::stack_config(&self.args.common)?).enrol(code).await?;
        }
        self.retry_until_sent().await
    }

    /// Attempts until one succeeds, or the user's patience is at its end.
    async fn retry_until_sent(&self) -> Result<(), Failure> {
        let mut patience = self.args.retry.map(|limit| Patience::new(limit.map(to_duration)));
        let mut reached = false;
        loop {
            let attempt = self.attempt_transfer().await;
            let (again, why) = match &attempt {
                Ok(outcome) => (outcome.may_go_on(), outcome.describe_end()),
                // What was right once may be right again: devices come and go.
                Err(failure) => (
                    failure.code() == UNREACHABLE
                        || reached && ![INTERRUPTED, UNTRUSTED].contains(&failure.code()),
                    failure.message().to_owned(),
                ),
            };
            reached |= attempt.is_ok();
            let progress = attempt.as_ref().is_ok_and(|outcome| outcome.travelled > 0);
            let wait = patience.as_mut().filter(|_| again).and_then(|p| p.next_wait(progress));
            let Some(wait) = wait else { return self.conclude_attempt(attempt) };
            if !self.args.common.quiet {
                eprintln!("{why}: connecting again in {} s", wait.as_secs());
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = interrupt::wait_for_interrupt() => return Err(interruption_failure()),
            }
        }
    }

    fn conclude_attempt(&self, attempt: Result<Outcome, Failure>) -> Result<(), Failure> {
        let outcome = attempt?;
        outcome.print_result(self.args.common.json)?;
        match outcome.failure() {
            None => Ok(()),
            Some(failure) if failure.code() == UNREACHABLE => {
                let text = format!("{}{}", failure.message(), self.keys.silence());
                Err(Failure::with_code(UNREACHABLE, text))
            }
            Some(failure) => Err(failure),
        }
    }

    async fn attempt_transfer(&self) -> Result<Outcome, Failure> {
        let stack = super::stack_config(&self.args.common)?;
        let (association, _endpoint) = self.reach(&stack).connect().await?;
        self.transfer_files(association, &stack).await
    }

    #[expect(clippy::disallowed_types, reason = "as above")]
    async fn transfer_files(
        &self,
        association: Arc<Association>,
        stack: &AssocConfig,
    ) -> Result<Outcome, Failure> {
        let common = &self.args.common;
        let display = Display::new(Role::Send, common.quiet, !common.quiet && !common.json);
        let watcher = display.start_bars(association.clone());
        let (silence, buffer) = (common.longest_silence(), stack.send_buffer);
        let (identity, limit) = (self.identity, self.args.limit);
        let options = SendFilesOptions { silence, buffer, identity, limit };
        let start = Instant::now();
        let result = tokio::select! {
            result = transfer::send(&association, self.sources, options, &*display) => Some(result),
            () = interrupt::wait_for_interrupt() => {
                super::give_up(&association).await;
                None
            }
        };
        let time = start.elapsed();
        display.finish_bars(watcher);
        let Some(result) = result else { return Err(interruption_failure()) };
        let (travelled, paths) = (display.bytes_travelled(), association.paths());
        let limits = LimitShare::between(&LimitStats::default(), &association.limits(), &paths);
        let peer = peer_fingerprint(&association);
        Ok(Outcome { role: Role::Send, peer, result, travelled, time, paths, limits })
    }
}

/// How long attempts go on.
#[expect(clippy::disallowed_types, reason = "as above")]
struct Patience {
    /// `None`: for ever.
    limit: Option<Duration>,
    since: Instant,
    wait: Duration,
}

#[expect(clippy::disallowed_types, reason = "as above")]
impl Patience {
    fn new(limit: Option<Duration>) -> Self {
        Self { limit, since: Instant::now(), wait: Duration::ZERO }
    }

    /// How long to wait before the next attempt; `None`: there is none. `progress`: the last one
    /// carried something.
    fn next_wait(&mut self, progress: bool) -> Option<Duration> {
        if progress {
            (self.since, self.wait) = (Instant::now(), Duration::ZERO);
        }
        self.wait = (self.wait * 2).clamp(Duration::from_secs(1), LONGEST_WAIT);
        let spent = self.since.elapsed() + self.wait;
        self.limit.is_none_or(|limit| spent <= limit).then_some(self.wait)
    }
}

/// Whom the user named; nobody with --dry-run, which does not come here.
fn receiver(args: &SendArgs) -> &str {
    args.to.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_ends_and_is_renewed_by_progress() {
        let seconds = |wait: Option<Duration>| wait.map(|wait| wait.as_secs());
        let mut patience = Patience::new(None);
        let waits: Vec<_> = (0..6).map(|_| seconds(patience.next_wait(false))).collect();
        assert_eq!(waits, [1, 2, 4, 8, 8, 8].map(Some));
        assert_eq!(seconds(patience.next_wait(true)), Some(1));
        let mut short = Patience::new(Some(Duration::from_millis(3500)));
        assert_eq!(seconds(short.next_wait(false)), Some(1));
        assert_eq!(seconds(short.next_wait(false)), Some(2));
        assert_eq!(short.next_wait(false), None);
        assert_eq!(seconds(short.next_wait(true)), Some(1));
    }
}
