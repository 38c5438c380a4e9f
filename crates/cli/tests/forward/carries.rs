//! What is carried arrives, by -L, -R, -D and --stdio.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use super::{Stage, connect, echo, echoes, has_program, start, text};

/// Serves a body by HTTP to whoever asks; its port.
fn web(body: Vec<u8>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    start(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let _asked = stream.read(&mut request);
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            let _gone = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    port
}

#[test]
fn curl_fetches_50_megabytes_by_every_way() {
    if !has_program("curl") {
        eprintln!("curl is not installed: skipped");
        return;
    }
    let body: Vec<u8> =
        (0..50_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let web = web(body.clone());
    let stage = Stage::new();
    let permit = format!("localhost:{web},127.0.0.1:{web}");
    let _server = stage.serve(&["--permit", &permit]);
    let local = format!("0:localhost:{web}");
    let remote = format!("0:127.0.0.1:{web}");
    let mut client = stage.forward(&["-L", &local, "-R", &remote]);
    let socks = stage.forward(&["--no-join", "-D", "0"]);
    let there = client.wait_for("the server listens at 0 (port ");
    let there: u16 = there.rsplit(' ').next().unwrap().trim_end_matches(')').parse().unwrap();
    let proxy = format!("127.0.0.1:{}", socks.port());
    let by_socks = ["--socks5-hostname", &proxy[..]];
    let ways: [(u16, &[&str]); 3] = [(client.port(), &[]), (there, &[]), (web, &by_socks)];
    for (port, more) in ways {
        let url = format!("http://localhost:{port}/");
        let output = Command::new("curl").args(["-sS4", "-m", "60"]).args(more).arg(url).output();
        let output = output.unwrap();
        assert!(
            output.stdout == body,
            "{port}: {} bytes, {}",
            output.stdout.len(),
            text(&output.stderr)
        );
    }
}

#[test]
fn stdio_is_a_connection() {
    let stage = Stage::new();
    let target = format!("127.0.0.1:{}", echo());
    let _server = stage.serve(&["--permit", &target]);
    let sent: Vec<u8> = (0..300_000_u32).map(|n| n as u8).collect();
    let output = stage.stdio(&target, &[], &sent);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    assert!(output.stdout == sent, "{} bytes", output.stdout.len());
}

#[test]
fn connections_outlive_a_server_that_comes_back_and_new_ones_wait_for_it() {
    let stage = Stage::new();
    let target = format!("127.0.0.1:{}", echo());
    let mut server = stage.serve(&["--permit", &target]);
    let mut client = stage.forward(&["-L", &format!("0:{target}")]);
    let mut first = connect(client.port());
    assert!(echoes(&mut first, b"hello"));
    server.kill();
    client.wait_for("disconnected from ");
    assert!(!echoes(&mut first, b"hello"), "its daemon is gone");
    let mut waits = connect(client.port());
    let _server = stage.serve(&["--permit", &target]);
    assert!(echoes(&mut waits, b"hello again"));
}

#[test]
fn hosts_have_names() {
    let stage = Stage::new();
    let target = format!("127.0.0.1:{}", echo());
    let _server = stage.serve(&["--permit", &target]);
    std::fs::create_dir_all(stage.path("client")).unwrap();
    let entry = format!(
        "[host.vps]\nto = {:?}\npeer = {:?}\nforward = [\"-L 0:{target}\"]\n",
        stage.at, stage.key
    );
    std::fs::write(stage.path("client/config.toml"), entry).unwrap();
    let mut command = stage.command("client");
    command.args(["forward", "--to", "vps"]);
    let client = super::Running::start(command, "connected to ");
    assert!(echoes(&mut connect(client.port()), b"by name"));
}

/// However they are ended, the other end hears of it at once.
#[test]
fn ctrl_c_and_sigterm_end_in_order() {
    use nix::sys::signal::{Signal, kill};
    let stage = Stage::new();
    let mut server = stage.serve(&[]);
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let mut client = stage.forward(&["-L", "0:127.0.0.1:1"]);
        let pid = nix::unistd::Pid::from_raw(client.child.id().try_into().unwrap());
        kill(pid, signal).unwrap();
        assert_eq!(client.end(), Some(130), "{signal}");
        while !server.wait_for("client ").contains(" left: ") {}
        assert!(
            server.said.ends_with(" left: the peer ended the association\n"),
            "{}",
            server.said
        );
    }
    let pid = nix::unistd::Pid::from_raw(server.child.id().try_into().unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(server.end(), Some(130));
}
