//! The same chunk on two paths: redundant sending, and moving what blocks a buffer.

use polypath_run::{Recording, run};
use polypath_scenario::Source;
use polypath_sim::results::FlowResult;

fn simulate(paths: &[(u32, u32, &str)], stack: &str, flow: &str) -> FlowResult {
    let mut text = String::new();
    for (i, (rate, delay, loss)) in paths.iter().enumerate() {
        text.push_str(&format!(
            "[path.P{i}]\nrate = '{rate}Mbit/s'\ndelay = '{delay}ms'\nloss = '{loss}'\n"
        ));
    }
    text.push_str(&format!("[stack]\n{stack}\n[[flow]]\n{flow}\n"));
    text.push_str("[time]\nsettle = '5s'\nmeasure = '30s'");
    let source = Source::new("copies", &text).unwrap();
    let scenario = source.parse_scenario().unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 1, Recording::default(), &mut |_| ()).unwrap().flows.remove(0)
}

fn scheduler(name: &str) -> String {
    let recovery = "rack = true\ntail-probe = true\nf-rto = true";
    format!("profile = 'fast'\npath-scheduler = '{name}'\nrtt-same-path = false\n{recovery}")
}

#[test]
fn redundant_messages_arrive_with_the_first_copy_that_does() {
    let paths = [(10, 20, "3%"), (10, 40, "3%")];
    let flow = "app = 'cbr'\nmessage = '200B'\nrate = '80kbit/s'\nunordered = true";
    let p99 = |name: &str| {
        let flow = simulate(&paths, &scheduler(name), flow);
        assert!(flow.integrity.holds());
        (flow.total.delay.unwrap().p99 as f64 / 1e6, flow.counters.copies)
    };
    let ((alone, _), (copied, copies)) = (p99("min-rtt"), p99("redundant"));
    // One message in 33 needs the slower path, one in 1100 is lost on both.
    assert!(copied < 42.0 && alone > 2.0 * copied, "{copied} ms, and {alone} ms without copies");
    assert!(copies > 1400, "{copies} of 1500");
}

#[test]
fn redundant_sending_carries_what_the_best_path_carries() {
    let flow = "app = 'saturated'\nunordered = true";
    let flow = simulate(&[(10, 20, "0%"), (2, 60, "0%")], &scheduler("redundant"), flow);
    let share = flow.total.goodput / (10e6 * 1452.0 / 1500.0);
    assert!((0.95..1.02).contains(&share), "{share} of the best path");
}

#[test]
fn what_blocks_a_buffer_moves_to_the_path_that_is_ready() {
    let paths = [(10, 10, "0%"), (10, 75, "0%")];
    let goodput = |rescheduling: &str| {
        let stack = format!(
            "send-buffer = '64KiB'\nreceive-buffer = '64KiB'\nrescheduling = '{rescheduling}'"
        );
        let flow = simulate(&paths, &stack, "app = 'saturated'");
        assert!(flow.integrity.holds());
        (flow.total.goodput, flow.counters.copies)
    };
    let (off, blocked) = (goodput("off"), goodput("blocked"));
    assert_eq!(off.1, 0);
    assert!(blocked.0 > 2.0 * off.0 && blocked.1 > 0, "{off:?} {blocked:?}");
}

/// Milliseconds from the first data to the last byte of a file of 100 kB.
fn file_takes(paths: &[(u32, u32, &str)]) -> f64 {
    let mut text = String::new();
    for (i, (kbit, delay, _)) in paths.iter().enumerate() {
        text.push_str(&format!("[path.P{i}]\nrate = '{kbit}kbit/s'\ndelay = '{delay}ms'\n"));
    }
    text.push_str(
        "[stack]\nprofile = 'fast'\n[[flow]]\napp = 'file'\nsize = '100kB'\nsend-at = '1s'\n",
    );
    text.push_str("[time]\nend = '30s'");
    let scenario = Source::new("file", &text).unwrap().parse_scenario().unwrap();
    let flow = run(&scenario, 1, Recording::default(), &mut |_| ()).unwrap().flows.remove(0);
    assert!(flow.integrity.holds());
    flow.times.from_first_data().unwrap() as f64 / 1e6
}

#[test]
fn the_end_of_a_file_does_not_wait_for_a_slow_path() {
    // The near path looks as good as any until its first packet has told that it takes 120 ms each.
    let (alone, both) =
        (file_takes(&[(20_000, 10, "")]), file_takes(&[(20_000, 10, ""), (100, 6, "")]));
    assert!(both < 1.1 * alone, "{both} ms, {alone} ms without the slow path");
}
