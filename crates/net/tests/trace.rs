//! What the associations of an endpoint write down of themselves.

mod common;

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use common::{File, HERE, PORT};
use polypath_net::{Config, Encapsulation, Endpoint, Trace};

fn lines(file: &File) -> Vec<String> {
    String::from_utf8(file.bytes()).unwrap().lines().map(Into::into).collect()
}

/// A pipe that nobody reads.
struct Stuck(Receiver<()>);

impl Write for Stuck {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.0.recv().map_err(io::Error::other)?;
        Ok(0)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn server(trace: &Trace) -> Endpoint {
    let config = Config::insecure_server([HERE], PORT)
        .encapsulation(Encapsulation::Udp(0))
        .trace(Some(trace.clone()));
    Endpoint::bind(config).unwrap()
}

/// Sends `messages` messages from a client of its own to the server.
async fn transfer(server: &Endpoint, messages: usize) {
    let client = Endpoint::bind(Config::insecure_client([HERE])).unwrap();
    let to = server.local_addresses();
    let (sending, receiving) = tokio::join!(client.connect(&to, PORT), server.accept());
    let (sending, receiving) = (sending.unwrap(), receiving.unwrap());
    for _ in 0..messages {
        sending.send(0, vec![7; 1000]).await.unwrap();
    }
    for _ in 0..messages {
        assert_eq!(receiving.recv().await.unwrap().unwrap().data.len(), 1000);
    }
}

#[tokio::test]
async fn each_association_is_a_flow_with_its_clock_its_paths_and_all_its_data() {
    let file = File::new(usize::MAX);
    let trace = Trace::new(file.clone(), "server");
    let server = server(&trace);
    transfer(&server, 30).await;
    transfer(&server, 20).await;
    trace.finish().unwrap();

    let lines = lines(&file);
    for (flow, messages) in [("1", 30), ("2", 20)] {
        let head = format!("{{\"flow\":\"{flow}\",\"host\":\"server\",\"at\":");
        let own: Vec<&String> = lines.iter().filter(|line| line.starts_with(&head)).collect();
        let count = |event: &str| {
            own.iter().filter(|line| line.contains(&format!("\"event\":\"{event}\""))).count()
        };
        assert!(
            own[0].contains("\"event\":\"clock\"") && own[0].contains("\"unix\":"),
            "{}",
            own[0]
        );
        for (event, times) in [
            ("clock", 1),
            ("associated", 1),
            ("path", 1),
            ("deliverable", messages),
            ("taken", messages),
        ] {
            assert_eq!(count(event), times, "{event} of {flow}");
        }
        assert!(count("arrived") >= messages);
    }
    assert_eq!(lines.iter().filter(|line| line.contains("\"event\":\"associated\"")).count(), 2);
}

#[tokio::test]
async fn a_full_disk_ends_the_trace_and_not_the_transfer() {
    let file = File::new(2_000);
    let trace = Trace::new(file.clone(), "server");
    let server = server(&trace);
    transfer(&server, 100).await;
    assert_eq!(trace.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(trace.finish().is_ok(), "it is told once");
    assert!(!lines(&file).is_empty());
}

#[tokio::test]
async fn a_pipe_that_nobody_reads_does_not_hold_up_the_transfer() {
    let (reader, pipe) = channel();
    let server = server(&Trace::new(Stuck(pipe), "server"));
    let sent = tokio::time::timeout(Duration::from_secs(60), transfer(&server, 1_000)).await;
    assert!(sent.is_ok(), "it hangs");
    drop(reader);
}
