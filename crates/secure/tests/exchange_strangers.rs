//! Who names a key that is not his, and who speaks up in plain when that counts no more.
#![cfg(all(feature = "ring", not(feature = "aws-lc-rs")))]

mod pipe;

use std::sync::Arc;

use pipe::{Ends, PARAMETERS, run};
use polypath_proto::protection::{Agreed, HEADROOM, KeyManagement, Protection, Role};
use polypath_proto::time::{Duration, Time};
use polypath_secure::{Enrolment, Identity, RawKeyVerifier, RekeyPolicy, StandIn, Tls, Trust};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::crypto::ring::{default_provider, sign::any_supported_type};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection};

/// A client that shows one identity's key and signs with that of another.
fn imposter(shown: &Identity, own: &Identity) -> ClientConnection {
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.pkcs8_der().to_vec()));
    let public = CertificateDer::from(shown.public().spki().to_vec());
    let key = CertifiedKey::new(vec![public], any_supported_type(&private).unwrap());
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(RawKeyVerifier::of_anyone()))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::new(key))));
    config.enable_sni = false;
    let name = ServerName::IpAddress(core::net::Ipv4Addr::UNSPECIFIED.into());
    ClientConnection::new(Arc::new(config), name).unwrap()
}

fn flight(client: &mut ClientConnection) -> Vec<u8> {
    let mut records = Vec::new();
    while client.wants_write() {
        client.write_tls(&mut records).unwrap();
    }
    records
}

/// What a server says to a client that proves nothing of the key that it shows.
fn refusal(server: &Tls, shown: &Identity, own: &Identity) -> Option<String> {
    let mut client = imposter(shown, own);
    let mut server = server.bare_exchange(Role::Server, PARAMETERS, None);
    server.handle(&flight(&mut client)).unwrap();
    let answer = server.poll().unwrap();
    client.read_tls(&mut answer.as_slice()).unwrap();
    client.process_new_packets().unwrap();
    let refused = server.handle(&flight(&mut client)).err();
    assert!(server.keys().is_none() || refused.is_none());
    refused.map(|failure| failure.to_string())
}

#[test]
fn a_key_is_not_enough_to_be_its_owner() {
    let [server, known, stranger] = [(); 3].map(|()| Identity::generate().unwrap());
    let tls = Tls::new(&server, Trust::pinned([known.public().fingerprint()]));
    assert_eq!(refusal(&tls, &known, &known), None, "the imposter is good where it is none");
    assert!(refusal(&tls, &known, &stranger).is_some());
    let anyone = Tls::new(&server, Trust::anyone());
    assert!(refusal(&anyone, &known, &stranger).is_some());
}

#[test]
fn a_code_is_not_used_up_by_who_only_names_its_key() {
    let code = Enrolment::generate().unwrap();
    let [key, stranger] = [code.identity().unwrap(), Identity::generate().unwrap()];
    let server = Tls::new(&key, Trust::pinned([]).or_first_with(&code).unwrap());
    assert!(refusal(&server, &key, &stranger).is_some());
    let client = Tls::new(&key, Trust::pinned([key.public().fingerprint()]));
    assert_eq!(run(&mut Ends::new(&client, &server)), [None, None]);
}

const RTO: Duration = Duration::from_secs(1);

fn protect(role: Role) -> Box<dyn Protection> {
    let policy = RekeyPolicy { packets: 1, ..RekeyPolicy::default() };
    let parameters = PARAMETERS.split_at(10);
    let agreed = Agreed {
        method: 254,
        role,
        parameters: [parameters.0.to_vec(), parameters.1.to_vec()],
        session: [7; 16],
        seed: [7; 32],
    };
    StandIn::new(policy).protect(Time::ZERO, &agreed)
}

#[test]
fn nothing_in_plain_is_heard_once_there_are_keys() {
    let now = Time::ZERO;
    let mut ends = [Role::Client, Role::Server].map(protect);
    for _ in 0..4 {
        for from in [0, 1] {
            while let Some(message) = ends[from].poll_message() {
                let protected = ends[from].seals();
                ends[1 - from].handle_message(now, RTO, &message, protected);
            }
        }
    }
    let [client, server] = &mut ends;
    assert!(client.is_enforced() && server.is_enforced());
    // The client wants other keys, and says so.
    assert!(client.seal(now, &mut vec![0; HEADROOM + 4], 0));
    client.handle_timeout(now, RTO);
    let hello = client.poll_message().unwrap();
    server.handle_message(now, RTO, &hello, false);
    assert_eq!(server.poll_message(), None);
    server.handle_message(now, RTO, &hello, true);
    assert!(server.poll_message().is_some());
}
