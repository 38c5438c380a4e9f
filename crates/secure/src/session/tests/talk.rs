//! Set-up and rekeying between two ends that mean well.

use polypath_proto::protection::ProtectionStats;

use super::*;

const LOSSLESS: Network = Network { lost: 0, doubled: 0, jitter: 0 };
const HOSTILE: Network = Network { lost: 100, doubled: 50, jitter: 30 };

fn every(packets: u64) -> RekeyPolicy {
    RekeyPolicy { packets, ..RekeyPolicy::default() }
}

fn stats(world: &World) -> [ProtectionStats; 2] {
    [world.ends[0].stats(), world.ends[1].stats()]
}

#[test]
fn set_up_takes_four_messages_of_the_sizes_of_tls() {
    let mut ends = [Role::Client, Role::Server].map(|role| session(role, 1, every(1000)));
    assert!(ends.iter().all(|end| !end.seals() && !end.is_enforced()));
    let mut sizes = Vec::new();
    talk(Time::ZERO, &mut ends, |_, message| sizes.push(message.len()));
    assert_eq!(sizes, [1 + 247, 1 + 387, 1 + 209, 2]);
    assert!(ends.iter().all(|end| end.seals() && end.is_enforced()));
    let [client, server] = &mut ends;
    let there = seal(client, Time::ZERO, b"there").unwrap();
    assert_eq!(open(server, Time::ZERO, &there), Ok(b"there".to_vec()));
    let back = seal(server, Time::ZERO, b"back").unwrap();
    assert_eq!(open(client, Time::ZERO, &back), Ok(b"back".to_vec()));
}

#[test]
fn each_end_seals_and_enforces_when_it_may() {
    let [mut client, mut server] =
        [Role::Client, Role::Server].map(|role| session(role, 1, every(1000)));
    let now = Time::ZERO;
    let hello = client.poll_message().unwrap();
    assert_eq!(server.poll_message(), None);
    server.handle_message(now, RTO, &hello, false);
    let flight = server.poll_message().unwrap();
    assert!(!server.is_enforced());
    client.handle_message(now, RTO, &flight, false);
    // The client opens what is protected, and does not seal yet; an alert may still come in plain.
    assert!(!client.is_enforced() && !client.seals() && events(&mut client).is_empty());
    server.handle_message(now, RTO, &client.poll_message().unwrap(), false);
    assert!(server.is_enforced() && server.seals());
    assert_eq!(events(&mut server), [ProtectionEvent::Established]);
    let established = server.poll_message().unwrap();
    assert_eq!(established[..], [0x83, 1]);
    // In plain anybody could have said so.
    client.handle_message(now, RTO, &established, false);
    assert!(!client.seals() && events(&mut client).is_empty());
    client.handle_message(now, RTO, &established, true);
    assert!(client.seals() && client.is_enforced());
    assert_eq!(events(&mut client), [ProtectionEvent::Established]);
    // Late copies are ignored.
    for message in [&hello, &flight, &established] {
        client.handle_message(now, RTO, message, true);
        server.handle_message(now, RTO, message, true);
    }
    assert!(events(&mut client).is_empty() && events(&mut server).is_empty());
}

#[test]
fn keys_replaced_every_fifty_packets_lose_nothing() {
    let mut world = World::new(1, LOSSLESS, [every(50), every(50)]);
    world.run(10_000);
    assert!(world.failures().is_empty());
    assert_eq!(world.refused, 0);
    for stats in stats(&world) {
        // A change takes 50 packets, three flights, and the old keys' 200 ms.
        assert!(stats.rekeys > 30, "{stats:?}");
        assert_eq!(stats.epoch, FIRST_EPOCH + stats.rekeys);
    }
}

/// Also what goes out and comes back at once.
#[test]
fn hostile_networks_delay_and_nothing_more() {
    for seed in 0..40 {
        let mut world = World::new(seed, HOSTILE, [every(50), every(50)]);
        world.run(8000);
        assert!(world.failures().is_empty(), "{seed}: {:?}", world.failures());
        for (end, stats) in stats(&world).iter().enumerate() {
            assert!(stats.rekeys >= 10, "{seed} {end}: {stats:?}");
            // Packets are late by 30 ms at most, and old keys stay for 200.
            assert_eq!(stats.unopenable, 0, "{seed} {end}: {stats:?}");
            assert_eq!(stats.forged, 0, "{seed} {end}: {stats:?}");
        }
        replay_everything(&mut world);
    }
}

/// Each packet that was opened once never opens again.
fn replay_everything(world: &mut World) {
    for end in [0, 1] {
        let before = format!("{:?}", world.ends[end].stats().opened);
        let packets = core::mem::take(&mut world.opened[end]);
        assert!(packets.len() > 1000);
        for (n, packet) in packets.iter().rev().enumerate() {
            let result = open(&mut world.ends[end], world.now, packet);
            // Bits of epochs mean others four epochs later: then the keys are wrong ones.
            let recent = n < 50;
            let seen = matches!(result, Err(OpenError::Replayed | OpenError::NoKey));
            assert!(seen || (!recent && result == Err(OpenError::Forged)), "{n}: {result:?}");
        }
        assert_eq!(before, format!("{:?}", world.ends[end].stats().opened));
    }
}

#[test]
fn either_end_may_begin() {
    for policies in [[every(50), every(1 << 40)], [every(1 << 40), every(50)]] {
        let mut world = World::new(3, HOSTILE, policies);
        world.run(5000);
        assert!(world.failures().is_empty());
        assert!(stats(&world).iter().all(|stats| stats.rekeys > 5), "{:?}", stats(&world));
    }
}

#[test]
fn bytes_and_age_are_reasons_too() {
    let never = every(u64::MAX);
    let policy = RekeyPolicy { bytes: 9 * 200, ..never };
    let mut world = World::new(3, LOSSLESS, [policy, never]);
    world.run(1000);
    assert!((2..=4).contains(&stats(&world)[0].rekeys), "{:?}", stats(&world));
    let policy = RekeyPolicy { age: Duration::from_secs(2), ..never };
    let mut world = World::new(3, LOSSLESS, [never, policy]);
    world.run(9000);
    assert_eq!(stats(&world)[0].rekeys, 4);
}

#[test]
fn of_two_that_begin_at_once_the_client_wins() {
    let mut ends = established(RekeyPolicy { age: Duration::from_secs(1), ..every(u64::MAX) });
    let now = Time::from_secs(1);
    ends.iter_mut().for_each(|end| end.handle_timeout(now, RTO));
    let mut messages = Vec::new();
    talk(now, &mut ends, |_, message| messages.push(message.len()));
    // Both hellos, and the flights of one exchange.
    assert_eq!(messages, [248, 248, 388, 210, 2]);
    for end in &mut ends {
        assert_eq!(events(end), [ProtectionEvent::Rekeyed { epoch: 4 }]);
    }
}

#[test]
fn old_keys_go_two_timeouts_after_the_first_packet_of_the_new() {
    let mut ends = established(RekeyPolicy { age: Duration::from_secs(1), ..every(u64::MAX) });
    let late: Vec<_> = (0..3).map(|_| seal(&mut ends[0], Time::ZERO, b"old").unwrap()).collect();
    let now = Time::from_secs(1);
    ends[0].handle_timeout(now, RTO);
    talk(now, &mut ends, |_, _| {});
    let [client, server] = &mut ends;
    assert_eq!(open(server, Time::from_secs(50), &late[0]), Ok(b"old".to_vec()));
    let first = seal(client, now, b"new").unwrap();
    let now = Time::from_secs(60);
    assert_eq!(open(server, now, &first), Ok(b"new".to_vec()));
    assert_eq!(server.next_timeout(), now);
    server.handle_timeout(now, RTO);
    assert_eq!(server.next_timeout(), now + 2 * RTO);
    assert_eq!(open(server, now, &late[1]), Ok(b"old".to_vec()));
    // A second packet does not give it more time.
    let second = seal(client, now, b"new").unwrap();
    assert_eq!(open(server, now + RTO, &second), Ok(b"new".to_vec()));
    server.handle_timeout(now + 2 * RTO, RTO);
    assert_eq!(open(server, now, &late[2]), Err(OpenError::NoKey));
    // Only now others may be agreed on, which are overdue.
    assert_eq!(server.poll_message().map(|hello| hello.len()), Some(248));
}

#[test]
fn epochs_are_told_apart_by_two_bits_and_keys() {
    let mut ends = established(RekeyPolicy { age: Duration::from_secs(1), ..every(u64::MAX) });
    let packet = seal(&mut ends[0], Time::ZERO, b"x").unwrap();
    for bits in 0..4 {
        let mut confused = packet.clone();
        confused[5] = confused[5] & !3 | bits;
        if confused != packet {
            assert_eq!(open(&mut ends[1], Time::ZERO, &confused), Err(OpenError::NoKey));
        }
    }
    ends[0].handle_timeout(Time::from_secs(1), RTO);
    talk(Time::from_secs(1), &mut ends, |_, _| {});
    // Both epochs live: each packet opens with the keys of its own alone.
    let new = seal(&mut ends[0], Time::from_secs(1), b"y").unwrap();
    for mut confused in [packet.clone(), new.clone()] {
        // Epochs 3 and 4.
        confused[5] ^= 0b11;
        assert_eq!(open(&mut ends[1], Time::from_secs(1), &confused), Err(OpenError::Forged));
    }
    assert!(open(&mut ends[1], Time::from_secs(1), &packet).is_ok());
    assert!(open(&mut ends[1], Time::from_secs(1), &new).is_ok());
}

#[test]
fn runs_are_repeated_to_the_bit() {
    let run = || {
        let mut world = World::new(7, HOSTILE, [every(50), every(70)]);
        world.run(3000);
        (world.opened, world.events)
    };
    assert!(run() == run());
}
