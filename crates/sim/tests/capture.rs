//! What a run writes can be read by others.

use std::process::Command;
use std::sync::Arc;

use crate::common::{assoc, file, link, lossy, observe, seconds, world};
use polypath_capture::trace::{self, TraceWriter};
use polypath_policies::{PolicySpec, factory};
use polypath_proto::PathId;
use polypath_proto::config::{AssocConfig, Encapsulation};
use polypath_proto::trace::{TraceEvent, TraceRecord};
use polypath_sim::observer::TraceSource;
use polypath_sim::{Observer, Pcap, WorldSpec};

fn lossy_transfer() -> WorldSpec {
    let links = [lossy(10, 10, 0.01), lossy(5, 40, 0.03), lossy(2, 80, 0.05)];
    let mut spec = world(&links, file(1_000_000), 100_000);
    spec.time = seconds(0, 100);
    spec.flows[0].trace = true;
    spec
}

/// One line per packet: interface, comment, expert messages. `None` where tshark is not installed.
fn tshark(capture: &[u8], name: &str) -> Option<Vec<String>> {
    let path = std::env::temp_dir().join(format!("{name}-{}.pcapng", std::process::id()));
    std::fs::write(&path, capture).ok()?;
    let mut command = Command::new("tshark");
    command.arg("-r").arg(&path).args(["-T", "fields"]);
    for field in ["frame.interface_name", "frame.comment", "sctp.checksum.status"] {
        command.args(["-e", field]);
    }
    command.args(["-e", "_ws.malformed", "-e", "sctp.chunk_type", "-d", "udp.port==9899,sctp"]);
    command.args(["-o", "sctp.checksum:CRC 32C", "-o", "ip.check_checksum:TRUE"]);
    let output = command.output();
    // Nothing depends on the file any more, whatever tshark said.
    let _ = std::fs::remove_file(&path);
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    Some(text.lines().map(str::to_owned).collect())
}

fn has_i_data(chunk_types: &str) -> bool {
    chunk_types.split(',').any(|kind| kind == "64")
}

#[test]
fn tshark_finds_nothing_wrong_with_a_run() {
    let kinds =
        [(Encapsulation::Raw, false), (Encapsulation::Udp, false), (Encapsulation::Raw, true)];
    for (encapsulation, interleaving) in kinds {
        let mut spec = lossy_transfer();
        spec.flows[0].encapsulation = encapsulation;
        let mut config = (*assoc(100_000)).clone();
        config.extensions.interleaving = interleaving;
        spec.flows[0] = spec.flows[0].clone().with_assoc(Arc::new(config));
        let mut pcap = Pcap::new(Vec::new()).unwrap();
        let result = observe(&spec, 1, &mut pcap);
        let Some(lines) =
            tshark(&pcap.finish().unwrap(), &format!("{encapsulation:?}-{interleaving}"))
        else {
            println!("skipped: tshark is not installed");
            return;
        };
        assert_eq!(lines.len() as u64, result.packets);
        let i_data = lines.iter().filter(|line| line.split('\t').nth(4).is_some_and(has_i_data));
        assert_eq!(i_data.count() > 600, interleaving);
        let bad = lines.iter().find(|line| line.split('\t').nth(2) != Some("1"));
        assert_eq!(bad, None, "every checksum is good");
        let malformed = lines.iter().find(|line| line.split('\t').nth(3) != Some(""));
        assert_eq!(malformed, None);
        let dropped: u64 = result.links.iter().map(|link| link.lost).sum();
        let commented = lines.iter().filter(|line| line.contains("random loss")).count();
        assert_eq!(commented as u64, dropped);
        assert!(lines.iter().any(|line| line.starts_with("C server to client")));
    }
}

#[test]
fn traces_tell_every_window_of_every_path() {
    let mut writer = TraceWriter::new(Vec::new());
    observe(&lossy_transfer(), 1, &mut writer);
    let file = writer.finish().unwrap();
    let records: Vec<_> = trace::read_lines(&file[..]).map(Result::unwrap).collect();
    assert!(records.iter().all(|record| record["flow"] == "flow" && record["at"].is_u64()));
    for path in 0..3 {
        let of_path = |event: &str| {
            records.iter().filter(|r| r["event"] == event && r["path"] == path).count()
        };
        assert!(of_path("window") > 3 && of_path("rtt") > 3, "path {path}");
    }
    assert!(records.iter().any(|record| record["host"] == "server"));
    let times: Vec<_> = records.iter().filter_map(|record| record["at"].as_u64()).collect();
    assert!(times.is_sorted());
}

/// Path, phase and pacing rate of the sender's windows.
#[derive(Default)]
struct Windows(Vec<(PathId, Option<&'static str>, Option<u64>)>);

impl Observer for Windows {
    fn trace(&mut self, source: TraceSource<'_>, record: &TraceRecord) {
        if let TraceEvent::Window { path, phase, pacing_rate, .. } = record.event
            && source.host == "client"
        {
            self.0.push((path, phase, pacing_rate));
        }
    }
}

fn windows_of(congestion: &str) -> Windows {
    let policies = PolicySpec { congestion: congestion.to_owned(), ..PolicySpec::default() };
    let policies = factory(&policies).expect("a congestion control");
    let config = AssocConfig { policies, ..(*assoc(1 << 20)).clone() };
    let mut spec = world(&[link(10, 10), link(5, 40)], file(3_000_000), 1 << 20);
    spec.flows[0] = spec.flows[0].clone().with_assoc(Arc::new(config));
    spec.flows[0].trace = true;
    spec.time = seconds(0, 100);
    let mut windows = Windows::default();
    observe(&spec, 1, &mut windows);
    windows
}

#[test]
fn traces_tell_every_phase_and_rate_of_a_control_that_has_them_and_of_no_other() {
    for congestion in ["bbr", "bbr?couple=detected"] {
        let Windows(windows) = windows_of(congestion);
        for path in [PathId(0), PathId(1)] {
            let own = || windows.iter().filter(|window| window.0 == path);
            assert!(own().all(|window| window.2.is_some_and(|rate| rate > 0)));
            let mut phases: Vec<_> = own().map(|window| window.1.expect("a name")).collect();
            phases.dedup();
            assert_eq!(phases[0], "Startup");
            assert!(phases.contains(&"ProbeBW_UP"), "{phases:?}");
            // Each follows the one before it, so that none was left out; Drain and DOWN may end
            // with the SACK that began them.
            for pair in phases.windows(2) {
                let follows: &[&str] = match pair[0] {
                    "Startup" => &["Drain", "ProbeBW_DOWN", "ProbeBW_CRUISE"],
                    "Drain" => &["ProbeBW_DOWN", "ProbeBW_CRUISE"],
                    "ProbeBW_DOWN" => &["ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeRTT"],
                    "ProbeBW_CRUISE" => &["ProbeBW_REFILL", "ProbeRTT"],
                    "ProbeBW_REFILL" => &["ProbeBW_UP", "ProbeRTT"],
                    "ProbeBW_UP" => &["ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeRTT"],
                    _ => &["ProbeBW_CRUISE"],
                };
                assert!(follows.contains(&pair[1]), "{pair:?}");
            }
        }
    }
    let Windows(others) = windows_of("rfc9260");
    assert!(others.len() > 10);
    assert!(others.iter().all(|(_, phase, rate)| phase.is_none() && rate.is_none()));
}
