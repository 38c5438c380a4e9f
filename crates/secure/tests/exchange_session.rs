//! Two ends that agree on keys by TLS, and protect packets with them.

use polypath_proto::ids::PathId;
use polypath_proto::protection::{
    Agreed, HEADROOM, KeyManagement, OVERHEAD, Protection, ProtectionEvent, ProtectionFailure, Role,
};
use polypath_proto::time::{Duration, Time};
use polypath_secure::{Identity, RekeyPolicy, Tls, Trust};

const RTO: Duration = Duration::from_secs(1);

fn agreed(role: Role) -> Agreed {
    Agreed {
        method: 192,
        role,
        parameters: [
            vec![0x80, 6, 0, 10, 1, 2, 3, 4, 0, 192],
            vec![0x80, 6, 0, 10, 4, 3, 2, 1, 0, 192],
        ],
        session: [7; 16],
        seed: [7; 32],
    }
}

/// Both ends, the client first.
struct Pair([Box<dyn Protection>; 2]);

impl Pair {
    fn new(client: &Tls, server: &Tls) -> Self {
        Self([
            client.protect(Time::ZERO, &agreed(Role::Client)),
            server.protect(Time::ZERO, &agreed(Role::Server)),
        ])
    }

    /// Carries messages until both have said all, and tells what happened.
    fn run(&mut self, now: Time) -> [Vec<ProtectionEvent>; 2] {
        let mut events = [Vec::new(), Vec::new()];
        for _ in 0..20 {
            for from in [0, 1] {
                while let Some(message) = self.0[from].poll_message() {
                    let protected = self.0[from].seals();
                    self.0[1 - from].handle_message(now, RTO, &message, protected);
                }
            }
        }
        for (end, events) in self.0.iter_mut().zip(&mut events) {
            events.extend(std::iter::from_fn(|| end.poll_event()));
        }
        events
    }

    /// A packet of one end, opened by the other.
    fn carry(&mut self, now: Time, from: usize, chunks: &[u8]) -> Vec<u8> {
        let mut packet = vec![0xee; 12 + HEADROOM];
        packet.extend(chunks);
        assert!(self.0[from].seal(now, &mut packet, 12));
        assert!(packet.len() <= 12 + chunks.len() + OVERHEAD + 3);
        let len = usize::from(u16::from_be_bytes([packet[14], packet[15]]));
        let chunk = &mut packet[12..12 + len];
        let content = self.0[1 - from].open(now, Some(PathId(0)), chunk).unwrap();
        chunk[content].to_vec()
    }
}

#[test]
fn packets_pass_in_both_directions_and_keys_are_replaced() {
    let [a, b] = [(); 2].map(|()| Identity::generate().unwrap());
    let policy = RekeyPolicy { packets: 10, ..RekeyPolicy::default() };
    let client = Tls::new(&a, Trust::pinned([b.public().fingerprint()])).rekey(policy);
    let server = Tls::new(&b, Trust::pinned([a.public().fingerprint()])).rekey(policy);
    let mut pair = Pair::new(&client, &server);
    let events = pair.run(Time::ZERO);
    assert_eq!(events, [(); 2].map(|()| vec![ProtectionEvent::Established]));
    assert_eq!(pair.0[0].peer(), Some(b.public().spki()));
    assert_eq!(pair.0[1].peer(), Some(a.public().spki()));

    let mut rekeyed = 0;
    for number in 0..40_u8 {
        let now = Time::ZERO + Duration::from_secs(10 * u64::from(number));
        for from in [0, 1] {
            assert_eq!(pair.carry(now, from, &[number; 40]), [number; 40]);
        }
        for end in &mut pair.0 {
            end.handle_timeout(now, RTO);
        }
        for event in pair.run(now).into_iter().flatten() {
            assert!(matches!(event, ProtectionEvent::Rekeyed { .. }), "{event:?}");
            rekeyed += 1;
        }
    }
    assert!(rekeyed >= 4, "{rekeyed}");
    assert_eq!(pair.0[0].stats().forged + pair.0[0].stats().replayed, 0);
}

#[test]
fn a_stranger_is_named_and_gets_no_keys() {
    let [a, b, c] = [(); 3].map(|()| Identity::generate().unwrap());
    let client = Tls::new(&a, Trust::anyone());
    let server = Tls::new(&b, Trust::pinned([c.public().fingerprint()]));
    let mut pair = Pair::new(&client, &server);
    let [at_client, at_server] = pair.run(Time::ZERO);
    let unknown = ProtectionFailure::UnknownPeer { key: a.public().spki().to_vec() };
    assert_eq!(at_server, [ProtectionEvent::Failed(unknown)]);
    let refused = |event: &ProtectionEvent| {
        matches!(event, ProtectionEvent::Failed(ProtectionFailure::Refused(_)))
    };
    assert!(at_client.len() == 1 && refused(&at_client[0]), "{at_client:?}");
    for end in &mut pair.0 {
        let mut packet = vec![0; 12 + HEADROOM + 4];
        assert!(!end.seal(Time::ZERO, &mut packet, 12));
    }
}
