//! One end of a key exchange, with messages on standard input and output, each behind its length
//! (four bytes, the highest first), and the keys on standard error: what
//! `tools/foreign-tls.sh` lets other TLS libraries talk to.
//!
//! `exchange_pipe client|server KEY.pem PEER-FINGERPRINT PARAMETERS-HEX [CERTIFICATE.pem]`

use std::error::Error;
use std::io::{Read, Write};
use std::process::ExitCode;

use data_encoding::HEXLOWER;
use polypath_proto::protection::Role;
use polypath_secure::{BareExchange, Identity, PublicKey, Tls, Trust};

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("failed: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, key, peer, parameters, certificate @ ..] = arguments.as_slice() else {
        return Err("wanted: client|server KEY PEER PARAMETERS [CERTIFICATE]".into());
    };
    let role = match role.as_str() {
        "client" => Role::Client,
        "server" => Role::Server,
        other => return Err(format!("role `{other}`: allowed: client, server").into()),
    };
    let key = std::fs::read_to_string(key)?;
    let trust = Trust::pinned([peer.parse()?]);
    let tls = match certificate.first() {
        Some(file) => with_certificate(&std::fs::read_to_string(file)?, &key, trust)?,
        None => Tls::new(&Identity::from_pkcs8_pem(&key)?, trust),
    };
    let parameters = HEXLOWER.decode(parameters.as_bytes()).map_err(|error| error.to_string())?;
    converse(tls.bare_exchange(role, &parameters, None), role)
}

#[cfg(feature = "pki")]
fn with_certificate(certificate: &str, key: &str, trust: Trust) -> Result<Tls, Failure> {
    let certificates = polypath_secure::Certificates::from_pem(certificate, key)?;
    Ok(Tls::with_certificates(certificates, trust))
}

#[cfg(not(feature = "pki"))]
fn with_certificate(_: &str, _: &str, _: Trust) -> Result<Tls, Failure> {
    Err("certificates: wanted: --features pki".into())
}

fn converse(mut exchange: BareExchange, role: Role) -> Result<(), Failure> {
    let mut keys = None;
    loop {
        while let Some(message) = exchange.poll() {
            send(&message)?;
        }
        if keys.is_some() && role == Role::Server {
            break;
        }
        // A client hears of it when the server refuses what it said last.
        let Some(message) = receive()? else { break };
        let result = exchange.handle(&message);
        keys = keys.or_else(|| exchange.keys());
        if let Err(failure) = result {
            while let Some(alert) = exchange.poll() {
                send(&alert)?;
            }
            return Err(failure.into());
        }
    }
    let keys = keys.ok_or("the peer ended it")?;
    let peer = exchange.peer().map(PublicKey::from_spki);
    eprintln!("peer {}", peer.ok_or("nobody proved anything")?.fingerprint());
    for (direction, parts) in [("client", keys.client), ("server", keys.server)] {
        for (name, part) in ["key", "number", "iv"].into_iter().zip(parts) {
            eprintln!("{direction} {name} {}", HEXLOWER.encode(&part));
        }
    }
    Ok(())
}

fn send(message: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(&u32::try_from(message.len())?.to_be_bytes())?;
    out.write_all(message)?;
    Ok(out.flush()?)
}

fn receive() -> Result<Option<Vec<u8>>, Failure> {
    let mut input = std::io::stdin().lock();
    let mut len = [0; 4];
    if input.read_exact(&mut len).is_err() {
        return Ok(None);
    }
    let mut message = vec![0; u32::from_be_bytes(len) as usize];
    input.read_exact(&mut message)?;
    Ok(Some(message))
}
