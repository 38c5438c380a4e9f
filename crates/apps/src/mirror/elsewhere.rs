//! Probes with the right token that came from another address than the client's association:
//! nothing is sent there, for who says that it is his address may lie. But the client is told.

use std::net::SocketAddr;

use tokio::sync::mpsc;

use super::words::Words;

/// Addresses of which the client of one mirror is told, at most.
pub(super) const TOLD: usize = 8;

/// What the client was told.
#[derive(Debug)]
pub(super) struct Elsewhere {
    told: Vec<(u8, SocketAddr)>,
    tell: mpsc::Sender<Words>,
}

impl Elsewhere {
    /// Nothing yet; `tell` takes it to the client.
    pub(super) const fn new(tell: mpsc::Sender<Words>) -> Self {
        Self { told: Vec::new(), tell }
    }

    /// A probe with this nonce came to `socket` from `source`. Each pair of them is told once.
    pub(super) fn note(&mut self, socket: u8, nonce: [u8; 8], source: SocketAddr) {
        let pair = (socket, source);
        if self.told.len() < TOLD && !self.told.contains(&pair) {
            self.told.push(pair);
            // A client that reads nothing is told nothing.
            let _ = self.tell.try_send(Words::Elsewhere { socket, nonce, source });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_not_without_end() {
        let (tell, mut told) = mpsc::channel(2 * TOLD);
        let mut elsewhere = Elsewhere::new(tell);
        for _ in 0..3 {
            for port in 1..100 {
                elsewhere.note(1, [2; 8], ([192, 0, 2, 1], port).into());
            }
        }
        let first =
            Words::Elsewhere { socket: 1, nonce: [2; 8], source: "192.0.2.1:1".parse().unwrap() };
        assert_eq!((told.len(), told.try_recv()), (TOLD, Ok(first)));
    }
}
