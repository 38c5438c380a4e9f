//! Paths whose address nobody proved (RFC 9260 section 5.4).

use super::*;

/// Five paths with one heartbeat timer off: two to the address of the first, of which one starts
/// at an address that the peer does not know; one elsewhere; one whose timer runs.
fn silent() -> PathSet {
    let addresses = [(0, 0), (1, 0), (2, 0), (3, 3), (4, 0)];
    let mut paths = paths_between(&addresses, false, &AssocConfig::default());
    for p in 0..5 {
        own(&mut paths, p).heartbeat_at = Time::MAX;
    }
    paths.make_dormant(PathId(2));
    own(&mut paths, 4).heartbeat_at = NOW + SECOND;
    paths
}

#[test]
fn a_packet_from_an_address_that_is_not_probed_any_more_asks_for_a_heartbeat() {
    let mut paths = silent();
    for p in 0..5 {
        paths.note_path_activity(NOW, PathId(p));
    }
    let (now, later) = (NOW, NOW + SECOND);
    assert_eq!(probed_at(&paths), [now, now, Time::MAX, now, later]);
    let mut proven = proven(1);
    own(&mut proven, 0).heartbeat_at = Time::MAX;
    proven.note_path_activity(NOW, PathId(0));
    assert_eq!(probed_at(&proven), [Time::MAX], "heartbeats are off");
}

#[test]
fn a_proof_has_the_other_paths_to_the_same_address_probed() {
    let mut paths = silent();
    assert!(paths.confirm(NOW, PathId(0)));
    let off = Time::MAX;
    assert_eq!(probed_at(&paths), [off, NOW, off, off, NOW + SECOND]);
    assert!(!paths.confirm(NOW, PathId(0)), "it is proven already");
}

#[test]
fn where_no_proven_address_is_left_all_are_probed_again() {
    let mut paths = silent();
    paths.probe_if_stranded(NOW);
    assert_eq!(probed_at(&paths), [NOW, NOW, Time::MAX, NOW, NOW + SECOND]);
    let mut paths = silent();
    view(&mut paths, 0).state = crate::view::PathState::Inactive;
    paths.probe_if_stranded(NOW);
    let off = Time::MAX;
    assert_eq!(probed_at(&paths), [off, off, off, off, NOW + SECOND], "one is proven");
}

#[test]
fn a_removed_path_is_not_probed_where_no_proven_address_is_left() {
    let mut paths = silent();
    paths.remove(NOW, PathId(1));
    paths.probe_if_stranded(NOW);
    assert_eq!(probed_at(&paths)[1], Time::MAX);
}
