//! Error counters and their ends (RFC 9260 section 8, RFC 7829).

use super::*;
use crate::config::PfConfig;
use crate::view::PathState;

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
    paths.suspect(NOW, PathId(0));
    paths.suspect(NOW, PathId(0));
    assert_eq!((view(&mut paths, 0).usable, view(&mut paths, 1).usable), (false, true));
    assert_eq!(own(&mut paths, 0).stats.path_silences, 2);
    assert_eq!(paths.alive(PathId(0)), None, "its state was not changed");
    assert_eq!((view(&mut paths, 0).usable, view(&mut paths, 1).usable), (true, true));
}

#[test]
fn what_the_first_sack_tells_of_a_path_that_failed_is_of_the_past() {
    let config =
        AssocConfig { potentially_failed: Some(PfConfig::default()), ..AssocConfig::default() };
    let past = |paths: &PathSet| paths.tells_of_the_past(PathId(0));
    let mut paths = proven(2);
    paths.sack_heard(NOW - SECOND);
    assert!(!past(&paths), "it works");
    paths.timeout(NOW, PathId(0), true, &config);
    assert!(past(&paths) && !paths.tells_of_the_past(PathId(1)));
    // What is new after another SACK arrived late.
    paths.sack_heard(NOW);
    assert!(!past(&paths));
    assert_eq!(paths.alive(PathId(0)), Some(PathState::Active));
    // The same of one that fell silent.
    paths.suspect(NOW + SECOND, PathId(0));
    assert!(past(&paths));
}
