//! Medians.

/// The middle one, or the mean of the two there.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    let at = |i: usize| values.get(i).copied().unwrap_or(f64::NAN);
    f64::midpoint(at(low), at(high))
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(
            [median(vec![3.0, 1.0, 2.0]), median(vec![4.0, 1.0]), median(vec![5.0])],
            [2.0, 2.5, 5.0]
        );
    }
}
