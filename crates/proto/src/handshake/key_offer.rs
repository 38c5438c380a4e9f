//! What INIT and INIT ACK say of the DTLS chunk, and what both ends agree on
//! (draft-ietf-tsvwg-sctp-dtls-chunk section 5.1).

use polypath_wire::{ErrorCause, KeyManagementOffer, Parameter, ParamsBuf, RawParam};

use crate::protection::{KeyManagement, MAX_METHODS, Role};

/// A DTLS Key Management parameter as it was sent: the keys depend on each bit of it, reserved ones
/// included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyOffer(ParamsBuf);

/// Which roles an end can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Roles {
    /// Either: who opens, for the peer may open, too.
    Both,
    /// That of the server: who answers. So who opens is client, and may speak first.
    Server,
}

/// Why two ends cannot agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyFault {
    /// One of them demands protection, and the other does not offer it.
    Missing,
    /// No method that both know.
    Methods,
    /// Both have the same tie breaker.
    TieBreaker,
    /// Neither can be what the other is not.
    Roles,
}

impl KeyFault {
    /// What the ABORT says.
    pub(crate) const fn cause(self) -> ErrorCause<'static> {
        match self {
            Self::Missing => ErrorCause::MissingDtlsChunk,
            Self::Methods => ErrorCause::NoCommonKeyManagement,
            Self::TieBreaker => ErrorCause::TieBreakerCollision,
            Self::Roles => ErrorCause::IncompatibleRoles,
        }
    }
}

impl KeyOffer {
    /// What we say. No restart: it would need keys that outlive the process.
    pub(crate) fn ours(keys: &dyn KeyManagement, tie_breaker: u32, roles: Roles) -> Self {
        let offered = keys.methods();
        let mut params = ParamsBuf::new();
        params.push(&Parameter::KeyManagement(KeyManagementOffer {
            tie_breaker,
            restart: false,
            server: true,
            client: roles == Roles::Both,
            methods: offered.get(..MAX_METHODS).unwrap_or(offered),
        }));
        Self(params)
    }

    /// What a peer says. `None` if it lists more methods than anybody needs: the cookie has to hold
    /// them.
    pub(crate) fn of(raw: &RawParam<'_>) -> Option<Self> {
        let Ok(Parameter::KeyManagement(offer)) = raw.decode() else { return None };
        if offer.methods.len() > MAX_METHODS {
            return None;
        }
        let mut params = ParamsBuf::new();
        params.push(&Parameter::Unknown(*raw));
        Some(Self(params))
    }

    /// The parameter that [`bytes`](Self::bytes) gave, out of a cookie.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let params = ParamsBuf::from_wire(bytes);
        let raw = params.as_params().iter().next()?.ok()?;
        Self::of(&raw)
    }

    /// The parameter with its header, without padding.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_params().as_bytes()
    }

    /// Appends the parameter.
    pub(crate) fn push_to(&self, params: &mut ParamsBuf) {
        for raw in self.0.as_params().iter().map_while(Result::ok) {
            params.push(&Parameter::Unknown(raw));
        }
    }

    fn read(&self) -> Option<KeyManagementOffer<'_>> {
        let raw = self.0.as_params().iter().next()?.ok()?;
        match raw.decode() {
            Ok(Parameter::KeyManagement(offer)) => Some(offer),
            _ => None,
        }
    }
}

/// Our role, and the method: the first of the server's list that the client has, too.
pub(crate) fn agree_on_keys(ours: &KeyOffer, peer: &KeyOffer) -> Result<(Role, u8), KeyFault> {
    let (Some(own), Some(other)) = (ours.read(), peer.read()) else {
        return Err(KeyFault::Missing);
    };
    let role = agree_on_roles(&own, &other)?;
    let (server, client) = match role {
        Role::Server => (own, other),
        Role::Client => (other, own),
    };
    let method = server.methods.iter().find(|method| client.methods.contains(method));
    method.map(|method| (role, *method)).ok_or(KeyFault::Methods)
}

fn agree_on_roles(
    own: &KeyManagementOffer<'_>,
    other: &KeyManagementOffer<'_>,
) -> Result<Role, KeyFault> {
    let may_be_client = own.client && other.server;
    let may_be_server = own.server && other.client;
    match (may_be_client, may_be_server) {
        (true, true) if own.tie_breaker == other.tie_breaker => Err(KeyFault::TieBreaker),
        (true, true) if own.tie_breaker > other.tie_breaker => Ok(Role::Server),
        (true, _) => Ok(Role::Client),
        (false, true) => Ok(Role::Server),
        (false, false) => Err(KeyFault::Roles),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(tie_breaker: u32, client: bool, server: bool, methods: &[u8]) -> KeyOffer {
        let mut params = ParamsBuf::new();
        let restart = false;
        let offer = KeyManagementOffer { tie_breaker, restart, server, client, methods };
        params.push(&Parameter::KeyManagement(offer));
        KeyOffer(params)
    }

    #[test]
    fn both_ends_come_to_the_same_end() {
        let flags = [(false, false), (false, true), (true, false), (true, true)];
        for (a, b) in flags.into_iter().flat_map(|a| flags.map(|b| (a, b))) {
            for (first, second) in [(1, 2), (2, 1), (3, 3)] {
                let one = offer(first, a.0, a.1, &[192, 0]);
                let two = offer(second, b.0, b.1, &[0, 192]);
                match (agree_on_keys(&one, &two), agree_on_keys(&two, &one)) {
                    (Ok((role, method)), Ok((other, its_method))) => {
                        assert_eq!((role.other(), method), (other, its_method));
                        assert_eq!(method, if role == Role::Server { 192 } else { 0 });
                    }
                    (one, two) => assert_eq!(one, two),
                }
            }
        }
    }

    #[test]
    fn the_larger_tie_breaker_is_server_and_a_single_role_is_kept() {
        let both = |tie| offer(tie, true, true, &[192]);
        let role = |a, b| agree_on_keys(&a, &b).map(|(role, _)| role);
        assert_eq!(role(both(7), both(6)), Ok(Role::Server));
        assert_eq!(role(both(6), both(6)), Err(KeyFault::TieBreaker));
        let server = || offer(6, false, true, &[192]);
        assert_eq!(role(both(9), server()), Ok(Role::Client));
        assert_eq!(role(server(), server()), Err(KeyFault::Roles));
        assert_eq!(agree_on_keys(&both(1), &offer(2, true, true, &[0])), Err(KeyFault::Methods));
    }

    #[test]
    fn reserved_bits_survive_a_cookie_and_too_many_methods_do_not() {
        let bytes = [0x80, 6, 0, 10, 1, 2, 3, 4, 0xfb, 192];
        let read = KeyOffer::from_bytes(&bytes).unwrap();
        assert_eq!(read.bytes(), bytes);
        let mut long = vec![0x80, 6, 0, 26, 1, 2, 3, 4, 3];
        long.resize(26, 192);
        assert!(KeyOffer::from_bytes(&long).is_none());
        assert!(KeyOffer::from_bytes(&bytes[..8]).is_none());
    }
}
