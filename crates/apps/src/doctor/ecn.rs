//! What becomes of the ECN field on the way.

use super::echo::{Echo, Question};
use super::report::{Ecn, Marks, Passage};
use crate::mirror::probe::Ecn as Field;

/// Each value in each direction, to and from the mirror's first socket.
pub(super) const fn questions() -> [Question; 4] {
    [
        Question { socket: 0, ecn: Field::Ect0, want: Field::None },
        Question { socket: 0, ecn: Field::Ce, want: Field::None },
        Question { socket: 0, ecn: Field::None, want: Field::Ect0 },
        Question { socket: 0, ecn: Field::None, want: Field::Ce },
    ]
}

/// What the answers to [`questions`] say, where probes without ECN were answered.
pub(super) fn judge(echoes: [Option<Echo>; 4]) -> Ecn {
    let [ect0_there, ce_there, ect0_back, ce_back] = echoes;
    let there = |echo: Option<Echo>| echo.map(|echo| echo.answer.ecn);
    let back = |echo: Option<Echo>| echo.map(|echo| echo.ecn);
    Ecn {
        there: Marks {
            ect0: compare(Field::Ect0, there(ect0_there)),
            ce: compare(Field::Ce, there(ce_there)),
        },
        back: Marks {
            ect0: compare(Field::Ect0, back(ect0_back)),
            ce: compare(Field::Ce, back(ce_back)),
        },
    }
}

fn compare(sent: Field, arrived: Option<Field>) -> Passage {
    match arrived {
        None => Passage::Lost,
        Some(arrived) if arrived == sent => Passage::Kept,
        Some(Field::None) => Passage::Cleared,
        Some(Field::Ce) if sent == Field::Ect0 => Passage::Marked,
        Some(_) => Passage::Changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::probe::Answer;

    fn echo(there: Field, back: Field) -> Option<Echo> {
        let from = "192.0.2.1:1".parse().unwrap();
        let answer = Answer { nonce: [0; 8], cookie: [0; 16], ecn: there, from };
        Some(Echo { answer, ecn: back })
    }

    #[test]
    fn what_is_cleared_changed_or_lost_is_told_apart() {
        let echoes = [
            echo(Field::None, Field::None),
            None,
            echo(Field::None, Field::Ect0),
            echo(Field::None, Field::Ect1),
        ];
        let found = judge(echoes);
        assert_eq!(found.there, Marks { ect0: Passage::Cleared, ce: Passage::Lost });
        assert_eq!(found.back, Marks { ect0: Passage::Kept, ce: Passage::Changed });
    }

    /// RFC 3168 section 5: that is what a router in congestion does.
    #[test]
    fn ect_that_becomes_ce_is_a_mark() {
        assert_eq!(compare(Field::Ect0, Some(Field::Ce)), Passage::Marked);
        assert_eq!(compare(Field::Ce, Some(Field::Ect0)), Passage::Changed);
        assert_eq!(compare(Field::Ect0, Some(Field::Ect1)), Passage::Changed);
    }
}
