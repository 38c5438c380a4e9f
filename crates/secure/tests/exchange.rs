//! Key exchanges between two of our ends, over a pipe of messages.

mod pipe;

use std::sync::{Arc, Mutex};

use pipe::{Ends, PARAMETERS, finish, pass, run};
use polypath_proto::protection::{ProtectionFailure, Role};
use polypath_secure::{Enrolment, Identity, KeyLog, Suite, Tls, Trust};

fn refused(failure: Option<&ProtectionFailure>) -> bool {
    matches!(failure, Some(ProtectionFailure::Refused(why)) if why == "access denied")
}

#[test]
fn both_ends_have_the_same_keys_and_know_each_other() {
    let [a, b] = [(); 2].map(|()| Identity::generate().unwrap());
    let (client, server) = (Tls::new(&a, Trust::anyone()), Tls::new(&b, Trust::anyone()));
    let mut ends = Ends::new(&client, &server);
    assert_eq!(run(&mut ends), [None, None]);
    let keys = finish(&mut ends);
    assert_eq!(keys[0], keys[1]);
    assert_eq!(ends.client.peer(), Some(b.public().spki()));
    assert_eq!(ends.server.peer(), Some(a.public().spki()));

    let keys = &keys[0];
    let len = if keys.suite == Suite::Aes128Gcm { 16 } else { 32 };
    let parts = [&keys.client, &keys.server];
    for part in parts {
        assert_eq!(part.each_ref().map(Vec::len), [len, len, 12]);
    }
    let mut all: Vec<_> = parts.into_iter().flatten().collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 6, "each part of each direction is another one");
}

#[test]
fn keys_are_new_in_each_exchange() {
    let [a, b] = [(); 2].map(|()| Identity::generate().unwrap());
    let (client, server) = (Tls::new(&a, Trust::anyone()), Tls::new(&b, Trust::anyone()));
    let keys = [(); 2].map(|()| {
        let mut ends = Ends::new(&client, &server);
        run(&mut ends);
        finish(&mut ends)[0].clone()
    });
    assert_ne!(keys[0].client, keys[1].client);
    assert_ne!(keys[0].server, keys[1].server);
}

/// What somebody changed on its way in INIT or INIT ACK: the handshake does not see it, the keys
/// do.
#[test]
fn a_changed_byte_of_the_parameters_gives_unlike_keys() {
    let identity = Identity::generate().unwrap();
    let tls = Tls::new(&identity, Trust::anyone());
    for at in 0..PARAMETERS.len() {
        let mut changed = PARAMETERS.to_vec();
        changed[at] ^= 1;
        let mut ends = Ends {
            client: tls.bare_exchange(Role::Client, PARAMETERS, None),
            server: tls.bare_exchange(Role::Server, &changed, None),
        };
        assert_eq!(run(&mut ends), [None, None]);
        let [client, server] = finish(&mut ends);
        for (ours, theirs) in [(client.client, server.client), (client.server, server.server)] {
            for (our, their) in ours.iter().zip(&theirs) {
                assert_ne!(our, their, "byte {at}");
            }
        }
    }
}

#[test]
fn pins_let_in_whom_they_name_and_nobody_else() {
    let [a, b, c] = [(); 3].map(|()| Identity::generate().unwrap());
    let only = |who: &Identity| Trust::pinned([who.public().fingerprint()]);
    for (client_trust, server_trust, outcome) in [
        (only(&b), only(&a), [true, true]),
        (only(&c), only(&a), [false, true]),
        (only(&b), only(&c), [true, false]),
        (only(&b), Trust::pinned([]), [true, false]),
    ] {
        let (client, server) = (Tls::new(&a, client_trust), Tls::new(&b, server_trust));
        let mut ends = Ends::new(&client, &server);
        let failures = run(&mut ends);
        let keys = [ends.client.keys(), ends.server.keys()];
        match outcome {
            [true, true] => {
                assert_eq!(failures, [None, None]);
                assert!(keys.iter().all(Option::is_some));
            }
            [false, _] => {
                let key = b.public().spki().to_vec();
                assert_eq!(failures[0], Some(ProtectionFailure::UnknownPeer { key }));
                assert!(refused(failures[1].as_ref()), "{failures:?}");
                assert_eq!(keys, [None, None]);
                assert_eq!((ends.client.peer(), ends.server.peer()), (None, None));
            }
            [_, false] => {
                let key = a.public().spki().to_vec();
                assert_eq!(failures[1], Some(ProtectionFailure::UnknownPeer { key }));
                assert!(refused(failures[0].as_ref()), "{failures:?}");
                assert_eq!((&keys[1], ends.server.peer()), (&None, None));
            }
        }
    }
}

#[test]
fn who_was_let_in_must_be_the_same_when_keys_are_replaced() {
    let [a, b, c] = [(); 3].map(|()| Identity::generate().unwrap());
    let anyone = |who| Tls::new(who, Trust::anyone());
    let exchange = |client: &Tls, server: &Tls, known: [Option<&[u8]>; 2]| {
        let mut ends = Ends {
            client: client.bare_exchange(Role::Client, PARAMETERS, known[0]),
            server: server.bare_exchange(Role::Server, PARAMETERS, known[1]),
        };
        run(&mut ends)
    };
    let (a_key, b_key) = (a.public().spki(), b.public().spki());
    let same = exchange(&anyone(&a), &anyone(&b), [Some(b_key), Some(a_key)]);
    assert_eq!(same, [None, None]);

    let other_server = exchange(&anyone(&a), &anyone(&c), [Some(b_key), Some(a_key)]);
    assert_eq!(other_server[0], Some(ProtectionFailure::PeerChanged));
    assert!(refused(other_server[1].as_ref()));

    let other_client = exchange(&anyone(&c), &anyone(&b), [Some(b_key), Some(a_key)]);
    assert_eq!(other_client[1], Some(ProtectionFailure::PeerChanged));
    assert!(refused(other_client[0].as_ref()));
}

#[test]
fn a_code_makes_two_ends_known_to_each_other_once() {
    let code = Enrolment::generate().unwrap();
    let typed: Enrolment = code.to_string().parse().unwrap();
    let end = |code: &Enrolment, trust: Trust| {
        let identity = code.identity().unwrap();
        Tls::new(&identity, trust.or_first_with(code).unwrap())
    };
    let server = end(&code, Trust::pinned([]));
    let client = end(&typed, Trust::pinned([]));
    let mut ends = Ends::new(&client, &server);
    assert_eq!(run(&mut ends), [None, None]);
    finish(&mut ends);

    // Replacing the keys of that association does not ask for the code again.
    let key = code.identity().unwrap().public().spki().to_vec();
    let mut again = Ends {
        client: client.bare_exchange(Role::Client, PARAMETERS, Some(&key)),
        server: server.bare_exchange(Role::Server, PARAMETERS, Some(&key)),
    };
    assert_eq!(run(&mut again), [None, None]);

    // A second association with it is one too many.
    let second = end(&typed, Trust::pinned([]));
    let failures = run(&mut Ends::new(&second, &server));
    assert_eq!(failures[1], Some(ProtectionFailure::UnknownPeer { key }));
    assert!(refused(failures[0].as_ref()));

    // And another code none at all.
    let fresh = end(&code, Trust::pinned([]));
    let stranger = end(&Enrolment::generate().unwrap(), Trust::pinned([]));
    let failures = run(&mut Ends::new(&stranger, &fresh));
    assert!(matches!(failures[0], Some(ProtectionFailure::UnknownPeer { .. })));
}

/// Who only names the key of a code, without the private half, does not use it up.
#[test]
fn a_code_is_not_taken_by_who_cannot_prove_it() {
    let code = Enrolment::generate().unwrap();
    let key = code.identity().unwrap();
    let trust = Trust::pinned([]).or_first_with(&code).unwrap();
    let server = Tls::new(&key, trust);
    let client = Tls::new(&key, Trust::pinned([key.public().fingerprint()]));
    let mut ends = Ends::new(&client, &server);
    let hello = pass(&mut ends.client, &mut ends.server).unwrap();
    assert_eq!(hello, Ok(()));
    let flight = pass(&mut ends.server, &mut ends.client).unwrap();
    assert_eq!(flight, Ok(()));
    let mut last = ends.client.poll().unwrap();
    // The end of what it says is its Finished; before it stands its signature.
    let at = last.len() - 100;
    last[at] ^= 1;
    assert!(ends.server.handle(&last).is_err());
    assert_eq!(run(&mut Ends::new(&client, &server)), [None, None]);
}

#[test]
fn of_two_that_come_at_once_with_a_code_one_is_let_in() {
    let code = Enrolment::generate().unwrap();
    let key = code.identity().unwrap();
    let server = Tls::new(&key, Trust::pinned([]).or_first_with(&code).unwrap());
    let client = Tls::new(&key, Trust::pinned([key.public().fingerprint()]));
    let mut both = [(); 2].map(|()| Ends::new(&client, &server));
    for ends in &mut both {
        pass(&mut ends.client, &mut ends.server).unwrap().unwrap();
        pass(&mut ends.server, &mut ends.client).unwrap().unwrap();
    }
    let outcome = both.map(|mut ends| pass(&mut ends.client, &mut ends.server).unwrap().is_ok());
    assert_eq!(outcome, [true, false]);
}

/// Who has the lines can read all: nobody gets them who did not ask.
#[test]
fn secrets_are_told_to_who_asked_for_them_in_nss_lines() {
    #[derive(Debug, Default)]
    struct Lines(Mutex<Vec<String>>);
    impl KeyLog for Lines {
        fn log(&self, line: &str) {
            self.0.lock().unwrap().push(line.to_owned());
        }
    }
    let lines = Arc::new(Lines::default());
    let identity = Identity::generate().unwrap();
    let silent = Tls::new(&identity, Trust::anyone());
    let loud = silent.clone().log_keys(Arc::clone(&lines) as Arc<_>);
    assert_eq!(run(&mut Ends::new(&silent, &silent)), [None, None]);
    assert!(lines.0.lock().unwrap().is_empty());
    assert_eq!(run(&mut Ends::new(&loud, &silent)), [None, None]);
    let lines = lines.0.lock().unwrap();
    for label in
        ["CLIENT_HANDSHAKE_TRAFFIC_SECRET", "SERVER_HANDSHAKE_TRAFFIC_SECRET", "EXPORTER_SECRET"]
    {
        let line = lines.iter().find(|line| line.starts_with(label)).unwrap();
        let words: Vec<_> = line.split(' ').collect();
        assert_eq!(words.len(), 3, "{line}");
        assert_eq!(words[1].len(), 64, "{line}");
        assert!(words[2].len() >= 64 && words[2].bytes().all(|b| b.is_ascii_hexdigit()));
    }
}
