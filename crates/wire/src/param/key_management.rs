//! DTLS Key Management: what INIT and INIT ACK say of the DTLS chunk.

use crate::reader::Reader;
use crate::tlv::put_u32;
use crate::{WireError, WireErrorKind};

const CLIENT: u8 = 1;
const SERVER: u8 = 2;
const RESTART: u8 = 4;

/// DTLS Key Management (0x8006, draft-ietf-tsvwg-sctp-dtls-chunk section 4.1).
///
/// ```text
/// +-------------------------------+-------------------------------+
/// |         type = 0x8006         |        length = 9 + N         |
/// +-------------------------------+-------------------------------+
/// |                          tie breaker                          |
/// +---------+-+-+-+---------------+-------------------------------+
/// | reserved|R|S|C|   method 1    |   method 2 ...   method N     |
/// +---------+-+-+-+---------------+-------------------------------+
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyManagementOffer<'a> {
    /// Decides who is server where both could be either: who has the larger one.
    pub tie_breaker: u32,
    /// A protected restart is supported.
    pub restart: bool,
    /// The sender can be the server of a key exchange.
    pub server: bool,
    /// It can be the client.
    pub client: bool,
    /// Identifiers of key management methods, the preferred first; at least one.
    pub methods: &'a [u8],
}

impl<'a> KeyManagementOffer<'a> {
    pub(crate) fn read_value(mut reader: Reader<'a>) -> Result<Self, WireError> {
        let tie_breaker = reader.read_u32()?;
        let [flags] = reader.read_array()?;
        let (methods, offset) = reader.take_rest();
        if methods.is_empty() {
            let field = "key management methods";
            let kind = WireErrorKind::Count { field, needed: 1, left: 0 };
            return Err(WireError { offset, kind });
        }
        Ok(Self {
            tie_breaker,
            restart: flags & RESTART != 0,
            server: flags & SERVER != 0,
            client: flags & CLIENT != 0,
            methods,
        })
    }

    pub(crate) fn write_value(&self, out: &mut Vec<u8>) {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        put_u32(out, self.tie_breaker);
        out.push(bit(self.client, CLIENT) | bit(self.server, SERVER) | bit(self.restart, RESTART));
        out.extend_from_slice(self.methods);
    }
}
