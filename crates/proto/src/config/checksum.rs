//! Packets without a checksum (RFC 9653).

/// How errors are detected in place of SCTP's checksum (Error Detection Method Identifier).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edmid {
    /// SCTP runs over DTLS (RFC 8261), which lets no changed packet through.
    Dtls,
}

impl Edmid {
    /// The number in the Zero Checksum Acceptable parameter.
    pub const fn number(self) -> u32 {
        match self {
            Self::Dtls => 1,
        }
    }
}
