//! Which transmission of a chunk it was that came.

use std::collections::BTreeMap;

use crate::chunks::{Arrival, Chunk, Chunks, Transmission};

/// The sender's number of each path of the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathNames(BTreeMap<u8, u8>);

impl PathNames {
    /// What was sent once and came once tells: no address does where a NAT is between. Each path of
    /// the receiver is the one that most such chunks took.
    pub(crate) fn of(chunks: &Chunks) -> Self {
        let mut votes: BTreeMap<u8, BTreeMap<u8, u64>> = BTreeMap::new();
        for (sent, came) in chunks.0.iter().filter_map(unambiguous) {
            *votes.entry(came.path).or_default().entry(sent.path).or_default() += 1;
        }
        let most = |votes: BTreeMap<u8, u64>| votes.into_iter().max_by_key(|(_, votes)| *votes);
        let named = votes.into_iter().filter_map(|(came, votes)| Some((came, most(votes)?.0)));
        Self(named.collect())
    }

    /// The sender's number.
    pub(crate) fn name(&self, came: u8) -> u8 {
        self.0.get(&came).copied().unwrap_or(came)
    }
}

/// A transmission and an arrival that belong together whatever the clocks say.
pub(crate) fn unambiguous(chunk: &Chunk) -> Option<(&Transmission, &Arrival)> {
    match (&chunk.transmissions[..], &chunk.arrivals[..]) {
        ([sent], [came]) => Some((sent, came)),
        _ => None,
    }
}

/// The least delay of each of the sender's paths, receiver's clock less sender's, ns.
pub(crate) fn least_delays(chunks: &Chunks) -> BTreeMap<u8, i128> {
    let mut least = BTreeMap::new();
    for (sent, came) in chunks.0.iter().filter_map(unambiguous) {
        let delay = i128::from(came.at) - i128::from(sent.sent);
        let known = least.entry(sent.path).or_insert(delay);
        *known = delay.min(*known);
    }
    least
}

/// Gives arrivals to transmissions. From the last to the first, each arrival is the latest
/// transmission on its path that could be here: one path does not bring an earlier one later, most
/// of the time.
pub(crate) fn match_arrivals(chunks: &mut Chunks, names: &PathNames) {
    let least = least_delays(chunks);
    for chunk in &mut chunks.0 {
        for came in chunk.arrivals.iter().rev() {
            let path = names.name(came.path);
            let could = |one: &Transmission| {
                let delay = i128::from(came.at) - i128::from(one.sent);
                one.arrival.is_none() && delay >= least.get(&one.path).copied().unwrap_or(0)
            };
            let on_path = |one: &Transmission| one.path == path && could(one);
            let all = &mut chunk.transmissions;
            let at = all.iter().rposition(on_path).or_else(|| all.iter().rposition(could));
            if let Some(one) = at.and_then(|at| all.get_mut(at)) {
                (one.arrival, one.size) = (Some(*came), came.size);
            }
        }
    }
}
