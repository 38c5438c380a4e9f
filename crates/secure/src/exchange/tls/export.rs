//! The keys that TLS exports (draft-porfiri-tsvwg-sctp-dtls-handshake section 6).

use rustls::{Connection, Error};

use super::super::ExchangedKeys;
use crate::aead::{KeyMaterial, Suite};

const LABEL: &[u8] = b"EXPORTER_TLS_FOR_DTLS_IN_SCTP";

/// The key role of what protects packets; restart keys are not used.
const PRIMARY: u8 = 0;

/// Of a finished handshake. `parameters` are those of both ends, the client's first: who changed
/// one of them on its way gets ends with unlike keys.
pub(super) fn keys(
    connection: &Connection,
    suite: Suite,
    parameters: &[u8],
) -> Result<ExchangedKeys, Error> {
    Ok(ExchangedKeys {
        suite,
        client: direction(connection, suite, 0, parameters)?,
        server: direction(connection, suite, 1, parameters)?,
    })
}

fn direction(
    connection: &Connection,
    suite: Suite,
    direction: u8,
    parameters: &[u8],
) -> Result<KeyMaterial, Error> {
    Ok(KeyMaterial {
        key: export(connection, vec![0; suite.key_len()], direction, 0, parameters)?,
        number_key: export(connection, vec![0; suite.key_len()], direction, 1, parameters)?,
        iv: export(connection, [0; _], direction, 2, parameters)?,
    })
}

fn export<T: AsMut<[u8]>>(
    connection: &Connection,
    output: T,
    direction: u8,
    key_type: u8,
    parameters: &[u8],
) -> Result<T, Error> {
    let mut context = vec![direction, PRIMARY, key_type];
    context.extend_from_slice(parameters);
    connection.export_keying_material(output, LABEL, Some(&context))
}
