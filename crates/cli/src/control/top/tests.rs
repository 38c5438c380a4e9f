//! Pictures of a made-up association with three paths: one works, one is silent, one is spared.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use polypath_control::message::Status;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::draw::draw;
use super::model::{ChosenPath, Model, Sort};

/// After so many seconds.
fn status(seconds: u64) -> Status {
    let path = |number: u8, name: &str, more: serde_json::Value| {
        let mut path = json!({
            "path": number, "name": name, "device": name,
            "local": format!("192.0.2.{number}:40000"), "remote": "203.0.113.5:9899",
            "state": "active", "use": "on", "primary": number == 0, "trouble": false,
            "limited_by": "its congestion window is full",
            "sent_bytes": 10_000_000 + 5_000_000 * seconds, "received_bytes": 40_000 * seconds,
            "sent_packets": 8000, "received_packets": 4000,
            "sent_chunks": 9000 + 3500 * seconds, "lost_chunks": 20 + 7 * seconds, "timeouts": 0,
            "rtt": 0.0421, "min_rtt": 0.0312, "rto": 1.0, "cwnd": 420_000, "in_flight": 418_992,
            "mtu": 1500, "heard_ago": 0.01
        });
        for (key, value) in more.as_object().unwrap() {
            path[key] = value.clone();
        }
        path
    };
    let silent = json!({
        "state": "silent", "trouble": true, "sent_bytes": 7_000_000, "received_bytes": 0,
        "limited_by": "fell silent, last heard of 0.7 s ago (network is unreachable)",
        "sent_chunks": 5000, "lost_chunks": 0, "rtt": 0.121, "min_rtt": 0.0894, "in_flight": 90_000,
    });
    let backup = json!({
        "use": "backup", "sent_bytes": 0, "received_bytes": 0, "sent_chunks": 0, "lost_chunks": 0,
        "limited_by": "kept for when the others fail", "rtt": 0.6, "min_rtt": 0.58, "in_flight": 0,
    });
    let event = |association: u64| {
        json!({
            "association": association, "state": "established", "peer": "203.0.113.5:9899",
            "encrypted": true,
            "totals": {
                "sent_bytes": 17_000_000 + 5_000_000 * seconds, "delivered_bytes": 81_000,
                "sent_messages": 9000, "delivered_messages": 12, "retransmissions": 27,
                "copies": 60, "duplicates": 0
            },
            "buffers": {
                "send_size": 4_000_000, "send_used": 3_990_000, "unsent": 3_400_000,
                "receive_size": 8_388_608, "receive_used": 40_000, "receive_out_of_order": 39_000
            },
            "limited_by": "the congestion windows", "limited_for": 0.4,
            "paths": [
                path(0, "eth0", json!({})), path(1, "wwan0", silent.clone()),
                path(2, "sat0", backup.clone())
            ],
            "streams": [
                {"stream": 3, "waits": 0.71, "for": "acknowledgement", "path": "wwan0",
                 "unsent": 0, "unacknowledged": 64_000},
                {"stream": 1, "waits": 0.02, "for": "sending", "unsent": 3_400_000,
                 "unsent_for": 0.02, "unacknowledged": 0}
            ],
            "limits": [
                {"limit": "congestion", "path": "eth0", "seconds": 0.9 * seconds as f64},
                {"limit": "pacing", "seconds": 0.1 * seconds as f64}
            ]
        })
    };
    let status = json!({
        "process": {
            "pid": 4711, "command": "forward to vps\u{1b}[2J", "version": "0.1.0", "uptime": 60.0
        },
        "associations": [event(1), event(4)], "more": 0
    });
    serde_json::from_value(status).unwrap()
}

fn model() -> Model {
    let mut model = Model::default();
    model.has_keys = true;
    let socket = PathBuf::from("/run/user/1000/polypath/4711.sock");
    let begin = Instant::now();
    for seconds in 0..3 {
        model.note_status(begin + Duration::from_secs(seconds), socket.clone(), status(seconds));
    }
    for (association, at, text) in [
        (1, 0.25, "wwan0 is active"),
        (4, 0.5, "of another association"),
        (1, 61.5, "wwan0 fell silent"),
    ] {
        let event = json!({
            "time": 1_795_000_000.0 + at, "association": association, "path": "wwan0", "text": text,
            "why": text.ends_with("silent").then_some("last heard of 0.4 s ago")
        });
        model.note_event(4711, serde_json::from_value(event).unwrap());
    }
    model
}

fn picture(model: &Model, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| draw(frame, model)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_small_screen_has_two_lines_for_each_path() {
    insta::assert_snapshot!("80x24", picture(&model(), 80, 24));
}

#[test]
fn a_large_screen_has_all_in_one() {
    insta::assert_snapshot!("160x50", picture(&model(), 160, 50));
}

#[test]
fn tiny_screens_and_empty_models_are_drawn() {
    for (columns, rows) in [(1, 1), (3, 30), (80, 2), (20, 10)] {
        picture(&model(), columns, rows);
        picture(&Model::default(), columns, rows);
    }
    assert!(picture(&Model::default(), 80, 24).contains("no process of this user"));
}

fn names(model: &Model) -> String {
    let names: Vec<_> =
        model.shown().unwrap().paths.iter().map(|row| row.path.name.clone()).collect();
    names.join(" ")
}

#[test]
fn paths_are_sorted() {
    let mut model = Model::default();
    let begin = Instant::now();
    for seconds in 0..2 {
        let mut status = status(seconds);
        let paths = status.associations[0].paths.as_mut().unwrap();
        // The second is the fastest, the third the nearest, and the first the worst of all.
        paths[1].received_bytes = 9_000_000 * seconds;
        paths[2].rtt = Some(0.001);
        paths[0].lost_chunks = 900 * seconds;
        paths[2].lost_chunks = 100 * seconds;
        paths[2].sent_chunks = 1000 * seconds;
        let at = begin + Duration::from_secs(seconds);
        model.note_status(at, PathBuf::from("7.sock"), status);
    }
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push((model.sort.word(), names(&model)));
        model.sort = model.sort.next();
    }
    assert_eq!(model.sort, Sort::Number);
    let seen: Vec<_> = seen.iter().map(|(by, names)| (*by, names.as_str())).collect();
    assert_eq!(
        seen,
        [
            ("number", "eth0 wwan0 sat0"),
            ("rate", "wwan0 eth0 sat0"),
            ("RTT", "sat0 eth0 wwan0"),
            ("loss", "eth0 sat0 wwan0"),
        ]
    );
}

fn chosen(model: &Model) -> Option<(u64, u8)> {
    model.chosen_path().map(|(_, path)| (path.association, path.path))
}

#[test]
fn a_path_is_chosen_by_its_number_however_paths_are_sorted() {
    let mut model = model();
    assert_eq!((chosen(&model), model.shown().unwrap().row), (None, None));
    model.step_path(true);
    assert_eq!(chosen(&model), Some((1, 0)));
    model.step_path(true);
    let (socket, path) = model.chosen_path().unwrap();
    assert_eq!(path, ChosenPath { association: 1, path: 1, name: "wwan0".to_owned() });
    assert!(socket.ends_with("4711.sock"));
    model.sort = Sort::Rate;
    let mut status = status(3);
    status.associations[0].paths.as_mut().unwrap()[1].received_bytes = 1 << 40;
    model.note_status(Instant::now() + Duration::from_secs(9), PathBuf::new(), status);
    assert_eq!(names(&model), "wwan0 eth0 sat0");
    assert_eq!((chosen(&model), model.shown().unwrap().row), (Some((1, 1)), Some(0)));
    model.step_path(false);
    assert_eq!(chosen(&model), Some((1, 1)));
}

#[test]
fn an_association_stays_chosen_until_it_is_gone() {
    let number = |model: &Model| model.shown().unwrap().association.association;
    let mut model = model();
    model.step(true);
    model.step_path(true);
    assert_eq!(chosen(&model), Some((4, 0)));
    // Another process, and one association less before it.
    let mut other = status(0);
    other.process.pid = 12;
    model.note_status(Instant::now(), PathBuf::new(), other);
    let mut less = status(3);
    less.associations.remove(0);
    model.note_status(Instant::now() + Duration::from_secs(9), PathBuf::new(), less.clone());
    assert_eq!(chosen(&model), Some((4, 0)));
    // Its process has others yet: none of their paths was chosen.
    less.associations[0].association = 9;
    model.note_status(Instant::now() + Duration::from_secs(10), PathBuf::new(), less);
    assert_eq!((number(&model), model.shown().unwrap().process.pid), (9, 4711));
    assert_eq!(chosen(&model), None);
    model.note_gone(4711);
    assert_eq!((number(&model), model.shown().unwrap().process.pid), (1, 12));
    model.note_gone(12);
    assert!(model.shown().is_none() && model.chosen_path().is_none());
    model.step(true);
    model.step_path(true);
}

#[test]
fn associations_are_gone_through_in_turn() {
    let mut model = model();
    let number = |model: &Model| model.shown().unwrap().association.association;
    let mut seen = vec![number(&model)];
    for forward in [true, true, false] {
        model.step(forward);
        seen.push(number(&model));
    }
    assert_eq!(seen, [1, 4, 1, 4]);
}
