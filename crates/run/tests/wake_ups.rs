//! Times at which applications want to act.

use polypath_run::{Recording, run};
use polypath_scenario::Source;

/// Drawn at random. At 2,749.4 ms something else comes at the very nanosecond at which the next
/// message is due.
const COINCIDENCE: &str = "
    [path.A]
    rate = '804kbit/s'
    delay = '126ms'
    queue = '9packets'
    [path.B]
    rate = '130Mbit/s'
    delay = '427us'
    queue = '4010packets'
    [endpoints]
    family = 'ipv4'
    encapsulation = 'raw'
    server-addresses = 'per-path'
    [stack]
    profile = 'fast'
    receive-buffer = '230000B'
    send-buffer = '230000B'
    [[flow]]
    app = 'cbr'
    message = '1570B'
    message-most = '20000B'
    send-at = '1.76s'
    rate = '15.6Mbit/s'
    [time]
    settle = '3.4s'
    measure = '1.7s'";

#[test]
fn a_source_goes_on_when_something_else_comes_as_its_message_is_due() {
    let scenario = Source::new("due", COINCIDENCE.to_owned()).unwrap().parse_scenario().unwrap();
    let result = run(&scenario, 1_000_407, Recording::default(), &mut |_| ()).unwrap();
    let goodput = result.flows[0].total.goodput;
    assert!((15.5e6..15.7e6).contains(&goodput), "{goodput}: 0 when it was forgotten");
}
