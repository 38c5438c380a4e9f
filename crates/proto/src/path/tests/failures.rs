//! Error counters and their ends (RFC 9260 section 8, RFC 7829).

use super::*;

#[test]
fn timeouts_are_counted_in_a_row_even_while_none_is_an_error() {
    let (mut paths, config) = (proven(1), AssocConfig::default());
    for _ in 0..3 {
        assert_eq!(paths.timeout(NOW, PathId(0), false, &config), None);
    }
    let errors = view(&mut paths, 0).errors;
    assert_eq!((errors, own(&mut paths, 0).timeouts_in_a_row), (0, 3));
    paths.alive(PathId(0));
    assert_eq!(own(&mut paths, 0).timeouts_in_a_row, 0);
}

#[test]
fn a_path_that_fell_silent_carries_no_data_until_it_answers() {
    let mut paths = proven(2);
    paths.suspect(PathId(0));
    paths.suspect(PathId(0));
    assert_eq!((view(&mut paths, 0).usable, view(&mut paths, 1).usable), (false, true));
    assert_eq!(own(&mut paths, 0).stats.path_silences, 2);
    assert_eq!(paths.alive(PathId(0)), None, "its state was not changed");
    assert_eq!((view(&mut paths, 0).usable, view(&mut paths, 1).usable), (true, true));
}
