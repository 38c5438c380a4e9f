//! Long-run behaviour against closed forms. Seeds are fixed, so each test sees the same draws every
//! time.

use polypath_link::{
    DropReason, Link, LinkConfig, LinkSeed, LossModel, Nanos, Offer, Queue, RedConfig,
};
use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

/// Which of `packets` packets of `size` bytes the model loses.
fn losses(model: LossModel, packets: u64, size: u32) -> Vec<bool> {
    let config = LinkConfig { loss: vec![model], ..LinkConfig::default() };
    let mut link = Link::new(config, LinkSeed::new(11, 3));
    (0..packets)
        .map(|now| {
            let lost = link.offer_packet(now, size, ()) != Offer::Accepted;
            link.poll_arrival(now);
            lost
        })
        .collect()
}

fn share(lost: &[bool]) -> f64 {
    lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64
}

/// Four standard deviations of the share of `n` independent draws.
fn four_sigma(p: f64, n: u64) -> f64 {
    4.0 * (p * (1.0 - p) / n as f64).sqrt()
}

#[test]
fn bernoulli_loses_its_share_independently() {
    const N: u64 = 1_000_000;
    for p in [0.001, 0.01, 0.1] {
        let lost = losses(LossModel::Bernoulli(p), N, 1500);
        assert!((share(&lost) - p).abs() < four_sigma(p, N), "{p}: {}", share(&lost));
        let pairs: Vec<_> = lost.windows(2).map(|pair| pair[0] && pair[1]).collect();
        assert!((share(&pairs) - p * p).abs() < four_sigma(p * p, N), "{p}: {}", share(&pairs));
    }
    assert_eq!(share(&losses(LossModel::Bernoulli(0.0), 1000, 1500)), 0.0);
    assert_eq!(share(&losses(LossModel::Bernoulli(1.0), 1000, 1500)), 1.0);
}

#[test]
fn bit_errors_hit_long_packets_more() {
    const N: u64 = 1_000_000;
    for (ber, size) in [(1e-6, 1500), (1e-6, 52), (1e-5, 1500)] {
        let p = 1.0 - (1.0f64 - ber).powf(8.0 * f64::from(size));
        let lost = share(&losses(LossModel::BitError(ber), N, size));
        assert!((lost - p).abs() < four_sigma(p, N), "{ber} {size}: {lost}, expected {p}");
    }
}

#[test]
fn gilbert_elliott_reaches_its_stationary_loss_and_burst_length() {
    let (p_good_to_bad, p_bad_to_good) = (0.01, 0.2);
    let model = |loss_good, loss_bad| LossModel::GilbertElliott {
        p_good_to_bad,
        p_bad_to_good,
        loss_good,
        loss_bad,
    };
    let bad = p_good_to_bad / (p_good_to_bad + p_bad_to_good);
    let lost = share(&losses(model(0.002, 0.5), 2_000_000, 1500));
    let expected = bad * 0.5 + (1.0 - bad) * 0.002;
    assert!((lost / expected - 1.0).abs() < 0.02, "{lost}, expected {expected}");

    let lost = losses(model(0.0, 1.0), 2_000_000, 1500);
    let bursts = lost.windows(2).filter(|pair| pair[0] && !pair[1]).count();
    let mean = share(&lost) * lost.len() as f64 / bursts as f64;
    assert!((mean * p_bad_to_good - 1.0).abs() < 0.02, "mean burst {mean}");
}

/// Mean waiting time of M/D/1 is rho S / (2 (1 - rho)) (Pollaczek and Khinchine).
#[test]
fn poisson_arrivals_wait_as_in_m_d_1() {
    const SERVICE: f64 = 1_200_000.0;
    for load in [0.3, 0.5, 0.7] {
        let wait = mean_wait(load, SERVICE);
        let expected = load * SERVICE / (2.0 * (1.0 - load));
        assert!((wait / expected - 1.0).abs() < 0.03, "{load}: {wait} ns, expected {expected} ns");
    }
}

fn mean_wait(load: f64, service: f64) -> f64 {
    const N: u32 = 1_000_000;
    const DELAY: Nanos = 3_000_000;
    let config = LinkConfig { rate: Some(10_000_000), delay: DELAY, ..LinkConfig::default() };
    let mut link = Link::new(config, LinkSeed::new(0, 0));
    let mut rng = ChaCha12Rng::seed_from_u64(5);
    let (mut clock, mut total) = (0.0, 0.0);
    let mut collect = |link: &mut Link<Nanos>, until: Nanos| {
        while let Some(at) = link.next_delivery().filter(|at| *at <= until) {
            let sent = link.poll_arrival(at).expect("a packet is due");
            total += (at - sent - DELAY) as f64 - service;
        }
    };
    for _ in 0..N {
        let uniform = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        clock -= (1.0 - uniform).ln() * service / load;
        let now = clock as Nanos;
        collect(&mut link, now);
        assert_eq!(link.offer_packet(now, 1500, now), Offer::Accepted);
    }
    collect(&mut link, Nanos::MAX);
    total / f64::from(N)
}

/// An overloaded RED queue settles where its drop rate, 2 p_b for uniform gaps, balances the
/// overload.
#[test]
fn an_overloaded_red_queue_settles_where_drops_balance_the_load() {
    let red = RedConfig {
        min_packets: 20.0,
        max_packets: 120.0,
        max_p: 0.25,
        weight: 0.002,
        limit_packets: 1000,
    };
    let queue = Queue::Red(red);
    let config = LinkConfig { rate: Some(10_000_000), queue, ..LinkConfig::default() };
    let mut link = Link::new(config, LinkSeed::new(2, 2));
    let (mut waiting, mut red_drops, mut samples) = (0, 0, 0);
    // 1500 bytes every 1 ms into 1.2 ms of service: one packet in six has to go.
    for now in (0..400_000).map(|n| n * 1_000_000) {
        let offer = link.offer_packet(now, 1500, ());
        while link.poll_arrival(now).is_some() {}
        if now >= 20_000_000_000 {
            samples += 1;
            red_drops += u64::from(offer == Offer::Dropped(DropReason::Red));
            waiting += link.queue_len(now).packets;
        }
    }
    let drop_rate = red_drops as f64 / f64::from(samples);
    assert!((drop_rate - 1.0 / 6.0).abs() < 0.002, "{drop_rate}");
    // 2 p_b = 1/6, so p_b = 1/12 = max_p / 3: a third of the way from min to max.
    let mean = waiting as f64 / f64::from(samples);
    assert!((mean - (20.0 + 100.0 / 3.0)).abs() < 1.5, "{mean}");
}
