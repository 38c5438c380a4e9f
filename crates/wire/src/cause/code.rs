//! Error cause codes (RFC 9260 section 3.3.10 and the registry it founded).

/// Invalid Stream Identifier (RFC 9260).
pub const INVALID_STREAM: u16 = 1;
/// Missing Mandatory Parameter (RFC 9260).
pub const MISSING_MANDATORY: u16 = 2;
/// Stale Cookie (RFC 9260).
pub const STALE_COOKIE: u16 = 3;
/// Out of Resource (RFC 9260).
pub const OUT_OF_RESOURCE: u16 = 4;
/// Unresolvable Address (RFC 9260).
pub const UNRESOLVABLE_ADDRESS: u16 = 5;
/// Unrecognized Chunk Type (RFC 9260).
pub const UNRECOGNIZED_CHUNK: u16 = 6;
/// Invalid Mandatory Parameter (RFC 9260).
pub const INVALID_MANDATORY: u16 = 7;
/// Unrecognized Parameters (RFC 9260).
pub const UNRECOGNIZED_PARAMETERS: u16 = 8;
/// No User Data (RFC 9260).
pub const NO_USER_DATA: u16 = 9;
/// Cookie Received While Shutting Down (RFC 9260).
pub const COOKIE_WHILE_SHUTTING_DOWN: u16 = 10;
/// Restart of an Association with New Addresses (RFC 9260).
pub const RESTART_WITH_NEW_ADDRESSES: u16 = 11;
/// User-Initiated Abort (RFC 9260).
pub const USER_INITIATED_ABORT: u16 = 12;
/// Protocol Violation (RFC 9260).
pub const PROTOCOL_VIOLATION: u16 = 13;
/// Missing DTLS Chunk Support (draft-ietf-tsvwg-sctp-dtls-chunk, as are the next three; to be
/// confirmed by IANA).
pub const MISSING_DTLS_CHUNK: u16 = 100;
/// No Common DTLS Key Management Method.
pub const NO_COMMON_KEY_MANAGEMENT: u16 = 101;
/// DTLS Key Management Tie Breaker Collision.
pub const TIE_BREAKER_COLLISION: u16 = 102;
/// Incompatible DTLS Key Management Roles.
pub const INCOMPATIBLE_ROLES: u16 = 103;
/// Request to Delete Last Remaining IP Address (RFC 5061).
pub const DELETE_LAST_IP: u16 = 0x00a0;
/// Operation Refused Due to Resource Shortage (RFC 5061).
pub const RESOURCE_SHORTAGE: u16 = 0x00a1;
/// Request to Delete Source IP Address (RFC 5061).
pub const DELETE_SOURCE_IP: u16 = 0x00a2;
/// Association Aborted Due to Illegal ASCONF-ACK (RFC 5061).
pub const ILLEGAL_ASCONF_ACK: u16 = 0x00a3;
/// Request Refused, No Authorization (RFC 5061).
pub const NO_AUTHORIZATION: u16 = 0x00a4;
/// Unsupported HMAC Identifier (RFC 4895).
pub const UNSUPPORTED_HMAC: u16 = 0x0105;
