//! TSNs of 32 bits on a line without end.

/// The first TSN stands here, so that earlier ones have a place, too.
const START: u64 = 1 << 32;

/// Extends TSNs, each to what is nearest to the highest before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extender {
    highest: u64,
}

impl Extender {
    /// TSNs that begin with `initial`.
    pub(crate) const fn new(initial: u32) -> Self {
        Self { highest: START + initial as u64 }
    }

    /// The extended TSN.
    pub(crate) fn extend(&mut self, tsn: u32) -> u64 {
        let ahead = tsn.wrapping_sub(self.highest as u32);
        let extended = if ahead < 1 << 31 {
            self.highest.saturating_add(ahead.into())
        } else {
            self.highest.saturating_sub(ahead.wrapping_neg().into())
        };
        self.highest = self.highest.max(extended);
        extended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tsns_go_on_where_they_wrap_and_come_back() {
        let mut extender = Extender::new(u32::MAX - 1);
        let extended = [u32::MAX - 1, 1, u32::MAX, 0, 3].map(|tsn| extender.extend(tsn));
        let first = extended[0];
        assert_eq!(extended.map(|tsn| tsn - first), [0, 3, 1, 2, 5]);
    }
}
