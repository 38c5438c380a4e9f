//! Several processes share an association, and each goes on when the one that has it ends.

use super::{Running, Stage, connect, echo, echoes, text};

#[test]
fn a_second_process_joins_the_first_and_takes_over_from_it() {
    let stage = Stage::new();
    let target = format!("127.0.0.1:{}", echo());
    let mut server = stage.serve(&["--permit", &target]);
    let local = format!("0:{target}");
    let mut first = stage.forward(&["-L", &local]);
    let second = Running::start(stage.client(&["-L", &local]), "using the association");
    assert!(echoes(&mut connect(second.port()), b"joined"));
    let output = stage.stdio(&target, &[], b"and so has stdio");
    assert_eq!(text(&output.stdout), "and so has stdio");
    first.kill();
    assert!(echoes(&mut connect(second.port()), b"taken over"));
    server.wait_for("client ");
    let came = server.said.lines().filter(|line| line.ends_with(" came")).count();
    assert_eq!(came, 1, "{}", server.said);
}

#[test]
fn a_listener_at_the_far_end_goes_from_one_to_the_other() {
    let stage = Stage::new();
    let _server = stage.serve(&[]);
    let mut first = stage.forward(&["-R", "0:127.0.0.1:1"]);
    let remote = format!("0:127.0.0.1:{}", echo());
    let port = |line: String| -> u16 {
        line.rsplit(' ').next().unwrap().trim_end_matches(')').parse().unwrap()
    };
    let mut second = Running::start(stage.client(&["-R", &remote]), "using the association");
    let there = port(second.wait_for("the server listens at 0 (port "));
    assert!(echoes(&mut connect(there), b"by another process"));
    first.kill();
    let there = port(second.wait_for("the server listens at 0 (port "));
    assert!(echoes(&mut connect(there), b"by its own"));
}
