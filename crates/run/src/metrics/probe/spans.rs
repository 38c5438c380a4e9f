//! Spans of time.

use polypath_link::Nanos;

/// From, to.
pub(super) type Span = (Nanos, Nanos);

/// The same time without overlaps, in order.
pub(super) fn merge_spans(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Their length in ns.
pub(super) fn total_length(spans: &[Span]) -> Nanos {
    spans.iter().map(|(from, to)| to.saturating_sub(*from)).sum()
}

/// What both have in common, in order; both without overlaps and in order.
pub(super) fn intersect_spans(a: &[Span], b: &[Span]) -> Vec<Span> {
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    let mut common = Vec::new();
    while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
        let (from, to) = (one.0.max(two.0), one.1.min(two.1));
        if from < to {
            common.push((from, to));
        }
        if one.1 <= two.1 {
            left.next();
        } else {
            right.next();
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_joined_and_cut() {
        let joined = merge_spans(vec![(5, 9), (1, 3), (2, 4), (9, 10)]);
        assert_eq!(joined, [(1, 4), (5, 10)]);
        assert_eq!(total_length(&joined), 8);
        assert_eq!(
            intersect_spans(&joined, &[(0, 2), (3, 6), (8, 20)]),
            [(1, 2), (3, 4), (5, 6), (8, 10)]
        );
        assert_eq!(intersect_spans(&joined, &[]), []);
    }
}
