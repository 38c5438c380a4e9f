//! Errors, ours and the peer's: ERROR and ABORT chunks (RFC 9260 sections 3.3.7 and 3.3.10), and
//! what ICMP reports (section 10).

use polypath_wire::cause::code;
use polypath_wire::chunk::kind;
use polypath_wire::{AbortChunk, CausesBuf, ErrorCause, ErrorChunk, RawChunk, StreamId, Tsn};

use super::{Association, Bundling, State};
use crate::event::{CloseReason, Event};
use crate::ids::{FourTuple, PathId};
use crate::time::{Duration, Time};
use crate::view::PathState;

/// Headers of packet, chunk and cause.
const OVERHEAD: usize = polypath_wire::COMMON_HEADER_LEN + 4 + 4;

/// Errors of the peer that wait for the application, at most: it may report as many as it likes.
const MAX_PEER_ERRORS: usize = 16;

/// Bytes of what the peer says in its ABORT that are kept.
const MAX_ABORT_REASON: usize = 256;

/// A peer whose NAT gave it another port may take so long until its packets come from there.
const MOVING: Duration = Duration::from_secs(2);

impl Association {
    /// The peer broke the protocol: ABORT with this cause (and `info`, where the cause has room for
    /// it), and the end.
    pub(crate) fn protocol_violation(&mut self, _now: Time, cause_code: u16, info: &str) {
        let cause = match cause_code {
            code::INVALID_MANDATORY => ErrorCause::InvalidMandatory,
            code::OUT_OF_RESOURCE => ErrorCause::OutOfResource,
            _ => ErrorCause::ProtocolViolation(self.quotable(info.as_bytes())),
        };
        self.abort_with(&cause);
    }

    /// A DATA chunk without data (RFC 9260 section 3.3.10.9).
    pub(crate) fn abort_no_user_data(&mut self, _now: Time, tsn: Tsn) {
        self.abort_with(&ErrorCause::NoUserData(tsn));
    }

    /// ABORT with `cause`, and the end.
    pub(crate) fn abort_with(&mut self, cause: &ErrorCause<'_>) {
        self.send_abort(cause);
        self.close(CloseReason::ProtocolViolation { cause: cause.code() });
    }

    /// Queues ABORT alone: whatever else was waiting has no meaning any more. Without a peer's tag
    /// there is no one to tell.
    pub(super) fn send_abort(&mut self, cause: &ErrorCause<'_>) {
        self.send_abort_with(Some(*cause));
    }

    fn send_abort_with(&mut self, cause: Option<ErrorCause<'_>>) {
        self.control.clear();
        if self.peer.tag == 0 {
            return;
        }
        let causes: CausesBuf = cause.into_iter().collect();
        let chunk = AbortChunk { reflected: false, causes: causes.as_causes() };
        self.send_control(self.paths.preferred(), &chunk, Bundling::Alone);
    }

    /// We give up: an answer is missing for too long. The peer gets one ABORT: our packets may
    /// arrive although its packets do not. Where one of us waits for the end of a shutdown both
    /// have everything: then it gets no reason to think that something was lost.
    pub(super) fn give_up_on_peer(&mut self, reason: CloseReason) {
        let done = matches!(self.state, State::ShutdownSent | State::ShutdownAckSent);
        let cause = ErrorCause::UserInitiatedAbort(b"too many retransmissions");
        self.send_abort_with((!done).then_some(cause));
        self.close(reason);
    }

    /// The path scheduler decides no more. What it says of itself is not for the peer.
    #[cold]
    pub(super) fn give_up_on_policy(&mut self, why: String) {
        self.send_abort(&ErrorCause::UserInitiatedAbort(b"the path scheduler failed"));
        self.close(CloseReason::PolicyFailed(why.into()));
    }

    /// Queues ERROR with one cause.
    pub(crate) fn send_error(&mut self, path: PathId, cause: &ErrorCause<'_>) {
        if !self.may_carry_control(path) {
            return;
        }
        let causes: CausesBuf = [*cause].into_iter().collect();
        self.send_control(path, &ErrorChunk { causes: causes.as_causes() }, Bundling::Free);
    }

    /// Reports a chunk of unknown type, quoting as much as fits, padding included: peers look for
    /// whole words there.
    pub(crate) fn report_unknown_chunk(&mut self, path: PathId, raw: &RawChunk<'_>) {
        let room = self.quotable_len() & !3;
        let mut quoted = raw.bytes().get(..room).unwrap_or(raw.bytes()).to_vec();
        quoted.resize(quoted.len().next_multiple_of(4), 0);
        self.send_error(path, &ErrorCause::UnrecognizedChunk(&quoted));
    }

    /// Reports DATA for a stream that does not exist.
    pub(crate) fn report_invalid_stream(&mut self, path: PathId, stream: StreamId) {
        self.send_error(path, &ErrorCause::InvalidStream(stream));
    }

    /// ERROR came.
    pub(crate) fn on_error(&mut self, now: Time, error: &ErrorChunk<'_>) {
        for cause in error.causes.iter().map_while(Result::ok) {
            match cause.decode() {
                Ok(ErrorCause::StaleCookie(staleness)) => self.on_stale_cookie(now, staleness),
                Ok(ErrorCause::UnrecognizedChunk([kind::ASCONF, ..])) => {
                    self.on_unknown_asconf(now);
                    self.announce_peer_error(cause.code);
                }
                _ => self.announce_peer_error(cause.code),
            }
        }
    }

    /// Keeps what a well-formed ABORT says in words; gives its first cause code.
    pub(super) fn note_abort(&mut self, abort: &AbortChunk<'_>) -> Option<u16> {
        let cause = abort.causes.iter().next().and_then(Result::ok)?;
        if let Ok(ErrorCause::UserInitiatedAbort(words) | ErrorCause::ProtocolViolation(words)) =
            cause.decode()
        {
            let kept = words.get(..MAX_ABORT_REASON).unwrap_or(words);
            self.abort_reason = Some(Box::new(bytes::Bytes::copy_from_slice(kept)));
        }
        Some(cause.code)
    }

    fn announce_peer_error(&mut self, cause: u16) {
        let waiting = self.events.iter().filter(|e| matches!(e, Event::PeerError { .. })).count();
        if waiting < MAX_PEER_ERRORS {
            self.events.push_back(Event::PeerError { cause });
        }
    }

    /// An unconfirmed path carries nothing but heartbeats and their answers (RFC 9260 section 5.4).
    pub(super) fn may_carry_control(&self, path: PathId) -> bool {
        self.paths.is_confirmed(path)
    }

    /// As much of `bytes` as fits into an error cause of one packet.
    pub(super) fn quotable<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        bytes.get(..self.quotable_len()).unwrap_or(bytes)
    }

    pub(super) fn quotable_len(&self) -> usize {
        let room = self.paths.packet_limit(self.paths.preferred());
        room.saturating_sub(OVERHEAD + self.auth_reserve())
    }

    /// ICMP8: the host at the other end of `tuple` does not know SCTP. That ends the association
    /// like an ABORT; an INIT's fate only while we wait for its answer.
    pub(crate) fn protocol_unreachable(&mut self, init: bool) -> bool {
        let fitting = init == (self.state() == State::CookieWait);
        if fitting {
            // It ends as by a bare ABORT, but nobody has aborted anything.
            let done = self.state() == State::ShutdownAckSent;
            self.control.clear();
            self.close(if done { CloseReason::Shutdown } else { CloseReason::Unreachable });
        }
        fitting
    }

    /// Nobody listens at the peer's UDP port, says its host, or a NAT on the way that has forgotten
    /// the peer, or gives it another port. While another path lives, or is being tried, or the peer
    /// may be about to tell where it is now, it is this path that failed; otherwise it is as if the
    /// host did not know SCTP.
    pub(crate) fn port_unreachable(&mut self, now: Time, tuple: FourTuple, init: bool) -> bool {
        let setup = self.state() == State::CookieWait;
        let Some(p) = self.paths.by_tuple(&tuple).filter(|_| init == setup) else {
            return false;
        };
        let Some(path) = self.paths.get_mut(p) else { return false };
        path.refused = path.refused.min(now);
        let moving = !setup && now.since(path.refused) < MOVING;
        let hope = self.paths.iter().any(|(view, path)| {
            let refused = path.refused != Time::MAX;
            view.id != p && !refused && (setup || view.state == PathState::Active)
        });
        if hope || moving {
            self.path_failed(now, tuple);
            return true;
        }
        self.protocol_unreachable(init)
    }
}
