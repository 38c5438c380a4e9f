//! What a chain of links makes of given packets: the yardstick for the emulation.

use polypath_link::{Link, LinkConfig, LinkSeed, Nanos, Offer};

/// Times of arrival of packets (time of entry, bytes) that cross these links one after another on
/// their own; `None` for those that are lost. Entries must not decrease in time.
pub(crate) fn predict_arrivals(
    links: &[LinkConfig],
    packets: &[(Nanos, u32)],
) -> Vec<Option<Nanos>> {
    let mut times: Vec<_> = packets.iter().map(|(at, _)| Some(*at)).collect();
    for config in links {
        times = cross_link(config, packets, &times);
    }
    times
}

fn cross_link(
    config: &LinkConfig,
    packets: &[(Nanos, u32)],
    entries: &[Option<Nanos>],
) -> Vec<Option<Nanos>> {
    let mut link = Link::new(config.clone(), LinkSeed::new(0, 0));
    let mut arrivals = vec![None; packets.len()];
    let mut take = |link: &mut Link<usize>, until: Nanos| {
        while let Some(due) = link.next_delivery().filter(|due| *due <= until) {
            if let Some(arrival) = link.poll_arrival(due).and_then(|n| arrivals.get_mut(n)) {
                *arrival = Some(due);
            }
        }
    };
    for (n, (entry, (_, size))) in entries.iter().zip(packets).enumerate() {
        let Some(entry) = *entry else { continue };
        take(&mut link, entry);
        let (Offer::Accepted | Offer::Dropped(_)) = link.offer_packet(entry, *size, n);
    }
    take(&mut link, Nanos::MAX);
    arrivals
}

#[cfg(test)]
mod tests {
    use super::*;
    use polypath_link::Queue;

    const MS: Nanos = 1_000_000;

    #[test]
    fn a_chain_adds_delays_and_the_slowest_link_spaces_packets() {
        let link = |rate| LinkConfig { rate: Some(rate), delay: 5 * MS, ..LinkConfig::default() };
        let seen = predict_arrivals(&[link(80_000_000), link(8_000_000)], &[(0, 1000), (0, 1000)]);
        // 0.1 ms and 5 ms, then 1 ms each and 5 ms.
        let first = 11 * MS + MS / 10;
        assert_eq!(seen, [Some(first), Some(first + MS)]);
    }

    #[test]
    fn what_finds_no_room_does_not_arrive() {
        let queue = Queue::DropTailPackets(1);
        let link = LinkConfig { rate: Some(8_000_000), queue, ..LinkConfig::default() };
        let seen = predict_arrivals(&[link], &[(0, 1000), (0, 1000), (0, 1000), (3 * MS, 1000)]);
        assert_eq!(seen, [Some(MS), Some(2 * MS), None, Some(4 * MS)]);
    }
}
