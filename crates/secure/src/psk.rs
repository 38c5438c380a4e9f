//! Keys shared before (method 0 of draft-ietf-tsvwg-sctp-dtls-chunk section 10.1): no messages, and
//! the first packet behind set-up is protected.

use core::ops::Range;
use std::collections::VecDeque;

use bytes::Bytes;
use polypath_proto::PathId;
use polypath_proto::protection::{
    Agreed, FIRST_EPOCH, KeyManagement, OpenError, Protection, ProtectionEvent, ProtectionFailure,
    ProtectionStats, Role,
};
use polypath_proto::time::{Duration, Time};
use zeroize::Zeroize;

use crate::aead::library::hkdf;
use crate::aead::{IV_LEN, KeyMaterial, Suite};
use crate::policy::RekeyPolicy;
use crate::record::{Arrival, Opener, Record};
use crate::session::Keyring;

/// The method's identifier.
const METHOD: u8 = 0;

/// What makes these keys differ from all others of the same secret.
const LABEL: &[u8] = b"polypath keys shared before, DTLS chunk";

/// Key management with a secret that both ends have: 32 random bytes, never a password.
///
/// The keys of each direction and epoch are derived from the secret (HKDF-SHA256, RFC 5869), both
/// ends' parameters, and the verification tags and initial TSNs of the association. No nonce is
/// used twice, although the secret is the same for all associations: of those numbers each end
/// draws 64 bits at random, so one honest end suffices to make the keys of each association fresh.
/// There is no forward secrecy: who learns the secret can read what was recorded before.
#[derive(Clone)]
pub struct PreShared {
    secret: [u8; 32],
    suite: Suite,
    policy: RekeyPolicy,
}

impl PreShared {
    /// With AES-128-GCM and the default policy. Both ends must be told the same cipher: nothing
    /// agrees on it.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self { secret, suite: Suite::Aes128Gcm, policy: RekeyPolicy::default() }
    }

    /// With another cipher; [`Suite::StandIn`] is none, and changes nothing.
    #[must_use]
    pub fn with_cipher(mut self, suite: Suite) -> Self {
        if suite != Suite::StandIn {
            self.suite = suite;
        }
        self
    }

    /// With keys that are replaced as `policy` says, but not before two retransmission timeouts.
    #[must_use]
    pub const fn with_policy(mut self, policy: RekeyPolicy) -> Self {
        self.policy = policy;
        self
    }
}

impl core::fmt::Debug for PreShared {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PreShared({:?}, {:?})", self.suite, self.policy)
    }
}

impl Drop for PreShared {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

impl KeyManagement for PreShared {
    fn methods(&self) -> &[u8] {
        &[METHOD]
    }

    fn protect(&self, now: Time, agreed: &Agreed) -> Box<dyn Protection> {
        Box::new(PreSharedKeys::new(now, self, agreed))
    }
}

/// Where keys come from.
struct Schedule {
    secret: hkdf::Prk,
    suite: Suite,
    /// What they are bound to: tags and TSNs, parameters.
    context: Box<[u8]>,
}

impl Schedule {
    fn new(config: &PreShared, agreed: &Agreed) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, LABEL);
        // Parameters begin with their lengths: nothing else can read the same.
        let context = [&agreed.session[..], &agreed.parameters.concat()].concat();
        Self { secret: salt.extract(&config.secret), suite: config.suite, context: context.into() }
    }

    /// The keys that `sender` seals with in an epoch.
    fn keys(&self, sender: Role, epoch: u64) -> Option<KeyMaterial> {
        let len = self.suite.key_len();
        let mut iv = [0; IV_LEN];
        iv.copy_from_slice(&self.derive(sender, epoch, 2, IV_LEN)?);
        let key = self.derive(sender, epoch, 0, len)?;
        Some(KeyMaterial { key, number_key: self.derive(sender, epoch, 1, len)?, iv })
    }

    fn derive(&self, sender: Role, epoch: u64, kind: u8, len: usize) -> Option<Vec<u8>> {
        let direction = [u8::from(sender == Role::Server), kind];
        let epoch = epoch.to_be_bytes();
        let info = [&direction[..], &epoch, &self.context];
        let mut bytes = vec![0; len];
        self.secret.expand(&info, Length(len)).ok()?.fill(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// How many bytes are derived.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// The keys of one association.
struct PreSharedKeys {
    schedule: Schedule,
    role: Role,
    keys: Keyring,
    /// Of the two epochs that no authentic packet came of yet. Kept, so that strangers cannot have
    /// keys derived for each packet.
    ahead: [Option<Opener>; 2],
    hold: Hold,
    /// The server's: until then the client has to prove that it has the secret, by a packet.
    proof_until: Option<Time>,
    events: VecDeque<ProtectionEvent>,
    failed: bool,
}

/// How long the client may take until its first packet comes.
const PROOF: Duration = Duration::from_secs(20);

/// The peer keeps two epochs, and the older one for two retransmission timeouts. Our next epoch
/// waits for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// Keys may be replaced.
    Free,
    /// They were; the timeout will be told.
    Since(Time),
    /// They may be again from then on.
    Until(Time),
}

impl core::fmt::Debug for PreSharedKeys {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PreSharedKeys({:?}, {:?})", self.role, self.keys)
    }
}

impl PreSharedKeys {
    fn new(now: Time, config: &PreShared, agreed: &Agreed) -> Self {
        let mut keys = Self {
            schedule: Schedule::new(config, agreed),
            role: agreed.role,
            keys: Keyring::new(config.policy),
            ahead: [None, None],
            hold: Hold::Free,
            proof_until: (agreed.role == Role::Server).then(|| now + PROOF),
            events: VecDeque::new(),
            failed: false,
        };
        let read = keys.opener(FIRST_EPOCH);
        if let Some(read) = read
            && keys.write(now, FIRST_EPOCH)
        {
            keys.keys.install_opener(read);
            if keys.proof_until.is_none() {
                keys.events.push_back(ProtectionEvent::Established);
            }
        } else {
            keys.fail(ProtectionFailure::Exchange("no keys can be derived".into()));
        }
        keys
    }

    fn opener(&self, epoch: u64) -> Option<Opener> {
        let keys = self.schedule.keys(self.role.other(), epoch)?;
        Opener::new(epoch, self.schedule.suite, &keys)
    }

    /// Seals with the keys of `epoch` from now on.
    fn write(&mut self, now: Time, epoch: u64) -> bool {
        let keys = self.schedule.keys(self.role, epoch);
        keys.is_some_and(|keys| self.keys.install_write(now, epoch, self.schedule.suite, &keys))
    }

    /// Replaces our keys if they are old. The peer finds out by the epoch's bits.
    fn rekey(&mut self, now: Time) {
        let epoch = self.keys.stats().epoch + 1;
        if now >= self.keys.due() && self.hold == Hold::Free && self.write(now, epoch) {
            self.hold = Hold::Since(now);
            self.events.push_back(ProtectionEvent::Rekeyed { epoch });
        }
    }

    /// Opens a packet of an epoch after the newest: the peer may have replaced its keys. One more
    /// is tried than it should be ahead, since all packets of an epoch may have been lost.
    fn open_ahead(
        &mut self,
        arrival: Arrival,
        record: &Record,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        let newest = self.keys.newest().ok_or(OpenError::NoKey)?;
        let named = |epoch: &u64| *epoch as u8 & 3 == record.epoch_bits();
        let epoch = (newest + 1..=newest + 2).find(named).ok_or(OpenError::NoKey)?;
        let kept = self.ahead(epoch).take().filter(|next| next.epoch() == epoch);
        let mut opener = kept.or_else(|| self.opener(epoch)).ok_or(OpenError::NoKey)?;
        let result = self.keys.open_with(&mut opener, arrival, record, chunk);
        if result.is_ok() {
            self.keys.install_opener(opener);
            self.keys.drain_from(arrival.now);
        } else {
            *self.ahead(epoch) = Some(opener);
        }
        result
    }

    /// Where keys of an epoch that has not come yet are kept.
    const fn ahead(&mut self, epoch: u64) -> &mut Option<Opener> {
        let [even, odd] = &mut self.ahead;
        if epoch.is_multiple_of(2) { even } else { odd }
    }

    fn fail(&mut self, failure: ProtectionFailure) {
        if !self.failed {
            self.failed = true;
            self.events.push_back(ProtectionEvent::Failed(failure));
        }
    }
}

impl Protection for PreSharedKeys {
    fn handle_message(&mut self, _: Time, _: Duration, _: &[u8], _: bool) {}

    fn poll_message(&mut self) -> Option<Bytes> {
        None
    }

    fn poll_event(&mut self) -> Option<ProtectionEvent> {
        let event = self.events.pop_front();
        if self.events.is_empty() {
            self.events.shrink_to_fit();
        }
        event
    }

    fn next_timeout(&self) -> Time {
        let hold = match self.hold {
            Hold::Free => Time::MAX,
            Hold::Since(time) | Hold::Until(time) => time,
        };
        let proof = self.proof_until.filter(|_| !self.failed).unwrap_or(Time::MAX);
        hold.min(proof).min(self.keys.next_timeout())
    }

    fn handle_timeout(&mut self, now: Time, rto: Duration) {
        self.keys.handle_timeout(now, rto);
        if self.proof_until.is_some_and(|until| now >= until) {
            self.fail(ProtectionFailure::TimedOut);
        }
        if let Hold::Since(start) = self.hold {
            self.hold = Hold::Until(start + 2 * rto);
        }
        if let Hold::Until(end) = self.hold
            && now >= end
        {
            self.hold = Hold::Free;
        }
    }

    fn seals(&self) -> bool {
        self.keys.seals()
    }

    fn is_enforced(&self) -> bool {
        true
    }

    fn seal(&mut self, now: Time, packet: &mut Vec<u8>, at: usize) -> bool {
        self.rekey(now);
        let sealed = self.keys.seal(now, packet, at);
        if !sealed && self.keys.is_exhausted() {
            self.fail(ProtectionFailure::Exhausted);
        }
        sealed
    }

    fn open(
        &mut self,
        now: Time,
        path: Option<PathId>,
        chunk: &mut [u8],
    ) -> Result<Range<usize>, OpenError> {
        let arrival = Arrival { now, path };
        let result = Record::parse(chunk).and_then(|record| {
            if self.keys.has_epoch(&record) {
                self.keys.open_record(arrival, &record, chunk)
            } else {
                self.open_ahead(arrival, &record, chunk)
            }
        });
        self.keys.count(result.as_ref().err());
        if result.is_ok() && self.proof_until.take().is_some() {
            self.events.push_back(ProtectionEvent::Established);
        }
        if result.is_err() && self.keys.is_exhausted() {
            self.fail(ProtectionFailure::Exhausted);
        }
        result
    }

    fn open_own(&self, chunk: &[u8], out: &mut Vec<u8>) -> bool {
        self.keys.open_own(chunk, out)
    }

    fn forget_path(&mut self, path: PathId) {
        self.keys.forget_path(path);
    }

    fn peer(&self) -> Option<&[u8]> {
        None
    }

    fn stats(&self) -> ProtectionStats {
        self.keys.stats()
    }
}

#[cfg(test)]
mod tests;
