//! Chunk types (RFC 9260 section 3.2 and the registry it founded).

/// DATA (RFC 9260).
pub const DATA: u8 = 0;
/// INIT (RFC 9260).
pub const INIT: u8 = 1;
/// INIT ACK (RFC 9260).
pub const INIT_ACK: u8 = 2;
/// SACK (RFC 9260).
pub const SACK: u8 = 3;
/// HEARTBEAT (RFC 9260).
pub const HEARTBEAT: u8 = 4;
/// HEARTBEAT ACK (RFC 9260).
pub const HEARTBEAT_ACK: u8 = 5;
/// ABORT (RFC 9260).
pub const ABORT: u8 = 6;
/// SHUTDOWN (RFC 9260).
pub const SHUTDOWN: u8 = 7;
/// SHUTDOWN ACK (RFC 9260).
pub const SHUTDOWN_ACK: u8 = 8;
/// ERROR (RFC 9260).
pub const ERROR: u8 = 9;
/// COOKIE ECHO (RFC 9260).
pub const COOKIE_ECHO: u8 = 10;
/// COOKIE ACK (RFC 9260).
pub const COOKIE_ACK: u8 = 11;
/// SHUTDOWN COMPLETE (RFC 9260).
pub const SHUTDOWN_COMPLETE: u8 = 14;
/// AUTH (RFC 4895).
pub const AUTH: u8 = 15;
/// NR-SACK (draft-natarajan-tsvwg-sctp-nrsack; used by the drafts, never assigned).
pub const NR_SACK: u8 = 16;
/// I-DATA (RFC 8260).
pub const I_DATA: u8 = 64;
/// DTLS (draft-ietf-tsvwg-sctp-dtls-chunk): a record with all other chunks of the packet inside.
pub const DTLS: u8 = 65;
/// ASCONF-ACK (RFC 5061).
pub const ASCONF_ACK: u8 = 128;
/// RE-CONFIG (RFC 6525).
pub const RECONFIG: u8 = 130;
/// PAD (RFC 4820).
pub const PAD: u8 = 132;
/// FORWARD-TSN (RFC 3758).
pub const FORWARD_TSN: u8 = 192;
/// ASCONF (RFC 5061).
pub const ASCONF: u8 = 193;
/// I-FORWARD-TSN (RFC 8260).
pub const I_FORWARD_TSN: u8 = 194;
