//! Path MTU black holes: large packets vanish without an ICMP message, small ones arrive (RFC 8899
//! section 1.1).

/// So many times in a row data must be given up on a path that answers heartbeats in between.
const GIVEN_UP: u32 = 3;

/// What a path's data and heartbeats tell of its MTU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlackHoleDetector {
    /// A heartbeat was answered since data was given up last.
    answered: bool,
    given_up: u32,
}

impl BlackHoleDetector {
    /// A heartbeat came back.
    pub(crate) const fn heartbeat_answered(&mut self) {
        self.answered = true;
    }

    /// Data arrived.
    pub(crate) fn data_arrived(&mut self) {
        *self = Self::default();
    }

    /// Data was given up: a timeout, or silence. True when that is one time too many.
    pub(crate) fn data_given_up(&mut self) -> bool {
        // A path that is down answers nothing at all.
        self.given_up = if self.answered { self.given_up.saturating_add(1) } else { 0 };
        self.answered = false;
        self.given_up == GIVEN_UP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter each: h(eartbeat answered), d(ata arrived), x: data given up. Gives how often a hole was found.
    fn holes(history: &str) -> usize {
        let mut watch = BlackHoleDetector::default();
        let step = |letter| match letter {
            'h' => {
                watch.heartbeat_answered();
                false
            }
            'd' => {
                watch.data_arrived();
                false
            }
            _ => watch.data_given_up(),
        };
        history.chars().map(step).filter(|found| *found).count()
    }

    #[test]
    fn only_a_path_that_answers_while_its_data_vanishes_has_a_hole() {
        assert_eq!(holes("hxhxhx"), 1);
        assert_eq!(holes("hxhxhxhxhx"), 1, "told once");
        assert_eq!(holes("hxhxhxdhxhxhx"), 2, "and again after data arrived");
        assert_eq!(holes("hxxxhxxxh"), 0, "a path that is down");
        assert_eq!(holes("hxhxdhxhxd"), 0, "a lossy one");
    }
}
