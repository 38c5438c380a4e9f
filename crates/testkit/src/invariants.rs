//! What holds for an association at every moment.

use polypath_proto::config::AssocConfig;
use polypath_proto::time::Time;
use polypath_proto::{Association, State};

/// Bytes of key management's messages in the send buffer, at most: four that wait, and as many in
/// flight.
const KEY_MESSAGES: u64 = 8 << 10;

/// Checks the books of an association; those of one that is over are closed.
///
/// # Errors
/// What does not add up.
pub fn check_books(assoc: &Association, config: &AssocConfig, now: Time) -> Result<(), String> {
    if assoc.state() == State::Closed {
        return Ok(());
    }
    let view = assoc.view(now);
    let ensure = |ok: bool, what: &str| -> Result<(), String> {
        if ok { Ok(()) } else { Err(format!("{what}, at {now}: {view:?}")) }
    };
    let buffer = view.send_buffer;
    // A message in parts that all others wait for may have as much again.
    let most = buffer.limit.saturating_mul(2);
    // And a few messages of key management are held whatever else is.
    let keys = if config.protection.is_some() { KEY_MESSAGES } else { 0 };
    let most = most.saturating_add(keys);
    ensure(buffer.used <= most, "the send buffer holds more than twice its limit")?;
    ensure(buffer.unsent <= buffer.used, "more bytes are unsent than held")?;
    let queued: u64 = view.paths.iter().map(|p| p.queued).sum();
    ensure(queued + buffer.unsent == buffer.used, "queued and unsent are not what is held")?;
    let payload: u64 = view.paths.iter().map(|p| p.outstanding_payload).sum();
    ensure(payload <= view.outstanding, "paths have more in flight than the association")?;
    if config.reproduction.chunk_charge == 0 {
        ensure(payload == view.outstanding, "the paths' outstanding is not the association's")?;
    }
    for path in view.paths {
        ensure(
            path.outstanding >= path.duplicate_bytes_in_flight,
            "more copies than chunks are in flight",
        )?;
        let own = path.outstanding - path.duplicate_bytes_in_flight;
        ensure(own >= path.outstanding_payload, "payload exceeds chunk bytes")?;
        ensure(
            (own == 0) == (path.outstanding_payload == 0),
            "chunks in flight without payload, or payload without chunks",
        )?;
        ensure(path.cwnd > 0, "a congestion window is closed")?;
        ensure(path.rto <= config.rto.max, "an RTO exceeds RTO.Max")?;
    }
    ensure(view.path(view.primary).is_some(), "the primary path does not exist")?;
    let (receive, send) = assoc.buffer_sizes();
    let largest = config.receive_buffer.max(config.receive_buffer_max.unwrap_or(0));
    ensure(receive <= largest, "the receive buffer has grown beyond its limit")?;
    let most = config.send_buffer.max(config.send_buffer_max.unwrap_or(0));
    ensure(send <= most, "the send buffer has grown beyond its limit")?;
    // One chunk may overbook the window (RFC 9260 section 6.2), and the memory bound of a receiver
    // that must not renege is twice the buffer and a constant.
    let (held, _) = assoc.receive_buffer();
    let packet =
        config.path_mtu_discovery.map_or(config.path_mtu, |on| on.max.max(config.path_mtu));
    let bound = 2 * u64::from(largest) + (64 << 10) + u64::from(packet);
    ensure(u64::from(held) <= bound, "the receive buffer is overfull")
}
