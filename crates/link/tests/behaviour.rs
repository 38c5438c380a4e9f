//! What a link promises its users, one promise per test.

use polypath_link::{
    Change, DeliveryTrace, DropReason, Jitter, JitterShape, Link, LinkConfig, LinkSeed, LossAt,
    LossModel, Nanos, Offer, Queue, QueueLen, RedConfig,
};

const MS: Nanos = 1_000_000;

/// 12 Mbit/s, at which 1500 bytes take 1 ms, and 10 ms of delay.
fn config() -> LinkConfig {
    LinkConfig { rate: Some(12_000_000), delay: 10 * MS, ..LinkConfig::default() }
}

fn link<P>(config: LinkConfig) -> Link<P> {
    assert_eq!(config.check(), Ok(()));
    Link::new(config, LinkSeed::new(1, 1))
}

/// Everything still on the link, with arrival times.
fn arrivals<P>(link: &mut Link<P>) -> Vec<(Nanos, P)> {
    let mut all = Vec::new();
    while let Some(at) = link.next_delivery() {
        all.extend(std::iter::from_fn(|| link.poll_arrival(at)).map(|packet| (at, packet)));
    }
    all
}

fn offer_all<P>(link: &mut Link<P>, now: Nanos, packets: impl IntoIterator<Item = P>) {
    for packet in packets {
        assert_eq!(link.offer_packet(now, 1500, packet), Offer::Accepted);
    }
}

#[test]
fn a_drop_tail_queue_holds_its_limit_besides_the_packet_in_transmission() {
    let mut link = link(LinkConfig { queue: Queue::DropTailPackets(2), ..config() });
    offer_all(&mut link, 0, 0..3);
    assert_eq!(link.queue_len(0), QueueLen { packets: 2, bytes: 3000 });
    assert_eq!(link.offer_packet(MS - 1, 1500, 3), Offer::Dropped(DropReason::QueueFull));
    assert_eq!(link.offer_packet(MS, 1500, 4), Offer::Accepted);
    let ids: Vec<_> = arrivals(&mut link).into_iter().map(|(_, id)| id).collect();
    assert_eq!(ids, [0, 1, 2, 4]);
    assert_eq!(link.stats().dropped.queue_full, 1);
    assert_eq!(link.stats().max_queue, QueueLen { packets: 2, bytes: 3000 });
}

#[test]
fn a_byte_limit_counts_the_bytes_that_wait() {
    let mut link = link(LinkConfig { queue: Queue::DropTailBytes(2000), ..config() });
    offer_all(&mut link, 0, ["in transmission", "waits"]);
    assert_eq!(link.offer_packet(0, 501, "too long"), Offer::Dropped(DropReason::QueueFull));
    assert_eq!(link.offer_packet(0, 500, "fits"), Offer::Accepted);
}

#[test]
fn a_link_without_room_still_sends_when_idle() {
    let mut link = link(LinkConfig { queue: Queue::DropTailPackets(0), ..config() });
    assert_eq!(link.offer_packet(0, 1500, 0), Offer::Accepted);
    assert_eq!(link.offer_packet(0, 1500, 1), Offer::Dropped(DropReason::QueueFull));
    assert_eq!(link.offer_packet(MS, 1500, 2), Offer::Accepted);
}

#[test]
fn going_down_loses_what_waits_and_what_flies() {
    let mut link = link(config());
    offer_all(&mut link, 0, 0..20);
    // At 12 ms packets 0 and 1 have arrived, 2 to 11 fly, and the others have not left.
    link.set_up(12 * MS, false);
    assert_eq!(link.offer_packet(13 * MS, 1500, 20), Offer::Dropped(DropReason::Down));
    assert_eq!(link.queue_len(13 * MS), QueueLen::default());
    assert_eq!(std::iter::from_fn(|| link.poll_arrival(14 * MS)).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(link.next_delivery(), None);
    assert_eq!(link.stats().dropped.down, 19);
    assert_eq!(link.busy_time(14 * MS), 12 * MS);
    link.set_up(20 * MS, true);
    offer_all(&mut link, 20 * MS, [21]);
    assert_eq!(arrivals(&mut link), [(31 * MS, 21)]);
}

#[test]
fn a_scheduled_outage_needs_no_event_of_the_caller() {
    let schedule = vec![(5 * MS, Change::Up(false)), (8 * MS, Change::Up(true))];
    let mut link = link(LinkConfig { schedule, ..config() });
    offer_all(&mut link, 0, [0]);
    assert_eq!(link.next_delivery(), Some(5 * MS), "the outage comes before the arrival");
    assert_eq!(link.poll_arrival(5 * MS), None);
    assert_eq!(link.next_delivery(), None);
    offer_all(&mut link, 8 * MS, [1]);
    assert_eq!(arrivals(&mut link), [(19 * MS, 1)]);
}

#[test]
fn a_shorter_delay_does_not_reorder() {
    let mut link = link(config());
    offer_all(&mut link, 0, 0..4);
    link.set_delay(2 * MS, 0);
    assert_eq!(arrivals(&mut link), [(11 * MS, 0), (12 * MS, 1), (12 * MS, 2), (12 * MS, 3)]);
}

#[test]
fn the_packet_in_transmission_keeps_what_it_has_sent_when_the_rate_changes() {
    let mut link = link(config());
    offer_all(&mut link, 0, 0..2);
    link.set_rate(MS / 2, Some(6_000_000));
    // Half of packet 0 takes 1 ms more, packet 1 then 2 ms.
    assert_eq!(arrivals(&mut link), [(11 * MS + MS / 2, 0), (13 * MS + MS / 2, 1)]);
}

#[test]
fn a_rate_takes_over_from_a_trace() {
    let trace = DeliveryTrace::parse("4\n8\n").ok();
    let mut link = link(LinkConfig { trace, rate: None, delay: 0, ..LinkConfig::default() });
    offer_all(&mut link, 0, 0..3);
    link.set_rate(5 * MS, Some(12_000_000));
    assert_eq!(arrivals(&mut link), [(4 * MS, 0), (6 * MS, 1), (7 * MS, 2)]);
}

#[test]
fn jitter_keeps_the_order_unless_told_otherwise() {
    let run = |reorder| {
        let jitter = Some(Jitter { max: 5 * MS, shape: JitterShape::Uniform, reorder });
        let mut link = link(LinkConfig { jitter, ..config() });
        offer_all(&mut link, 0, 0..1000u64);
        arrivals(&mut link)
    };
    let in_order = run(false);
    assert!(in_order.is_sorted(), "both times and packets ascend");
    let reordered = run(true);
    assert!(reordered.is_sorted_by_key(|(at, _)| *at));
    assert!(!reordered.is_sorted_by_key(|(_, id)| *id));
    assert_eq!(reordered.len(), 1000);
    for (at, id) in reordered {
        let earliest = (id + 1) * MS + 10 * MS;
        assert!((earliest..=earliest + 5 * MS).contains(&at), "packet {id} at {at}");
    }
}

#[test]
fn reordering_survives_changes_and_outages() {
    let jitter = Some(Jitter { max: 5 * MS, shape: JitterShape::Uniform, reorder: true });
    let mut link = link(LinkConfig { jitter, ..config() });
    offer_all(&mut link, 0, 0..100u64);
    let mut seen: Vec<_> = std::iter::from_fn(|| link.poll_arrival(30 * MS)).collect();
    link.set_rate(30 * MS, Some(24_000_000));
    link.set_delay(40 * MS, 20 * MS);
    seen.extend(std::iter::from_fn(|| link.poll_arrival(60 * MS)));
    link.set_up(60 * MS, false);
    assert_eq!(link.next_delivery(), None);
    assert_eq!(seen.len() as u64 + link.stats().dropped.down, 100);
    link.set_up(61 * MS, true);
    offer_all(&mut link, 61 * MS, [100]);
    seen.extend(arrivals(&mut link).into_iter().map(|(_, id)| id));
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len() as u64 + link.stats().dropped.down, 101);
    assert_eq!(seen.last(), Some(&100));
}

#[test]
fn loss_at_entry_takes_no_time_and_loss_at_exit_does() {
    let second_packet_arrives = |loss_at| {
        let loss = vec![LossModel::Scripted(vec![0])];
        let mut link = link(LinkConfig { loss, loss_at, ..config() });
        assert_eq!(link.offer_packet(0, 1500, 0), Offer::Dropped(DropReason::Loss));
        assert_eq!(link.offer_packet(0, 1500, 1), Offer::Accepted);
        arrivals(&mut link)
    };
    assert_eq!(second_packet_arrives(LossAt::Entry), [(11 * MS, 1)]);
    assert_eq!(second_packet_arrives(LossAt::Exit), [(12 * MS, 1)]);
}

/// The drops of 10,000 packets under `loss`, by reason.
fn drops(loss: Vec<LossModel>, seed: LinkSeed) -> Vec<Option<DropReason>> {
    let mut link = Link::new(LinkConfig { loss, ..config() }, seed);
    let offers = (0..10_000).map(|n| link.offer_packet(n * MS, 1500, ()));
    offers
        .map(|offer| if let Offer::Dropped(reason) = offer { Some(reason) } else { None })
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_drops_and_another_seed_others() {
    let loss = || vec![LossModel::Bernoulli(0.1)];
    let first = drops(loss(), LinkSeed::new(4, 2));
    assert_eq!(first, drops(loss(), LinkSeed::new(4, 2)));
    assert_ne!(first, drops(loss(), LinkSeed::new(4, 3)));
    assert_ne!(first, drops(loss(), LinkSeed::new(5, 2)));
}

#[test]
fn one_loss_model_does_not_shift_the_draws_of_another() {
    let seed = LinkSeed::new(4, 2);
    let bit_errors = |first| {
        let drops = drops(vec![first, LossModel::BitError(1e-5)], seed);
        drops.into_iter().map(|drop| drop == Some(DropReason::BitError)).collect::<Vec<_>>()
    };
    let alone = bit_errors(LossModel::Bernoulli(0.0));
    // Number 0 is blamed on the script whatever the bits say.
    assert_eq!(alone[1..], bit_errors(LossModel::Scripted(vec![0]))[1..]);
    assert!(alone.iter().any(|lost| *lost));
}

#[test]
fn nothing_overflows_at_the_end_of_time() {
    let mut link = link(LinkConfig { rate: Some(1), delay: Nanos::MAX, ..LinkConfig::default() });
    assert_eq!(link.offer_packet(Nanos::MAX - 1, u32::MAX, 0), Offer::Accepted);
    assert_eq!(link.offer_packet(Nanos::MAX, u32::MAX, 1), Offer::Accepted);
    link.set_rate(Nanos::MAX, Some(u64::MAX));
    link.set_delay(Nanos::MAX, 0);
    assert_eq!(link.next_delivery(), Some(Nanos::MAX));
    assert_eq!(link.poll_arrival(Nanos::MAX), Some(0));
}

#[test]
fn replaced_loss_models_draw_anew() {
    let schedule = vec![(1000 * MS, Change::Loss(vec![LossModel::Bernoulli(0.3)]))];
    let loss = vec![LossModel::Bernoulli(0.3)];
    let mut link = link(LinkConfig { loss, schedule, ..config() });
    let lost: Vec<_> =
        (0..2000).map(|n| link.offer_packet(n * MS, 1500, ()) != Offer::Accepted).collect();
    let (before, after) = lost.split_at(1000);
    assert_ne!(before, after);
    assert!(after.iter().any(|lost| *lost));
}

#[test]
fn a_red_queue_remembers_across_a_rate_change_how_long_it_was_idle() {
    let red = RedConfig {
        min_packets: 2.0,
        max_packets: 3.0,
        max_p: 1.0,
        weight: 0.5,
        limit_packets: 100,
    };
    let drops_after_idle = |rate_changes: bool| {
        let mut link = link(LinkConfig { queue: Queue::Red(red), ..config() });
        for _ in 0..12 {
            let _ = link.offer_packet(0, 1500, ());
        }
        let idle_from = link.busy_time(Nanos::MAX);
        if rate_changes {
            link.set_rate(idle_from, Some(12_000_000));
        }
        let offers = (0..20).map(|_| link.offer_packet(idle_from, 1500, ()));
        offers.map(|offer| offer == Offer::Accepted).collect::<Vec<_>>()
    };
    assert_eq!(drops_after_idle(true), drops_after_idle(false));
}
