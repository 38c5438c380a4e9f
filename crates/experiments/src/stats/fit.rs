//! Least squares.

use super::Estimate;

/// A straight line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Rise per unit of x.
    pub slope: Estimate,
    /// Coefficient of determination: the share of the variance that the line explains.
    pub r2: Estimate,
}

/// Fits a line to values over `xs`. `None`: fewer than three points, or all at one x.
pub fn fit_line(xs: &[f64], ys: &[Estimate]) -> Option<Fit> {
    let n = xs.len().min(ys.len());
    let (xs, ys) = (xs.get(..n)?, ys.get(..n)?);
    let mean = xs.iter().sum::<f64>() / n as f64;
    let sxx: f64 = xs.iter().map(|x| (x - mean).powi(2)).sum();
    if n < 3 || sxx <= 0.0 {
        return None;
    }
    // The slope is linear in the values, so its error follows exactly.
    let weights = xs.iter().map(|x| (x - mean) / sxx);
    let slope: f64 = weights.clone().zip(ys).map(|(weight, y)| weight * y.value).sum();
    let values: Vec<f64> = ys.iter().map(|y| y.value).collect();
    let gradient = r2_gradient(xs, &values, mean, sxx, slope);
    let r2 = Estimate::derived_from(r2(xs, &values, mean, sxx), gradient.into_iter().zip(ys));
    Some(Fit { slope: Estimate::derived_from(slope, weights.zip(ys)), r2 })
}

/// 1 where there is no variance to explain.
fn r2(xs: &[f64], ys: &[f64], mean: f64, sxx: f64) -> f64 {
    let level = ys.iter().sum::<f64>() / ys.len() as f64;
    let syy: f64 = ys.iter().map(|y| (y - level).powi(2)).sum();
    let sxy: f64 = xs.iter().zip(ys).map(|(x, y)| (x - mean) * (y - level)).sum();
    if syy > 0.0 { sxy * sxy / (sxx * syy) } else { 1.0 }
}

/// Derivatives of R2 = Sxy^2 / (Sxx Syy) by each value.
fn r2_gradient(xs: &[f64], ys: &[f64], mean: f64, sxx: f64, slope: f64) -> Vec<f64> {
    let level = ys.iter().sum::<f64>() / ys.len() as f64;
    let syy: f64 = ys.iter().map(|y| (y - level).powi(2)).sum();
    let r2 = r2(xs, ys, mean, sxx);
    let by = |(x, y): (&f64, &f64)| {
        if syy > 0.0 { 2.0 * (slope * (x - mean) - r2 * (y - level)) / syy } else { 0.0 }
    };
    xs.iter().zip(ys).map(by).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Anscombe (1973), first data set: slope 0.500, R2 0.667.
    #[test]
    fn anscombes_first_set_is_fitted_as_published() {
        let xs = [10.0, 8.0, 13.0, 9.0, 11.0, 14.0, 6.0, 4.0, 12.0, 7.0, 5.0];
        let ys = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
        let fit = fit_line(&xs, &ys.map(Estimate::constant)).unwrap();
        assert!((fit.slope.value - 0.5001).abs() < 1e-4, "{:?}", fit.slope);
        assert!((fit.r2.value - 0.6665).abs() < 1e-4, "{:?}", fit.r2);
    }

    #[test]
    fn the_gradient_agrees_with_small_steps() {
        let xs = [1.0, 2.0, 4.0, 7.0];
        let ys = [1.0, 3.0, 3.5, 9.0];
        let (mean, sxx) = (3.5, 21.0);
        let slope = fit_line(&xs, &ys.map(Estimate::constant)).unwrap().slope.value;
        let gradient = r2_gradient(&xs, &ys, mean, sxx, slope);
        for (k, ours) in gradient.into_iter().enumerate() {
            let mut moved = ys;
            moved[k] += 1e-6;
            let step = (r2(&xs, &moved, mean, sxx) - r2(&xs, &ys, mean, sxx)) / 1e-6;
            assert!((ours - step).abs() < 1e-5, "{k}: {ours} {step}");
        }
    }

    #[test]
    fn two_points_or_one_x_make_no_line() {
        let ys = [1.0, 2.0, 3.0].map(Estimate::constant);
        assert!(fit_line(&[1.0, 2.0], &ys[..2]).is_none());
        assert!(fit_line(&[1.0; 3], &ys).is_none());
    }
}
