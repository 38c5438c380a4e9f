//! Golden bytes from the texts of the protocols, and bytes of nobody.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use proptest::prelude::*;
use tokio::io::{duplex, join};

use super::*;

/// Fred wants 66.102.7.99:80, as the text on SOCKS 4 has it; then a name, as that on 4a.
const FRED: &[u8] = b"\x04\x01\x00\x50\x42\x66\x07\x63Fred\0";
const FRED_4A: &[u8] = b"\x04\x01\x00\x50\0\0\0\x01Fred\0example.com\0";
const IPV4: &[u8] = b"\x05\x01\x00\x05\x01\x00\x01\xc0\x00\x02\x07\x01\xbb";
const NAME: &[u8] = b"\x05\x03\x02\x00\x01\x05\x01\x00\x03\x0bexample.com\x00\x50";
const IPV6: &[u8] =
    b"\x05\x01\x00\x05\x01\x00\x04\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x16";
const ALL: [&[u8]; 5] = [FRED, FRED_4A, IPV4, NAME, IPV6];

fn wanted() -> [Request; 5] {
    let of = |version, host, port| {
        let target = Target::from_host(host, port).unwrap();
        Request { version, target }
    };
    [
        of(Version::Socks4, "66.102.7.99", 80),
        of(Version::Socks4, "example.com", 80),
        of(Version::Socks5, "192.0.2.7", 443),
        of(Version::Socks5, "example.com", 80),
        of(Version::Socks5, "2001:db8::1", 22),
    ]
}

/// What is ready at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("all is there"),
    }
}

/// What comes of these bytes, what was answered, and how many were left alone.
fn heard(said: &[u8]) -> (Result<Request, SocksError>, Vec<u8>, usize) {
    let mut stream = join(said, Vec::new());
    let request = now(read_request(&mut stream));
    let (rest, answer) = stream.into_inner();
    (request, answer, rest.len())
}

/// The codec's way to greet, if it has one.
fn greeting(said: &[u8]) -> &'static [u8] {
    if said[0] == 5 { &[5, 0] } else { &[] }
}

#[test]
fn requests_are_read_and_nothing_behind_them() {
    for (said, wanted) in ALL.into_iter().zip(wanted()) {
        for behind in [&b""[..], b"\x16\x03\x01", b"\x05\x01\x00", b"GET / HTTP/1.1\r\n\r\n"] {
            let (request, answer, left) = heard(&[said, behind].concat());
            assert_eq!((request.unwrap(), left), (wanted.clone(), behind.len()));
            assert_eq!(answer, greeting(said));
        }
    }
}

#[tokio::test]
async fn bytes_come_one_by_one() {
    for (said, wanted) in ALL.into_iter().zip(wanted()) {
        let (mut client, mut server) = duplex(1);
        let talk = async {
            // A client that sends all of it before it listens.
            let (mut from, mut to) = tokio::io::split(&mut client);
            let (_, greeted) =
                tokio::join!(to.write_all(said), read_all(&mut from, greeting(said).len()));
            assert_eq!(greeted, greeting(said));
        };
        let (request, ()) = tokio::join!(read_request(&mut server), talk);
        assert_eq!(request.unwrap(), wanted);
    }
}

async fn read_all(from: &mut (impl AsyncRead + Unpin), count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    from.read_exact(&mut bytes).await.unwrap();
    bytes
}

#[test]
fn who_leaves_early_is_not_answered() {
    for said in ALL {
        for count in 0..said.len() {
            let (request, answer, _) = heard(&said[..count]);
            assert!(matches!(request, Err(SocksError::Left)), "{request:?}");
            assert!(greeting(said).starts_with(&answer), "{answer:?}");
        }
    }
}

#[test]
fn what_is_not_done_is_told() {
    let long = [b"\x04\x01\x00\x50\0\0\0\x01\0".as_slice(), &[b'x'; 256]].concat();
    let rejected: &[u8] = &[0, 91, 0, 0, 0, 0, 0, 0];
    let cases: [(&[u8], &[u8], &str); 13] = [
        (b"\x05\x00", &[5, 0xff], "authenticate"),
        (b"\x05\x02\x01\x02", &[5, 0xff], "authenticate"),
        (b"\x05\x01\x00\x05\x02\x00\x01\x01\x02\x03\x04\x00\x50", &code(7), "command 2"),
        (b"\x05\x01\x00\x05\x03\x00\x03\x01x\x00\x00", &code(7), "command 3"),
        (b"\x05\x01\x00\x05\x01\x00\x02", &code(8), "type 2"),
        (b"\x05\x01\x00\x04\x01\x00\x01", &code(1), "version 4"),
        (b"\x05\x01\x00\x05\x01\x00\x01\x01\x02\x03\x04\x00\x00", &code(1), "port 0"),
        (b"\x05\x01\x00\x05\x01\x00\x03\x00\x00\x50", &code(4), "\"\""),
        (b"\x05\x01\x00\x05\x01\x00\x03\x01\xff\x00\x50", &code(4), "UTF-8"),
        (b"\x04\x02\x00\x50\x01\x02\x03\x04\0", rejected, "command 2"),
        (b"\x04\x01\x00\x50\0\0\0\x01\0\x1b[2J\0", rejected, ""),
        (&long, rejected, "name of more bytes"),
        (b"\x16\x03\x01", &[], "version 22"),
    ];
    for (said, told, message) in cases {
        let (request, answer, _) = heard(said);
        let error = request.unwrap_err().to_string();
        assert!(error.contains(message) && !error.contains('\x1b'), "{error}");
        assert!(answer.ends_with(told) && answer.len() <= told.len() + 2, "{error}: {answer:?}");
    }
}

fn code(code: u8) -> [u8; 10] {
    [5, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

#[test]
fn http_is_told_what_is_here() {
    for said in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "CONNECT x:443 HTTP/1.1\n\n", "POST /", "X"] {
        let (request, answer, left) = heard(said.as_bytes());
        assert!(matches!(request, Err(SocksError::Http)) && left == 0, "{request:?}");
        assert!(answer.starts_with(b"HTTP/1.1 501 "), "{answer:?}");
    }
}

#[test]
fn outcomes_have_their_codes() {
    use Refusal::{Failed, NoSuchName, NotPermitted, Refused, TimedOut, TooMany, Unreachable};
    let all = [NotPermitted, Unreachable, NoSuchName, Refused, TimedOut, TooMany, Failed];
    let said = |version, outcome| {
        let mut stream = Vec::new();
        now(answer(&mut stream, version, outcome)).unwrap();
        stream
    };
    for (refusal, expected) in all.into_iter().zip([2, 3, 4, 5, 6, 1, 1]) {
        assert_eq!(said(Version::Socks5, Err(refusal)), code(expected));
        assert_eq!(said(Version::Socks4, Err(refusal)), [0, 91, 0, 0, 0, 0, 0, 0]);
    }
    assert_eq!(said(Version::Socks5, Ok(())), code(0));
    assert_eq!(said(Version::Socks4, Ok(())), [0, 90, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_client_holds_a_name_and_no_more() {
    let mut stream = join(&b""[..], Vec::new());
    let held = size_of_val(&read_request(&mut stream));
    assert!(held < 1500, "{held}");
    for (begin, most) in [(FRED, 8 + 256), (b"GET ", HTTP_HEAD + 512)] {
        let endless = [&begin[..begin.len() - 1], &[b'x'; 40_000]].concat();
        let (request, _, left) = heard(&endless);
        assert!(request.is_err() && endless.len() - left <= most, "{request:?} {left}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(first in 0_u8..7, kind in 0_u8..6, bytes: Vec<u8>, cut in 0_usize..40) {
        let part = ALL[usize::from(first) % 5];
        let _ = heard(&bytes);
        let _ = heard(&[&[first], &bytes[..]].concat());
        let _ = heard(&[b"\x05\x01\x00\x05\x01\x00", &[kind][..], &bytes].concat());
        let _ = heard(&[&part[..cut.min(part.len())], &bytes].concat());
    }

    #[test]
    fn what_is_behind_is_left_alone(which in 0_usize..5, behind: Vec<u8>) {
        let (request, _, left) = heard(&[ALL[which], &behind].concat());
        prop_assert_eq!((request.unwrap(), left), (wanted()[which].clone(), behind.len()));
    }
}
