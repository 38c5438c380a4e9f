//! Associations that are set up with TLS 1.3, new ephemeral keys each time.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Result, ensure};
use polypath_proto::config::{AssocConfig, EndpointConfig};
use polypath_proto::rng::Rng;
use polypath_proto::time::Time;
use polypath_proto::{Association, Endpoint, FourTuple};
use polypath_secure::{Identity, Tls, Trust};

use super::handshake::Handshakes;
use crate::cpu;

/// Of each, in a round.
const COUNT: u64 = 1000;

/// Microseconds of a set-up, and of a handshake by rustls alone; the least of some rounds.
pub(crate) fn cost(repeat: u32) -> Result<[f64; 2]> {
    let [a, b] = [Identity::generate()?, Identity::generate()?];
    let only = |who: &Identity| Trust::pinned([who.public().fingerprint()]);
    let ends = [Tls::new(&a, only(&b)), Tls::new(&b, only(&a))].map(|tls| {
        Arc::new(AssocConfig { protection: Some(Arc::new(tls)), ..AssocConfig::default() })
    });
    let alone = Handshakes::new(&a, &b)?;
    let mut best = [f64::INFINITY; 2];
    for round in 0..2 * repeat.max(1) {
        let number = |n| u64::from(round) * COUNT + n;
        let (done, setups) =
            cpu::measure_thread(|| (0..COUNT).try_for_each(|n| set_up(&ends, number(n))))?;
        done?;
        let (done, handshakes) =
            cpu::measure_thread(|| (0..COUNT).try_for_each(|_| alone.handshake()))?;
        done?;
        for (best, time) in best.iter_mut().zip([setups, handshakes]) {
            *best = best.min(time / 1000.0 / COUNT as f64);
        }
    }
    Ok(best)
}

/// Two endpoints that meet in memory, until both have keys and are silent.
fn set_up(ends: &[Arc<AssocConfig>; 2], seed: u64) -> Result<()> {
    let now = Time::ZERO;
    let addresses = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 0)));
    let [mut client, mut server] = [0, 1].map(|n| {
        let config = EndpointConfig {
            port: 5001 + n as u16,
            addresses: vec![addresses[n].ip()],
            assoc: Arc::clone(&ends[n]),
            ..EndpointConfig::default()
        };
        Endpoint::new(config, Rng::from_u64(2 * seed + n as u64))
    });
    let path = [FourTuple { local: addresses[0], remote: addresses[1] }];
    client.connect(now, &path, 5002, Arc::clone(&ends[0]))?;
    let mut packet = Vec::with_capacity(2048);
    while pass(&mut client, &mut server, now, &mut packet)
        | pass(&mut server, &mut client, now, &mut packet)
    {
        while client.poll_event().is_some() || server.poll_event().is_some() {}
    }
    for end in [&client, &server] {
        let mut all = end.associations().filter_map(|h| end.association(h));
        ensure!(all.next().is_some_and(Association::is_protected), "no keys were agreed on");
    }
    Ok(())
}

fn pass(from: &mut Endpoint, to: &mut Endpoint, now: Time, packet: &mut Vec<u8>) -> bool {
    let mut any = false;
    loop {
        packet.clear();
        let Some(sent) = from.poll_transmit(now, packet) else { return any };
        let FourTuple { local, remote } = sent.tuple;
        to.handle_datagram(now, FourTuple { local: remote, remote: local }, packet);
        any = true;
    }
}
