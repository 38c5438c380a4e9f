//! What the best of all schedules carries of one ordered stream over a fast and a slow path, on a
//! case that is small enough to try them all (docs/explanation/knapsack.md, "One ordered stream").
//!
//! A schedule is the order of paths that consecutive packets take, again and again. Given that
//! order, nothing is gained by sending later than the buffer and the links allow, so the order
//! alone decides. Times are in packets.

/// Packets of the buffer; round trips of the two paths with a packet's own time.
const BUFFER: usize = 9;
const HOLD: [usize; 2] = [4, 11];
/// The longest orders that are tried.
const LONGEST: u32 = 16;

/// Packets per packet's time that an order carries: bit n of `order` is the path of packet n;
/// `queue` packets may wait at the fast link.
fn carried(order: u32, length: usize, queue: usize) -> f64 {
    let (half, whole) = (length * (60 / length + 2), length * (120 / length + 4));
    let (mut free, mut sent) = ([0; 2], 0);
    let mut acked: Vec<usize> = Vec::with_capacity(whole);
    for n in 0..whole {
        let path = (order >> (n % length) & 1) as usize;
        sent = sent.max(n.checked_sub(BUFFER).map_or(0, |first| acked[first]));
        if path == 0 {
            sent = sent.max(free[0].max(queue) - queue);
        }
        free[path] = free[path].max(sent) + 1;
        // In order: not before the one before.
        acked.push(acked.last().copied().unwrap_or(0).max(free[path] + HOLD[path] - 1));
    }
    (whole - half) as f64 / (acked[whole - 1] - acked[half - 1]) as f64
}

/// The best order, and what it carries.
fn best(queue: usize) -> (f64, String) {
    let mut best = (0.0, (0, 0));
    for length in 1..=LONGEST {
        for order in 0..1_u32 << length {
            let carried = carried(order, length as usize, queue);
            if carried > best.0 + 1e-9 {
                best = (carried, (order, length));
            }
        }
    }
    let (carried, (order, length)) = best;
    (carried, (0..length).map(|n| if order >> n & 1 == 0 { 'F' } else { 'S' }).collect())
}

/// max over sets of paths of min(sum of their rates, buffer / greatest hold time).
fn formula() -> f64 {
    let bound = |rates: f64, hold: usize| rates.min(BUFFER as f64 / hold as f64);
    bound(1.0, HOLD[0]).max(bound(2.0, HOLD[1]))
}

#[test]
fn without_a_queue_on_the_fast_path_the_formula_is_the_optimum_here() {
    assert_eq!(best(0).0, formula());
    assert!(best(1).0 < 1.04 * formula(), "a packet of queue is worth little");
}

#[test]
fn a_queue_on_the_fast_path_is_worth_much_and_the_best_order_is_in_blocks() {
    let (carried, order) = best(usize::MAX / 2);
    assert!(carried > 1.2 * formula(), "{carried}");
    assert_eq!(order.matches("FS").count() + order.matches("SF").count(), 1, "{order}");
}
