//! The DATA chunks that fit every path (RFC 9260 section 6.9).

use super::*;
use crate::config::PathMtuDiscovery;

/// Paths of these MTUs; `searches`: they are searched for.
fn of_mtus(mtus: &[u32], confirmed: bool, searches: bool) -> PathSet {
    let path_mtu_discovery = searches.then(PathMtuDiscovery::default);
    let config = AssocConfig { path_mtu_discovery, ..AssocConfig::default() };
    let addresses: Vec<_> = (0..).zip(mtus).map(|(i, _)| (i, i)).collect();
    let mut paths = paths_between(&addresses, confirmed, &config);
    for (p, mtu) in (0..).zip(mtus) {
        paths.set_mtu(PathId(p), *mtu);
    }
    paths
}

/// An IPv4 header and the common header.
const HEADERS: u32 = 32;

#[test]
fn a_chunk_fits_the_smallest_path_that_is_there() {
    let mut paths = of_mtus(&[1500, 1400, 1300, 9000], true, false);
    assert_eq!(paths.amdcs(), 1300 - HEADERS);
    paths.reserved = 40;
    assert_eq!(paths.amdcs(), 1300 - HEADERS - 40, "AUTH has its place");
    paths.reserved = 0;
    paths.remove(NOW, PathId(2));
    assert_eq!(paths.amdcs(), 1400 - HEADERS);
    assert_eq!(of_mtus(&[], true, false).amdcs(), 512);
}

#[test]
fn a_path_that_waits_for_its_proof_counts_unless_sizes_are_searched_for() {
    let mut fixed = of_mtus(&[1500, 1300], false, false);
    fixed.confirm(NOW, PathId(0));
    assert_eq!(fixed.amdcs(), 1300 - HEADERS);
    let mut searched = of_mtus(&[1500, 1300], false, true);
    assert_eq!(searched.amdcs(), 1500 - HEADERS, "the first, as long as none is proven");
    searched.remove(NOW, PathId(0));
    assert_eq!(searched.amdcs(), 1300 - HEADERS, "the first that is there");
    let mut searched = of_mtus(&[1500, 1300], false, true);
    searched.confirm(NOW, PathId(0));
    assert_eq!(searched.amdcs(), 1500 - HEADERS);
    searched.confirm(NOW, PathId(1));
    assert_eq!(searched.amdcs(), 1300 - HEADERS);
}

#[test]
fn a_size_that_is_known_is_no_news() {
    let mut paths = of_mtus(&[1500], true, false);
    assert!(!paths.set_mtu(PathId(0), 1500));
    assert!(paths.set_mtu(PathId(0), 1400));
    assert!(!paths.set_mtu(PathId(1), 1400), "there is no such path");
}
