//! Both worlds, briefly. They need root; without it they say that they are skipped, and fail where
//! POLYPATH_REQUIRE_ROOT=1 says that they must not be.

use polypath_emu::for_tests::skip;
use polypath_scenario::Source;
use polypath_testbed::{
    Comparison, Options, TestbedError, compare_worlds, format_comparison, format_markdown,
};

const PATHS: &str = "[path.A]\nrate = '8Mbit/s'\ndelay = '5ms'\nqueue = '60kB'\n\
                     [path.B]\nrate = '8Mbit/s'\ndelay = '5ms'\nqueue = '60kB'\n\
                     [endpoints]\nencapsulation = 'udp'\n[stack]\nprofile = 'fast'\n";

fn run(rest: &str) -> Option<Comparison> {
    let source = Source::new("test", format!("{PATHS}{rest}")).unwrap();
    let options = Options { first_seed: 1, runs: 1, check: false };
    match compare_worlds(&source.parse_scenario().unwrap(), options, &mut |_| ()) {
        Ok(comparison) => Some(comparison),
        Err(error) if error.is_missing_requirement() => {
            skip(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_saturated_flow_runs_in_both_worlds_over_both_paths() {
    let flow =
        "[[flow]]\napp = 'saturated'\nmessage = '1444B'\n[time]\nsettle = '1s'\nmeasure = '1s'\n";
    let Some(comparison) = run(flow) else { return };
    let [flow] = &comparison.flows[..] else { panic!("{comparison:?}") };
    // More than either path could carry alone; how exactly the worlds agree is for docs/evidence/worlds.md
    // on a quiet machine.
    assert!(flow.goodput.simulated > 8.5e6 && flow.goodput.emulated > 8.5e6, "{flow:?}");
    assert!(flow.delay_mean.is_some_and(|delay| delay.emulated > 0.005), "{flow:?}");
    assert!(!comparison.lossy);
    assert!(format_comparison(&comparison).contains("goodput"));
    assert!(format_markdown(&[("test".into(), comparison)]).contains("| test: test | saturated |"));
}

#[test]
fn files_and_constant_rates_do_too_each_with_its_own_association() {
    let flows = "[[flow]]\napp = 'file'\nsize = '200kB'\nmessage = '1444B'\n\
                 [[flow]]\napp = 'cbr'\nrate = '1Mbit/s'\nmessage = '500B'\n\
                 [time]\nmeasure = '2s'\n";
    let Some(comparison) = run(flows) else { return };
    let [file, paced] = &comparison.flows[..] else { panic!("{comparison:?}") };
    assert!(file.goodput.emulated > 1e6, "{file:?}");
    assert!((paced.goodput.emulated / 1e6 - 1.0).abs() < 0.1, "{paced:?}");
}

#[test]
fn what_only_the_simulator_does_is_refused_by_name() {
    let flow =
        "[[flow]]\napp = 'request'\nmessage = '100B'\nresponse = '100B'\n[time]\nmeasure = '1s'\n";
    let source = Source::new("test", format!("{PATHS}{flow}")).unwrap();
    let options = Options { first_seed: 1, runs: 1, check: false };
    let error =
        compare_worlds(&source.parse_scenario().unwrap(), options, &mut |_| ()).unwrap_err();
    assert!(matches!(error, TestbedError::Unsupported { .. }), "{error}");
    assert!(error.is_bad_input());
    assert_eq!(error.to_string(), "flow request: app = \"request\" (only the simulator does that)");
}
