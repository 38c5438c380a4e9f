//! What the stack's results are known by, as opposed to its sources.
//!
//! The folder `fingerprints` keeps a hash of each of a profile's quick runs, and tests compare them
//! with what the program finds out. A change that leaves all results as they were leaves these
//! hashes, so a page that names them is current however the sources changed; it is stale once they
//! differ.

use polypath_policies::profile::Profile;

/// Eight hexadecimal digits that stand for the results of a profile's quick runs.
pub const fn profile_fingerprint(profile: Profile) -> &'static str {
    match profile {
        Profile::Ns2 => env!("POLYPATH_RESULTS_NS2"),
        Profile::Fast => env!("POLYPATH_RESULTS_FAST"),
        _ => env!("POLYPATH_RESULTS_PAPER"),
    }
}

/// The version, the fingerprints of all profiles, and the version by sources: what `polypath
/// --version` prints behind its name.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\nresults: paper ",
    env!("POLYPATH_RESULTS_PAPER"),
    ", ns2 ",
    env!("POLYPATH_RESULTS_NS2"),
    ", fast ",
    env!("POLYPATH_RESULTS_FAST"),
    "\nsources: ",
    env!("POLYPATH_STACK"),
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_profile_has_its_own() {
        let all = Profile::ALL.map(profile_fingerprint);
        assert!(all.iter().all(|one| one.len() == 8), "{all:?}");
        assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2], "{all:?}");
        for profile in Profile::ALL {
            let line = format!("{profile} {}", profile_fingerprint(profile));
            assert!(VERSION.contains(&line), "{line}: {VERSION}");
        }
    }
}
