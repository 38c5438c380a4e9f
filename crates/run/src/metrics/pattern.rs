//! Names with places in them: `cwnd.path.{path}.mean`, `goodput[.stream.{stream}]`.
//!
//! A place in braces stands for a name or number of the run. What stands in brackets is left out
//! where a run has nothing to put into its place: the goodput of all streams has no stream.

/// The name that `pattern` becomes once `fill` says what to put into each place; `None`: a place
/// outside of brackets has nothing to be filled with.
pub(super) fn fill_pattern(pattern: &str, fill: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let Some((before, optional, after)) = split_at_brackets(pattern) else {
        return fill_places(pattern, fill);
    };
    let before = fill_places(before, fill)?;
    let optional = fill_places(optional, fill).unwrap_or_default();
    Some(before + &optional + &fill_places(after, fill)?)
}

fn fill_places(pattern: &str, fill: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut name = String::new();
    let mut rest = pattern;
    while let Some((literal, place, tail)) = split_at_place(rest) {
        name.push_str(literal);
        name.push_str(&fill(place)?);
        rest = tail;
    }
    name.push_str(rest);
    Some(name)
}

/// Whether `name` is one that `pattern` becomes with something in each of its places.
pub(super) fn matches_pattern(pattern: &str, name: &str) -> bool {
    match split_at_brackets(pattern) {
        None => matches_places(pattern, name),
        Some((before, optional, after)) => {
            matches_places(&format!("{before}{after}"), name)
                || matches_places(&format!("{before}{optional}{after}"), name)
        }
    }
}

/// A place takes one character or more; names of links have dots in them.
fn matches_places(pattern: &str, name: &str) -> bool {
    let Some((literal, _, tail)) = split_at_place(pattern) else { return pattern == name };
    let Some(rest) = name.strip_prefix(literal) else { return false };
    rest.char_indices()
        .map(|(at, c)| at + c.len_utf8())
        .any(|end| rest.get(end..).is_some_and(|rest| matches_places(tail, rest)))
}

/// What stands before, within and after the brackets.
fn split_at_brackets(pattern: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = pattern.split_once('[')?;
    let (optional, after) = rest.split_once(']')?;
    Some((before, optional, after))
}

/// What stands before, within and after the first braces.
fn split_at_place(pattern: &str) -> Option<(&str, &str, &str)> {
    let (literal, rest) = pattern.split_once('{')?;
    let (place, tail) = rest.split_once('}')?;
    Some((literal, place, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_and_brackets_left_out() {
        let stream = |place: &str| (place == "stream").then(|| "7".to_owned());
        let nothing = |_: &str| None;
        let pattern = "delay[.stream.{stream}].p50";
        assert_eq!(fill_pattern(pattern, &stream).as_deref(), Some("delay.stream.7.p50"));
        assert_eq!(fill_pattern(pattern, &nothing).as_deref(), Some("delay.p50"));
        assert_eq!(fill_pattern("cwnd.path.{path}.mean", &stream), None);
        assert_eq!(fill_pattern("finished", &nothing).as_deref(), Some("finished"));
    }

    #[test]
    fn names_are_told_by_their_pattern() {
        assert!(matches_pattern("delay[.stream.{stream}].p50", "delay.p50"));
        assert!(matches_pattern("delay[.stream.{stream}].p50", "delay.stream.12.p50"));
        assert!(!matches_pattern("delay[.stream.{stream}].p50", "delay.stream..p50x"));
        assert!(matches_pattern("link.{link}.rate", "link.A.forward.rate"));
        assert!(!matches_pattern("link.{link}.rate", "link.rate"));
        assert!(!matches_pattern("timeouts", "timeouts.path.A"));
    }
}
