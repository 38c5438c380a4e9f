//! Which paths carry data, and what becomes of those that do not.

use super::*;
use crate::path::Learned;
use crate::view::{PathAdmin, PathState};

fn usable(paths: &PathSet) -> Vec<bool> {
    paths.iter().map(|(view, _)| view.usable).collect()
}

#[test]
fn a_backup_carries_data_only_while_no_other_path_does() {
    let mut paths = proven(3);
    view(&mut paths, 2).admin = PathAdmin::Backup;
    paths.refresh_usable();
    assert_eq!(usable(&paths), [true, true, false]);
    for p in 0..2 {
        view(&mut paths, p).admin = PathAdmin::Disabled;
    }
    paths.refresh_usable();
    assert_eq!(usable(&paths), [false, false, true]);
}

#[test]
fn a_path_that_blocked_a_buffer_takes_no_new_data_until_its_time_has_come() {
    let mut paths = proven(1);
    let path = own(&mut paths, 0);
    assert!(!path.is_held_back(NOW), "none did");
    path.held_back_until = NOW + SECOND;
    assert!(path.is_held_back(NOW) && !path.is_held_back(NOW + SECOND));
    assert!(!path.is_held_back(NOW + 2 * SECOND));
}

#[test]
fn a_path_is_found_by_its_addresses_whatever_the_port_unless_it_was_removed() {
    let mut paths = proven(2);
    let mut port = tuple(1, 1);
    port.remote.set_port(9899);
    assert_eq!(paths.by_addresses(port), Some(PathId(1)));
    assert_eq!((paths.by_addresses(tuple(0, 1)), paths.by_addresses(tuple(1, 0))), (None, None));
    paths.remove(NOW, PathId(1));
    assert_eq!(paths.by_addresses(port), None);
}

#[test]
fn a_proven_path_takes_over_and_a_dormant_one_comes_last() {
    let addresses = [(0, 0), (1, 1), (2, 2), (3, 3)];
    let mut paths = paths_between(&addresses, false, &AssocConfig::default());
    paths.make_dormant(PathId(1));
    assert_eq!(paths.heir(PathId(0)), Some(PathId(2)), "the peer knows where it starts");
    view(&mut paths, 3).state = PathState::Inactive;
    assert_eq!(paths.heir(PathId(0)), Some(PathId(3)), "its address is proven");
    assert_eq!(paths.heir(PathId(3)), Some(PathId(0)));
    let heirs: Vec<_> = (0..4).map(|p| paths.is_confirmed(PathId(p))).collect();
    assert_eq!(heirs, [false, false, false, true]);
    (0..4).filter(|p| *p != 1).for_each(|p| paths.remove(NOW, PathId(p)));
    assert_eq!(paths.heir(PathId(0)), Some(PathId(1)), "better than none");
}

#[test]
fn the_number_that_was_free_for_longest_is_used_again() {
    let config = AssocConfig::default();
    let mut paths = proven(crate::config::MAX_PATHS as u8);
    let new = tuple(200, 200);
    assert_eq!(paths.add(NOW, new, true, &config), None, "all are in use");
    for (p, at) in [(5, 2), (3, 1), (4, 3)] {
        paths.remove(NOW + at * SECOND, PathId(p));
    }
    assert_eq!(paths.add(NOW, new, true, &config), Some(PathId(3)));
    assert_eq!(paths.by_tuple(&new), Some(PathId(3)));
}

#[test]
fn a_path_that_only_a_tag_speaks_for_is_tentative() {
    let mut paths = proven(2);
    for (p, tentative) in [(0, true), (1, false)] {
        own(&mut paths, p).learned = Some(Box::new(Learned { since: NOW, tentative }));
    }
    assert!(paths.is_tentative(PathId(0)) && !paths.is_tentative(PathId(1)));
}
