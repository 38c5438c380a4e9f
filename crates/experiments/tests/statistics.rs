//! Statistics against published tables, data sets and textbook formulas.

use polypath_experiments::stats::{Estimate, fit_line, t_quantile};

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom, as printed since Fisher
/// and Yates (1938).
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

#[test]
fn every_printed_quantile_is_met_to_its_last_digit() {
    for (n, printed) in STUDENT.iter().enumerate() {
        let ours = t_quantile(n + 1);
        assert!((ours - printed).abs() <= 0.00051, "{}: {ours}, printed {printed}", n + 1);
    }
    // And further down the table.
    for (degrees, printed) in [(40, 2.021), (60, 2.000), (120, 1.980), (1000, 1.962)] {
        let ours = t_quantile(degrees);
        assert!((ours - printed).abs() <= 0.00051, "{degrees}: {ours}, printed {printed}");
    }
}

/// NIST StRD, data set Norris: calibration of ozone monitors; (y, x).
const NORRIS: [(f64, f64); 36] = [
    (0.1, 0.2),
    (338.8, 337.4),
    (118.1, 118.2),
    (888.0, 884.6),
    (9.2, 10.1),
    (228.1, 226.5),
    (668.5, 666.3),
    (998.5, 996.3),
    (449.1, 448.6),
    (778.9, 777.0),
    (559.2, 558.2),
    (0.3, 0.4),
    (0.1, 0.6),
    (778.1, 775.5),
    (668.8, 666.9),
    (339.3, 338.0),
    (448.9, 447.5),
    (10.8, 11.6),
    (557.7, 556.0),
    (228.3, 228.1),
    (998.0, 995.8),
    (888.8, 887.6),
    (119.6, 120.2),
    (0.3, 0.3),
    (0.6, 0.3),
    (557.6, 556.8),
    (339.3, 339.1),
    (888.0, 887.2),
    (998.5, 999.0),
    (778.9, 779.0),
    (10.2, 11.1),
    (117.6, 118.3),
    (228.9, 229.2),
    (668.4, 669.1),
    (449.2, 448.9),
    (0.2, 0.5),
];

#[test]
fn a_line_is_fitted_as_nist_certifies() {
    let (ys, xs): (Vec<f64>, Vec<f64>) = NORRIS.into_iter().unzip();
    let ys: Vec<Estimate> = ys.into_iter().map(Estimate::constant).collect();
    let fit = fit_line(&xs, &ys).unwrap();
    assert!((fit.slope.value - 1.00211681802045).abs() < 1e-11, "{}", fit.slope.value);
    assert!((fit.r2.value - 0.999993745883712).abs() < 1e-12, "{}", fit.r2.value);
}

/// Four seeds at five buffers.
const RUNS: [[f64; 4]; 5] = [
    [1.0, 1.3, 0.9, 1.1],
    [2.2, 2.1, 1.8, 2.4],
    [2.9, 3.3, 3.1, 2.7],
    [4.2, 3.8, 4.1, 4.4],
    [5.1, 4.6, 5.3, 4.9],
];

/// The slope is linear in the values, so its interval is that of the slopes fitted to each seed
/// alone.
#[test]
fn the_interval_of_a_slope_is_that_of_the_seeds_own_slopes() {
    let xs = [64.0, 96.0, 128.0, 192.0, 256.0];
    let means = RUNS.map(|runs| Estimate::of_runs(&runs));
    let ours = fit_line(&xs, &means).unwrap().slope.interval();
    let slopes = [0, 1, 2, 3].map(|seed| {
        let ys = RUNS.map(|runs| Estimate::constant(runs[seed]));
        fit_line(&xs, &ys).unwrap().slope.value
    });
    let expected = Estimate::of_runs(&slopes).interval();
    assert!((ours.mean - expected.mean).abs() < 1e-12);
    assert!((ours.half - expected.half).abs() < 1e-12, "{} {}", ours.half, expected.half);
}

/// Cochran, Sampling Techniques, section 2.11: the standard error of a ratio is that of the
/// residuals y - R x, over the mean of x.
#[test]
fn a_ratio_has_cochrans_standard_error() {
    let (y, x) = ([12.0, 15.0, 11.0, 14.0, 13.5], [10.0, 12.0, 9.0, 11.5, 12.5]);
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let ratio = mean(&y) / mean(&x);
    let residuals = y.iter().zip(&x).map(|(y, x)| (y - ratio * x).powi(2)).sum::<f64>();
    let error = (residuals / 4.0 / 5.0).sqrt() / mean(&x);
    let ours = Estimate::of_runs(&y).over(&Estimate::of_runs(&x)).interval();
    assert!((ours.mean - ratio).abs() < 1e-12);
    assert!((ours.half - 2.776 * error).abs() < 1e-3 * error, "{} {}", ours.half, 2.776 * error);
}

/// Under common random numbers the parts move together, and the difference has the interval of the
/// paired t-test.
#[test]
fn a_paired_difference_is_narrower_than_its_parts() {
    let first = [10.0, 20.0, 30.0, 40.0, 50.0];
    let second = [11.0, 21.5, 30.5, 41.0, 52.0];
    let [a, b] = [first, second].map(|runs| Estimate::of_runs(&runs));
    let paired = b.minus(1.0, &a).interval();
    let unpaired = a.interval().half.hypot(b.interval().half);
    // Differences 1, 1.5, 0.5, 1, 2: mean 1.2, standard deviation 0.5701, 2.776 * 0.5701 / sqrt(5).
    assert!((paired.mean - 1.2).abs() < 1e-12 && (paired.half - 0.7078).abs() < 5e-4, "{paired:?}");
    assert!(paired.half < unpaired / 30.0 && paired.low() > 0.0);
}
