//! What the handshake says (RFC 9260 section 5): the parameters of INIT and INIT ACK, the state
//! cookie, and what follows from them for both ends. Nothing here knows an endpoint or an
//! association.

mod addresses;
mod capabilities;
mod cookie;
mod cookie_keys;
mod cookie_replay;
mod extensions;
mod key_offer;
mod local_parameters;
mod peer_parameters;
mod zero_checksum;

pub(crate) use addresses::{MAX_PEER_ADDRESSES, is_peer_address, is_unicast};
pub(crate) use capabilities::Capabilities;
pub(crate) use cookie::{Cookie, Session, TieTags, longest_cookie_life};
pub(crate) use cookie_keys::CookieKeys;
pub(crate) use cookie_replay::{CAPACITY as USED_COOKIES, CookieStanding, UsedCookies};
pub(crate) use extensions::Extensions;
pub(crate) use key_offer::{KeyFault, KeyOffer, Roles, agree_on_keys};
pub(crate) use local_parameters::{Offer, address_parameter, fixed_part};
pub(crate) use peer_parameters::{
    InitFault, PeerAuth, PeerInit, listed_addresses, state_cookie, unrecognized,
};
pub(crate) use zero_checksum::{init_ack_checksum, needs_checksum, permitted_config};
