//! All tests of the association without I/O in one program: it links once, and its tests run
//! beside each other.

mod asconf;
mod asconf_received;
mod auth;
mod collision;
mod cookies;
mod crossing_nat;
mod data_rules;
mod giving_up;
mod handshake;
mod idle;
mod interleaving;
mod limits;
mod many;
mod minimal_init;
mod ns2;
mod partial_reliability;
mod parts;
mod path_mtu;
mod path_rules;
mod rate_based;
mod reconfig;
mod reconfig_association;
mod reconfig_hostile;
mod reconfig_implied;
mod reconfig_wrap;
mod recovery;
mod restart_in_shutdown;
mod runs_of_tsns;
mod set_up_rules;
mod several_ports;
mod shutdown;
mod shutdown_rules;
mod small_messages;
mod strangers;
mod tuning;
mod vanish;
mod wrap;
mod zero_checksum;

/// A file that is not named above would be no test at all.
#[test]
fn every_file_is_part_of_this_program() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let text = include_str!("all.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_test = path.extension().is_some_and(|extension| extension == "rs");
        assert!(!is_test || name == "all" || text.contains(&format!("mod {name};")), "{name}");
    }
}
