//! The known name that a wrong one was probably meant to be.

/// From here on two names are taken for alike (Jaro and Winkler's measure, 1: the same).
const ALIKE: f64 = 0.8;

/// `"; did you mean rr?"`, or nothing where no known name is like the given one.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(given, name), name))
        .filter(|(likeness, _)| *likeness > ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    near.map_or(String::new(), |(_, name)| format!("; did you mean {name}?"))
}

#[cfg(test)]
mod tests {
    use super::did_you_mean;

    #[test]
    fn the_nearest_name_is_meant_if_one_is_near() {
        let known = || ["rr", "min-rtt", "cmt-out", "blest"];
        assert_eq!(did_you_mean("min-rrt", known()), "; did you mean min-rtt?");
        assert_eq!(did_you_mean("cmtout", known()), "; did you mean cmt-out?");
        assert_eq!(did_you_mean("fastest", known()), "");
        assert_eq!(did_you_mean("", []), "");
    }
}
