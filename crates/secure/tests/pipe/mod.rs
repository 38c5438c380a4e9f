//! Two ends, and what carries messages between them.
#![expect(unreachable_pub, reason = "each test takes what it needs")]

use polypath_proto::protection::{ProtectionFailure, Role};
use polypath_secure::{BareExchange, BareKeys, Tls};

/// DTLS Key Management Parameters (0x8006) of a client and a server: tie breaker, flags, methods.
pub const PARAMETERS: &[u8] = &[
    0x80, 6, 0, 10, 1, 2, 3, 4, 0, 192, // The client's.
    0x80, 6, 0, 11, 9, 8, 7, 6, 0, 192, 0, // The server's.
];

pub struct Ends {
    pub client: BareExchange,
    pub server: BareExchange,
}

impl Ends {
    pub fn new(client: &Tls, server: &Tls) -> Self {
        Self {
            client: client.bare_exchange(Role::Client, PARAMETERS, None),
            server: server.bare_exchange(Role::Server, PARAMETERS, None),
        }
    }
}

/// Carries one message, if there is one.
pub fn pass(
    from: &mut BareExchange,
    to: &mut BareExchange,
) -> Option<Result<(), ProtectionFailure>> {
    from.poll().map(|message| to.handle(&message))
}

/// Carries all that both ends say, and tells what each failed with: first the client.
pub fn run(ends: &mut Ends) -> [Option<ProtectionFailure>; 2] {
    let mut failures = [None, None];
    for _ in 0..10 {
        let to_server = pass(&mut ends.client, &mut ends.server);
        let to_client = pass(&mut ends.server, &mut ends.client);
        if to_server.is_none() && to_client.is_none() {
            return failures;
        }
        for (failure, result) in failures.iter_mut().zip([to_client, to_server]) {
            if let Some(Err(why)) = result {
                failure.get_or_insert(why);
            }
        }
    }
    panic!("they never stop talking");
}

/// The keys of both ends, which have not failed.
#[allow(dead_code, reason = "not every test runs an exchange to its end")]
pub fn finish(ends: &mut Ends) -> [BareKeys; 2] {
    [&mut ends.client, &mut ends.server].map(|end| {
        let keys = end.keys().expect("the exchange is over");
        assert_eq!(end.keys(), None, "given once");
        keys
    })
}
