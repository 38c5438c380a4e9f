//! Whether the peer has our key: it drops what it cannot verify in silence (RFC 4895 section 6.3),
//! so all that tells is data that it never acknowledges, while it answers heartbeats.

/// So often data must be given up after a heartbeat was answered: the first time it may have been
/// lost before.
const GIVEN_UP: u8 = 2;

/// What is known of the key that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeyWatch {
    /// Nothing was acknowledged yet.
    #[default]
    Untried,
    /// Data was given up: timeouts, or silence.
    Lost,
    /// A heartbeat was answered after that, and data given up so often since.
    Answered(u8),
    /// It seems that the peer has another.
    Doubted,
    /// Data was acknowledged.
    Proven,
}

impl KeyWatch {
    /// Data was given up on any path. True when that raises the doubt.
    pub(crate) const fn data_given_up(&mut self) -> bool {
        *self = match *self {
            Self::Untried => Self::Lost,
            Self::Answered(times) if times + 1 >= GIVEN_UP => Self::Doubted,
            Self::Answered(times) => Self::Answered(times + 1),
            Self::Lost | Self::Doubted | Self::Proven => return false,
        };
        matches!(self, Self::Doubted)
    }

    /// A heartbeat came back on any path.
    pub(crate) const fn heartbeat_answered(&mut self) {
        if matches!(self, Self::Lost) {
            *self = Self::Answered(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter each: h(eartbeat answered), x: data given up. Gives how often doubt arose.
    fn doubts(history: &str) -> usize {
        let mut watch = KeyWatch::default();
        let step = |letter| match letter {
            'h' => {
                watch.heartbeat_answered();
                false
            }
            _ => watch.data_given_up(),
        };
        history.chars().map(step).filter(|doubted| *doubted).count()
    }

    #[test]
    fn data_must_be_given_up_before_and_after_a_heartbeat_was_answered() {
        assert_eq!(doubts("xhxhx"), 1);
        assert_eq!(doubts("xxxxxxhxx"), 1);
        assert_eq!(doubts("xhxxxhxx"), 1, "told once");
        assert_eq!(doubts("hhhxx"), 0, "the way may have been cut after that");
        assert_eq!(doubts("xxxxxxxxx"), 0, "a peer that is gone");
        assert_eq!(doubts("xxxhx"), 0, "a path that came back too late for what was sent on it");
    }

    #[test]
    fn a_key_that_was_proven_is_not_doubted() {
        let mut watch = KeyWatch::Proven;
        for _ in 0..10 {
            assert!(!watch.data_given_up());
            watch.heartbeat_answered();
        }
        assert_eq!(watch, KeyWatch::Proven);
    }
}
