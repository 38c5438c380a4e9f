//! The exporter, and those who scrape without manners.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::Field;

fn exporter(field: &mut Field) -> SocketAddr {
    let said = field.start("exporter --listen 127.0.0.1:0", "metrics at http://");
    let (_, at) = said.split_once("http://").unwrap();
    at.split_once('/').unwrap().0.parse().unwrap()
}

fn exchange(at: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    let _reset = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn requests_are_answered_and_rubbish_is_refused() {
    let mut field = Field::new(6);
    let at = exporter(&mut field);
    for (request, status) in [
        ("GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n", "200 OK"),
        ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK"),
        ("HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n", "200 OK"),
        ("POST /metrics HTTP/1.1\r\nHost: here\r\n\r\n", "405 Method Not Allowed"),
        ("GET /../etc/passwd HTTP/1.1\r\nHost: here\r\n\r\n", "404 Not Found"),
        ("rubbish\r\n\r\n", "400 Bad Request"),
        ("\u{0}\u{1}\u{2}\r\n\r\n", "400 Bad Request"),
    ] {
        let answer = exchange(at, request.as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request:?}: {answer}");
        let has_body = answer.contains("polypath_path_up{");
        assert_eq!(has_body, status == "200 OK" && !request.starts_with("HEAD"), "{request:?}");
    }
    // A shorter one of that form is answered.
    let long = format!("GET /metrics?{} HTTP/1.1\r\n\r\n", "x".repeat(20_000));
    assert!(!exchange_or_nothing(at, long.as_bytes()).contains("200 OK"));
}

#[test]
fn those_who_stall_hold_nobody_up_for_long() {
    let mut field = Field::new(7);
    let at = exporter(&mut field);
    let mute: Vec<_> = (0..40).map(|_| TcpStream::connect(at)).collect();
    let request = b"GET /metrics HTTP/1.1\r\n\r\n";
    // As soon as those who say nothing are left.
    let served = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(100));
        exchange_or_nothing(at, request).contains("polypath_path_up{")
    });
    assert!(served);
    drop(mute);
    assert!(field.done("exporter --once").contains("polypath_path_up{"));
}

fn exchange_or_nothing(at: SocketAddr, request: &[u8]) -> String {
    let Ok(mut stream) = TcpStream::connect(at) else { return String::new() };
    let mut answer = Vec::new();
    let _refused = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let _refused = stream.write_all(request).and_then(|()| stream.read_to_end(&mut answer));
    String::from_utf8_lossy(&answer).into_owned()
}
