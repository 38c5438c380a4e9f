use polypath_proto::protection::HEADROOM;

use super::*;

fn agreed(role: Role) -> Agreed {
    let parameters = [vec![1, 2, 3, 4], vec![5, 6, 7, 8]];
    Agreed { method: METHOD, role, parameters, session: [9; 16], seed: [0; 32] }
}

fn seal(end: &mut dyn Protection, now: Time, content: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; HEADROOM];
    packet.extend_from_slice(content);
    assert!(end.seal(now, &mut packet, 0));
    packet.truncate(usize::from(u16::from_be_bytes([packet[2], packet[3]])));
    packet
}

fn open(end: &mut dyn Protection, now: Time, chunk: &[u8]) -> Result<Vec<u8>, OpenError> {
    let mut chunk = chunk.to_vec();
    let content = end.open(now, None, &mut chunk)?;
    Ok(chunk[content].to_vec())
}

fn events(end: &mut dyn Protection) -> Vec<ProtectionEvent> {
    core::iter::from_fn(|| end.poll_event()).collect()
}

fn pair(config: &PreShared) -> [Box<dyn Protection>; 2] {
    [Role::Client, Role::Server].map(|role| config.protect(Time::ZERO, &agreed(role)))
}

#[test]
fn both_ends_protect_at_once() {
    for suite in [Suite::Aes128Gcm, Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
        let [mut client, mut server] = pair(&PreShared::new([7; 32]).with_cipher(suite));
        for end in [&mut client, &mut server] {
            assert!(end.seals() && end.is_enforced());
            assert_eq!(end.poll_message(), None);
        }
        assert_eq!(events(&mut *client), [ProtectionEvent::Established]);
        assert_eq!(events(&mut *server), [], "nothing tells yet that the client has the secret");
        let there = seal(&mut *client, Time::ZERO, b"there");
        assert_eq!(open(&mut *server, Time::ZERO, &there), Ok(b"there".to_vec()));
        assert_eq!(events(&mut *server), [ProtectionEvent::Established]);
        assert_eq!(server.next_timeout(), Time::MAX);
        assert_eq!(open(&mut *server, Time::ZERO, &there), Err(OpenError::Replayed));
        // What one sealed does not open at itself.
        assert_eq!(open(&mut *client, Time::ZERO, &there), Err(OpenError::Forged));
        let back = seal(&mut *server, Time::ZERO, b"back");
        assert_eq!(open(&mut *client, Time::ZERO, &back), Ok(b"back".to_vec()));
    }
}

#[test]
fn who_does_not_prove_to_have_the_secret_is_waited_for_20_seconds() {
    let [_, mut server] = pair(&PreShared::new([7; 32]));
    let [mut stranger, _] = pair(&PreShared::new([8; 32]));
    let chunk = seal(&mut *stranger, Time::ZERO, b"let me in");
    assert_eq!(open(&mut *server, Time::ZERO, &chunk), Err(OpenError::Forged));
    let until = server.next_timeout();
    assert_eq!(until, Time::from_secs(20));
    server.handle_timeout(until, Duration::ZERO);
    let failed = ProtectionEvent::Failed(ProtectionFailure::TimedOut);
    assert_eq!(events(&mut *server), [failed]);
    assert_eq!(server.next_timeout(), Time::MAX);
}

#[test]
fn keys_are_of_this_secret_and_association_alone() {
    let config = PreShared::new([7; 32]);
    let chunk = seal(&mut *pair(&config)[0], Time::ZERO, b"x");
    let mut others = Vec::new();
    for at in 0..16 {
        let mut other = agreed(Role::Server);
        other.session[at] ^= 1;
        others.push(config.protect(Time::ZERO, &other));
    }
    for (end, at) in [(0, 0), (0, 3), (1, 0), (1, 3)] {
        let mut other = agreed(Role::Server);
        other.parameters[end][at] ^= 1;
        others.push(config.protect(Time::ZERO, &other));
    }
    others.push(PreShared::new([8; 32]).protect(Time::ZERO, &agreed(Role::Server)));
    for mut other in others {
        assert_eq!(open(&mut *other, Time::ZERO, &chunk), Err(OpenError::Forged));
    }
    assert!(!format!("{config:?} {:?}", pair(&config)).contains("7, 7"));
}

#[test]
fn keys_are_replaced_without_messages() {
    let policy = RekeyPolicy { packets: 50, ..RekeyPolicy::default() };
    let [mut client, mut server] = pair(&PreShared::new([7; 32]).with_policy(policy));
    let rto = Duration::from_millis(10);
    let mut all = Vec::new();
    for n in 0..2002_u64 {
        let now = Time::from_millis(n);
        for end in [&mut client, &mut server] {
            if end.next_timeout() <= now {
                end.handle_timeout(now, rto);
            }
        }
        let chunk = seal(&mut *client, now, &n.to_be_bytes());
        // Each seventh overtakes the next ones: also across a change of keys.
        all.push(chunk);
        if n % 7 == 6 {
            for chunk in all[all.len() - 7..].iter().rev() {
                assert!(open(&mut *server, now, chunk).is_ok(), "{n}");
            }
        }
    }
    let epoch = client.stats().epoch;
    assert_eq!(epoch, FIRST_EPOCH + 2001 / 50);
    let rekeyed = core::iter::from_fn(|| client.poll_event()).count() as u64;
    assert_eq!(rekeyed, 1 + client.stats().rekeys);
    for chunk in &all {
        assert!(open(&mut *server, Time::from_secs(3), chunk).is_err());
    }
}

#[test]
fn the_next_keys_wait_until_the_peer_can_have_dropped_the_oldest() {
    let policy = RekeyPolicy { packets: 1, ..RekeyPolicy::default() };
    let [mut client, _] = pair(&PreShared::new([7; 32]).with_policy(policy));
    for _ in 0..3 {
        seal(&mut *client, Time::ZERO, b"x");
    }
    assert_eq!(client.stats().epoch, FIRST_EPOCH + 1);
    client.handle_timeout(Time::ZERO, Duration::from_secs(1));
    assert_eq!(client.next_timeout(), Time::from_secs(2));
    seal(&mut *client, Time::from_secs(2), b"x");
    assert_eq!(client.stats().epoch, FIRST_EPOCH + 1);
    client.handle_timeout(Time::from_secs(2), Duration::from_secs(1));
    seal(&mut *client, Time::from_secs(2), b"x");
    assert_eq!(client.stats().epoch, FIRST_EPOCH + 2);
}

#[test]
fn an_epoch_of_which_nothing_came_is_no_end() {
    let policy = RekeyPolicy { packets: 10, ..RekeyPolicy::default() };
    let [mut client, mut server] = pair(&PreShared::new([7; 32]).with_policy(policy));
    let mut now = Time::ZERO;
    for n in 0..25 {
        let chunk = seal(&mut *client, now, b"x");
        now += Duration::from_millis(1);
        if client.next_timeout() <= now {
            client.handle_timeout(now, Duration::ZERO);
        }
        // All of the second epoch are lost.
        if !(10..20).contains(&n) {
            assert!(open(&mut *server, now, &chunk).is_ok(), "{n}");
        }
    }
    assert_eq!(client.stats().epoch, FIRST_EPOCH + 2);
}

#[test]
fn forged_packets_of_a_next_epoch_change_nothing() {
    let [mut client, mut server] = pair(&PreShared::new([7; 32]));
    let chunk = seal(&mut *client, Time::ZERO, b"x");
    for bits in 0..4 {
        let mut forged = chunk.clone();
        forged[5] = forged[5] & !3 | bits;
        forged[20] ^= 1;
        assert!(open(&mut *server, Time::ZERO, &forged).is_err());
    }
    assert_eq!((server.next_timeout(), events(&mut *server)), (Time::from_secs(20), vec![]));
    assert_eq!(open(&mut *server, Time::ZERO, &chunk), Ok(b"x".to_vec()));
}
