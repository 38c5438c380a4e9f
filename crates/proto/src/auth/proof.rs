//! What a received packet has proven so far (RFC 4895 section 6.3).

use polypath_wire::chunk::kind;

/// Chunks that are always authenticated where addresses may change, listed or not (RFC 5061 section
/// 4.1).
pub(crate) const ADDRESS_CHUNKS: [u8; 2] = [kind::ASCONF, kind::ASCONF_ACK];

/// How far authentication of a received packet has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Proof {
    /// No AUTH chunk yet.
    #[default]
    None,
    /// The endpoint has judged the AUTH chunk in front of a COOKIE ECHO.
    Before,
    /// All that follows is authentic.
    Given,
    /// It came in a DTLS chunk: all of it is authentic.
    Sealed,
}

/// What becomes of a received chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    Pass,
    /// This chunk is left out.
    Skip,
    /// It and all behind it are.
    Stop,
}
