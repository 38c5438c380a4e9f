//! Quantities as small numbers.

/// Steps per unit. Multiples of 2^-20 up to 10 are exact as f32, and sums of 256 of them are exact
/// as f64: means over paths do not depend on the order of the paths.
const STEPS: f64 = 1_048_576.0;

/// The greatest figure.
pub(super) const MOST: f64 = 10.0;

/// `value` between 0 and `most`, to the nearest multiple of 2^-20; 0 for what is no number.
pub(super) fn figure(value: f64, most: f64) -> f32 {
    let value = if value.is_nan() { 0.0 } else { value.clamp(0.0, most) };
    (libm::round(value * STEPS) / STEPS) as f32
}

/// 1 or 0.
pub(super) const fn flag(is: bool) -> f32 {
    if is { 1.0 } else { 0.0 }
}

/// log2(1 + value) / octaves, between 0 and 2.
pub(super) fn log_figure(value: f64, octaves: f64) -> f32 {
    figure(libm::log2(1.0 + value.max(0.0)) / octaves, 2.0)
}

/// `part / whole` between 0 and `most`; 0 of nothing.
pub(super) fn ratio(part: f64, whole: f64, most: f64) -> f32 {
    if whole > 0.0 { figure(part / whole, most) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_a_finite_figure() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 0.3, 1e300] {
            for figure in [figure(value, 1.0), log_figure(value, 10.0), ratio(value, 1.0, MOST)] {
                assert!((0.0..=10.0).contains(&figure), "{value}: {figure}");
            }
        }
        assert_eq!(figure(0.3, 1.0), 314_573.0 / 1_048_576.0);
        assert_eq!([ratio(1.0, 0.0, 1.0), ratio(1.0, 4.0, 1.0)], [0.0, 0.25]);
        assert_eq!(log_figure(1023.0, 10.0), 1.0);
    }
}
