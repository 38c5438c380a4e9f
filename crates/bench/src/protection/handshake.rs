//! Handshakes by rustls alone, in memory: TLS 1.3 with raw public keys at both ends, with settings
//! that were made once. What no key exchange can do without.

use std::net::Ipv4Addr;
use std::sync::Arc;

use anyhow::{Result, ensure};
use polypath_secure::{Identity, RawKeyVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::ring::{default_provider, sign};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

/// Settings of both ends.
pub(crate) struct Handshakes {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl Handshakes {
    pub(crate) fn new(client: &Identity, server: &Identity) -> Result<Self> {
        Ok(Self { client: client_config(client)?, server: server_config(server)? })
    }

    /// One handshake, until both ends have finished it.
    pub(crate) fn handshake(&self) -> Result<()> {
        let name = ServerName::IpAddress(Ipv4Addr::UNSPECIFIED.into());
        let mut client: Connection = ClientConnection::new(Arc::clone(&self.client), name)?.into();
        let mut server: Connection = ServerConnection::new(Arc::clone(&self.server))?.into();
        let mut flight = Vec::new();
        while pass(&mut client, &mut server, &mut flight)?
            | pass(&mut server, &mut client, &mut flight)?
        {}
        ensure!(!client.is_handshaking() && !server.is_handshaking(), "it did not end");
        Ok(())
    }
}

/// Carries what one end has to say; false if that is nothing.
fn pass(from: &mut Connection, to: &mut Connection, flight: &mut Vec<u8>) -> Result<bool> {
    flight.clear();
    while from.wants_write() {
        from.write_tls(flight)?;
    }
    let mut rest = flight.as_slice();
    while !rest.is_empty() {
        to.read_tls(&mut rest)?;
        to.process_new_packets()?;
    }
    Ok(!flight.is_empty())
}

fn certified(identity: &Identity) -> Result<Arc<CertifiedKey>> {
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.pkcs8_der().to_vec()));
    let public = CertificateDer::from(identity.public().spki().to_vec());
    Ok(Arc::new(CertifiedKey::new(vec![public], sign::any_supported_type(&private)?)))
}

fn client_config(identity: &Identity) -> Result<Arc<ClientConfig>> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(RawKeyVerifier::of_anyone()))
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified(
            identity,
        )?)));
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(Arc::new(config))
}

fn server_config(identity: &Identity) -> Result<Arc<ServerConfig>> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(RawKeyVerifier::of_anyone()))
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified(identity)?)));
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
