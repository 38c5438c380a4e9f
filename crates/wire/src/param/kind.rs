//! Parameter types (RFC 9260 section 3.2.1 and the registries it founded).

/// Heartbeat Info (RFC 9260).
pub const HEARTBEAT_INFO: u16 = 1;
/// IPv4 Address (RFC 9260).
pub const IPV4: u16 = 5;
/// IPv6 Address (RFC 9260).
pub const IPV6: u16 = 6;
/// State Cookie (RFC 9260).
pub const STATE_COOKIE: u16 = 7;
/// Unrecognized Parameter (RFC 9260).
pub const UNRECOGNIZED: u16 = 8;
/// Cookie Preservative (RFC 9260).
pub const COOKIE_PRESERVATIVE: u16 = 9;
/// Host Name Address, deprecated (RFC 9260).
pub const HOST_NAME: u16 = 11;
/// Supported Address Types (RFC 9260).
pub const SUPPORTED_ADDRESS_TYPES: u16 = 12;
/// Outgoing SSN Reset Request (RFC 6525).
pub const OUTGOING_SSN_RESET: u16 = 13;
/// Incoming SSN Reset Request (RFC 6525).
pub const INCOMING_SSN_RESET: u16 = 14;
/// SSN/TSN Reset Request (RFC 6525).
pub const SSN_TSN_RESET: u16 = 15;
/// Re-configuration Response (RFC 6525).
pub const RECONFIG_RESPONSE: u16 = 16;
/// Add Outgoing Streams Request (RFC 6525).
pub const ADD_OUTGOING_STREAMS: u16 = 17;
/// Add Incoming Streams Request (RFC 6525).
pub const ADD_INCOMING_STREAMS: u16 = 18;
/// ECN Capable, reserved (RFC 9260).
pub const ECN_CAPABLE: u16 = 0x8000;
/// Zero Checksum Acceptable (RFC 9653).
pub const ZERO_CHECKSUM: u16 = 0x8001;
/// Random (RFC 4895).
pub const RANDOM: u16 = 0x8002;
/// Chunk List (RFC 4895).
pub const CHUNK_LIST: u16 = 0x8003;
/// Requested HMAC Algorithm (RFC 4895).
pub const HMAC_ALGORITHMS: u16 = 0x8004;
/// Padding (RFC 4820).
pub const PADDING: u16 = 0x8005;
/// DTLS Key Management (draft-ietf-tsvwg-sctp-dtls-chunk).
pub const DTLS_KEY_MANAGEMENT: u16 = 0x8006;
/// Supported Extensions (RFC 5061).
pub const SUPPORTED_EXTENSIONS: u16 = 0x8008;
/// Forward-TSN-Supported (RFC 3758).
pub const FORWARD_TSN_SUPPORTED: u16 = 0xc000;
/// Add IP Address (RFC 5061).
pub const ADD_IP: u16 = 0xc001;
/// Delete IP Address (RFC 5061).
pub const DELETE_IP: u16 = 0xc002;
/// Error Cause Indication (RFC 5061).
pub const ERROR_CAUSE_INDICATION: u16 = 0xc003;
/// Set Primary Address (RFC 5061).
pub const SET_PRIMARY: u16 = 0xc004;
/// Success Indication (RFC 5061).
pub const SUCCESS_INDICATION: u16 = 0xc005;
/// Adaptation Layer Indication (RFC 5061).
pub const ADAPTATION_LAYER: u16 = 0xc006;
/// "My SACK flags count packets" (delayed acknowledgements for CMT, Iyengar et al. 2006): a
/// parameter of this project without a value. No number was ever assigned for it. The top bits 10
/// make other receivers skip it silently (RFC 9260 section 3.2.1).
pub const DELAYED_ACK_CMT: u16 = 0x8dac;
/// "Fewer and shorter SACKs will do for me" (as ack frequency of QUIC,
/// draft-ietf-quic-ack-frequency): another parameter of this project without a value.
pub const SACK_THINNING: u16 = 0x8d7a;
/// "Your HEARTBEAT came at this time": 32 bits, microseconds of the receiver's clock. A parameter
/// of this project for HEARTBEAT ACKs to a peer that agreed to [`SACK_THINNING`].
pub const HEARTBEAT_RECEIVED: u16 = 0x8d7b;
