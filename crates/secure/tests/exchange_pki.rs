//! Certificates in place of raw keys. Those of `pki/` were made with openssl: a root, a server and
//! a client of it, and a server that signed itself.

mod pipe;

use std::sync::Arc;

use pipe::{Ends, PARAMETERS, finish, run};
use polypath_proto::protection::{
    Agreed, KeyManagement, Protection, ProtectionEvent, ProtectionFailure, Role,
};
use polypath_proto::time::{Duration, Time};
use polypath_secure::{Certificates, Fingerprint, RekeyPolicy, Tls, Trust, WallClock};

const ROOT: &str = include_str!("pki/root.pem");
const SERVER: [&str; 2] = [include_str!("pki/server.pem"), include_str!("pki/server.key")];
const CLIENT: [&str; 2] = [include_str!("pki/client.pem"), include_str!("pki/client.key")];
const SELF_SIGNED: [&str; 2] = [include_str!("pki/self.pem"), include_str!("pki/self.key")];
/// Within their dates, and after them.
const IN_TIME: u64 = 1_830_000_000;
const LATE: u64 = 3_000_000_000;

#[derive(Debug)]
struct At(u64);

impl WallClock for At {
    fn unix_seconds(&self) -> u64 {
        self.0
    }
}

fn own([chain, key]: [&str; 2]) -> Certificates {
    Certificates::from_pem(chain, key).unwrap()
}

fn rooted(pem: [&str; 2], name: &str, at: u64) -> Tls {
    let certificates = own(pem).verified_by(ROOT, name, Arc::new(At(at))).unwrap();
    Tls::with_certificates(certificates, Trust::anyone())
}

/// What each failed with.
fn outcome(client: &Tls, server: &Tls) -> [Option<ProtectionFailure>; 2] {
    run(&mut Ends::new(client, server))
}

#[test]
fn a_chain_to_the_root_is_taken() {
    let client = rooted(CLIENT, "server.example", IN_TIME);
    let server = rooted(SERVER, "server.example", IN_TIME);
    let mut ends = Ends::new(&client, &server);
    assert_eq!(run(&mut ends), [None, None]);
    let [ours, theirs] = finish(&mut ends);
    assert_eq!(ours, theirs);
}

/// All messages arrive.
fn talk(now: Time, ends: &mut [Box<dyn Protection>; 2]) {
    for _ in 0..20 {
        for from in [0, 1] {
            while let Some(message) = ends[from].poll_message() {
                let protected = ends[from].seals();
                ends[1 - from].handle_message(now, Duration::from_secs(1), &message, protected);
            }
        }
    }
}

#[test]
fn either_end_replaces_keys() {
    for who in [0, 1] {
        let hourly = RekeyPolicy { age: Duration::from_secs(3600), ..RekeyPolicy::default() };
        let yearly = RekeyPolicy { age: Duration::from_secs(1 << 25), ..hourly };
        let policy = |end| if end == who { hourly } else { yearly };
        let all = [(CLIENT, Role::Client), (SERVER, Role::Server)];
        let mut number = 0;
        let mut ends = all.map(|(pem, role)| {
            let tls = rooted(pem, "server.example", IN_TIME).rekey(policy(number));
            number += 1;
            let parameters = [PARAMETERS.to_vec(), PARAMETERS.to_vec()];
            let agreed = Agreed { method: 192, role, parameters, session: [0; 16], seed: [0; 32] };
            tls.protect(Time::ZERO, &agreed)
        });
        talk(Time::ZERO, &mut ends);
        let established =
            |end: &mut Box<dyn Protection>| end.poll_event() == Some(ProtectionEvent::Established);
        assert!(ends.iter_mut().all(established));
        let now = Time::from_secs(3600);
        ends.iter_mut().for_each(|end| end.handle_timeout(now, Duration::from_secs(1)));
        talk(now, &mut ends);
        assert_eq!(ends.map(|end| end.stats().rekeys), [1, 1], "{who}");
    }
}

#[test]
fn other_names_dates_uses_and_roots_are_not() {
    let client = rooted(CLIENT, "server.example", IN_TIME);
    let server = rooted(SERVER, "server.example", IN_TIME);
    for (client, server, who) in [
        (&rooted(CLIENT, "other.example", IN_TIME), &server, 0),
        (&rooted(CLIENT, "server.example", LATE), &server, 0),
        (&client, &rooted(SELF_SIGNED, "server.example", IN_TIME), 0),
        (&client, &rooted(CLIENT, "server.example", IN_TIME), 0),
        (&client, &rooted(SERVER, "server.example", LATE), 1),
        (&rooted(SELF_SIGNED, "server.example", IN_TIME), &server, 1),
        (&rooted(SERVER, "server.example", IN_TIME), &server, 1),
    ] {
        let failures = outcome(client, server);
        assert!(matches!(failures[who], Some(ProtectionFailure::Exchange(_))), "{failures:?}");
        assert!(matches!(failures[1 - who], Some(ProtectionFailure::Refused(_))), "{failures:?}");
    }
}

#[test]
fn without_roots_the_key_counts() {
    let server = Tls::with_certificates(own(SELF_SIGNED), Trust::anyone());
    let client = |trust| Tls::with_certificates(own(CLIENT), trust);
    let mut ends = Ends::new(&client(Trust::anyone()), &server);
    assert_eq!(run(&mut ends), [None, None]);
    let fingerprint = Fingerprint::of(ends.client.peer().unwrap());

    assert_eq!(outcome(&client(Trust::pinned([fingerprint])), &server), [None, None]);
    let failures = outcome(&client(Trust::pinned([Fingerprint::of(b"other")])), &server);
    assert!(matches!(failures[0], Some(ProtectionFailure::UnknownPeer { .. })), "{failures:?}");
}

#[test]
fn what_is_no_certificate_is_an_error() {
    for [chain, key] in
        [["", SERVER[1]], [SERVER[0], ""], [SERVER[0], CLIENT[1]], [SERVER[1], SERVER[1]]]
    {
        assert!(Certificates::from_pem(chain, key).is_err());
    }
    let clock = || Arc::new(At(IN_TIME));
    assert!(own(SERVER).verified_by("", "server.example", clock()).is_err());
    assert!(own(SERVER).verified_by(ROOT, "no name", clock()).is_err());
}
