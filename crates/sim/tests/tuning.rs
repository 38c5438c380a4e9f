//! Buffers that tune themselves, over several paths at once.

use std::sync::Arc;

use crate::common::{assoc, link, run, saturated, seconds, world};
use polypath_link::{LinkConfig, Queue};
use polypath_proto::config::{AssocConfig, InitialSsthresh};

const START: u32 = 256 << 10;
const LARGE: u32 = 128 << 20;

/// Buffers that stay as they are, at this size.
fn fixed(bytes: u32, ssthresh: u64) -> AssocConfig {
    let mut config = AssocConfig { max_burst: None, ..(*assoc(bytes)).clone() };
    config.congestion.initial_ssthresh = InitialSsthresh::Bytes(ssthresh);
    config
}

/// Buffers that grow from [`START`].
fn tuned(ssthresh: u64) -> AssocConfig {
    AssocConfig {
        receive_buffer_max: Some(LARGE),
        send_buffer_max: Some(LARGE.into()),
        ..fixed(START, ssthresh)
    }
}

/// Mbit/s of goodput over these links after `settle` seconds.
fn goodput(links: &[LinkConfig], config: AssocConfig, settle: u64, measure: u64) -> f64 {
    let mut spec = world(links, saturated(), START);
    spec.flows[0] = spec.flows[0].clone().with_assoc(Arc::new(config));
    spec.time = seconds(settle, measure);
    run(&spec, 1).flows.remove(0).total.goodput / 1e6
}

fn deep(mbit: u64, ms: u64, bytes: u64) -> LinkConfig {
    LinkConfig { queue: Queue::DropTailBytes(bytes), ..link(mbit, ms) }
}

#[test]
fn two_paths_of_a_gigabit_and_100_ms_are_filled_from_a_start_of_256_kib() {
    // 50 ms each way: 25 MB in flight.
    const FULL: u64 = 12_500_000;
    let links = [deep(1000, 50, 12_500_000), deep(1000, 50, 12_500_000)];
    let small = goodput(&links, fixed(START, FULL), 2, 1);
    assert!(small < 25.0, "{small} Mbit/s with 256 KiB");
    let (large, grown) =
        (goodput(&links, fixed(LARGE, FULL), 6, 1), goodput(&links, tuned(FULL), 6, 1));
    assert!(grown > 0.97 * large && grown > 1700.0, "{grown} Mbit/s, {large} with 128 MiB");
}

#[test]
fn dissimilar_paths_get_what_reordering_needs() {
    // What 100 Mbit/s deliver while a packet crosses the slow path waits for it.
    let links = [deep(100, 5, 250_000), deep(20, 100, 500_000)];
    let (large, grown) =
        (goodput(&links, fixed(LARGE, 400_000), 8, 4), goodput(&links, tuned(400_000), 8, 4));
    assert!(grown > 0.97 * large && grown > 85.0, "{grown} Mbit/s, {large} with 128 MiB");
}
