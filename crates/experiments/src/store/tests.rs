use std::fs;

use polypath_run::metrics::MetricValues;

use super::*;

fn key(name: &str) -> Key {
    Key::from_content(name.as_bytes())
}

fn row(value: f64) -> Row {
    Row::from_metrics(MetricValues(vec![("a".into(), Some(value)), ("b,c".into(), None)]))
}

fn value(store: &Store, name: &str) -> Option<f64> {
    store.find_row(&key(name)).unwrap().and_then(|row| row.find_metric("a").flatten())
}

/// A store of a folder that made these runs and is gone.
fn made(folder: &Path, names: &[&str]) {
    let mut store = Store::open(folder).unwrap();
    for name in names {
        store.add_row(key(name), row(name.len() as f64)).unwrap();
    }
    store.settle().unwrap();
}

#[test]
fn rows_are_found_again_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    store.add_row(key("1"), row(0.1 + 0.2)).unwrap();
    store.add_row(key("2"), row(1e300 / 3.0)).unwrap();
    store.flush().unwrap();
    drop(store);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!((store.len(), store.damage().len()), (2, 0));
    assert_eq!(store.find_row(&key("1")).unwrap(), Some(row(0.1 + 0.2)));
    assert_eq!(store.find_row(&key("2")).unwrap(), Some(row(1e300 / 3.0)));
    assert_eq!(store.find_row(&key("3")).unwrap(), None);
}

#[test]
fn figures_are_collected_in_the_order_of_the_keys_and_gaps_are_told_apart() {
    let mut store = Store::in_memory();
    let other = Row::from_metrics(MetricValues(vec![("a".into(), None), ("d".into(), Some(4.0))]));
    store.add_row(key("1"), row(1.0)).unwrap();
    store.add_row(key("2"), other).unwrap();
    store.flush().unwrap();
    let keys = ["2", "none", "1"].map(key);
    let all = store.collect(&keys, Wanted::All).unwrap();
    assert_eq!([0, 1, 2].map(|run| all.is_made(run)), [true, false, true]);
    assert_eq!([0, 1, 2].map(|run| all.find_metric(run, "a")), [Some(None), None, Some(Some(1.0))]);
    assert_eq!([0, 2].map(|run| all.find_metric(run, "d")), [Some(Some(4.0)), None]);
    assert_eq!([0, 2].map(|run| all.find_metric(run, "b,c")), [None, Some(None)]);
    assert_eq!(all.names_of(2), ["a", "b,c"]);
    let few = store.collect(&keys, Wanted::Only(&["d".to_owned()])).unwrap();
    assert_eq!([0, 2].map(|run| few.find_metric(run, "a")), [None, None]);
    assert_eq!(few.find_metric(0, "d"), Some(Some(4.0)));
}

#[test]
fn a_block_that_was_cut_off_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    for name in ["1", "22"] {
        store.add_row(key(name), row(name.len() as f64)).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let path = list_segments(folder.path()).unwrap().remove(0);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 2]).unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    assert_eq!((value(&store, "1"), value(&store, "22")), (Some(1.0), None));
    assert!(store.damage()[0].1.is_tail);
    store.add_row(key("22"), row(2.0)).unwrap();
    store.settle().unwrap();
    assert_eq!((value(&store, "1"), value(&store, "22")), (Some(1.0), Some(2.0)));
    // What was damaged was put in order, and is told once.
    let store = Store::open(folder.path()).unwrap();
    assert_eq!((store.len(), store.damage().len()), (2, 0));
}

#[test]
fn a_flipped_byte_costs_its_block_alone_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path()).unwrap();
    for name in ["1", "22", "333"] {
        store.add_row(key(name), row(name.len() as f64)).unwrap();
        store.flush().unwrap();
    }
    drop(store);
    let path = list_segments(folder.path()).unwrap().remove(0);
    let whole = fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x20;
        fs::write(&path, &bytes).unwrap();
        let store = Store::open(folder.path()).unwrap();
        if at < 8 {
            assert_eq!((store.len(), store.damage().len()), (3, 1), "byte {at}");
            continue;
        }
        assert_eq!((store.len(), store.damage().len()), (2, 1), "byte {at}");
        let right = |name: &&str| value(&store, name) == Some(name.len() as f64);
        assert_eq!(["1", "22", "333"].iter().filter(|name| right(name)).count(), 2);
    }
}

#[test]
fn a_change_behind_the_store_s_back_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    made(folder.path(), &["1"]);
    let store = Store::open(folder.path()).unwrap();
    let path = list_segments(folder.path()).unwrap().remove(0);
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let error = store.collect(&[key("1")], Wanted::All).unwrap_err().to_string();
    assert!(error.ends_with("has changed since it was opened"), "{error}");
    assert!(error.starts_with(&path.display().to_string()), "{error}");
}

#[test]
fn the_order_of_segments_and_runs_does_not_show_in_what_is_collected() {
    let keys = ["1", "22", "333"].map(key);
    let seen = [["1", "22", "333"], ["333", "1", "22"]].map(|order| {
        let folder = tempfile::tempdir().unwrap();
        // The second has each run in a segment of its own.
        order.iter().for_each(|name| made(folder.path(), &[name]));
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(list_segments(folder.path()).unwrap().len(), 3);
        let all = store.collect(&keys, Wanted::All).unwrap();
        [0, 1, 2].map(|run| all.find_metric(run, "a"))
    });
    assert_eq!(seen[0], seen[1]);
}

#[test]
fn many_small_segments_become_one_and_runs_that_are_there_twice_are_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..20).map(|n| "x".repeat(n + 1)).collect();
    let both = |n: usize| [names[n].as_str(), "shared"];
    // Each of them opened before any run was added, so that all make the shared one.
    let mut open: Vec<Store> = (0..20).map(|_| Store::open(folder.path()).unwrap()).collect();
    for (n, store) in open.iter_mut().enumerate() {
        both(n).iter().for_each(|name| store.add_row(key(name), row(name.len() as f64)).unwrap());
        store.settle().unwrap();
    }
    assert_eq!(list_segments(folder.path()).unwrap().len(), 20, "others have it open");
    drop(open);
    Store::open(folder.path()).unwrap().settle().unwrap();
    assert_eq!(list_segments(folder.path()).unwrap().len(), 1);
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.len(), 21);
    assert_eq!(store.segments.blocks.len(), 1);
    assert!(names.iter().all(|name| value(&store, name) == Some(name.len() as f64)));
}

#[test]
fn tables_of_before_are_read_once_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    let table = folder.path().join(format!("{}.csv", key("names")));
    let text = format!(
        "key,a,\"b,c\"\n{},0.30000000000000004,\n{},7,8\n{},9",
        key("1"),
        key("2"),
        key("3")
    );
    fs::write(&table, text).unwrap();
    // Not of the store.
    fs::write(folder.path().join("mine.csv"), "x\n").unwrap();
    for _ in 0..2 {
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.len(), 2, "the last line has no end");
        assert_eq!(store.find_row(&key("1")).unwrap(), Some(row(0.1 + 0.2)));
        assert!(!table.exists() && folder.path().join("mine.csv").exists());
    }
}

#[test]
fn what_is_no_segment_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.seg");
    fs::write(&path, "something else entirely").unwrap();
    let error = Store::of_segments(std::slice::from_ref(&path)).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: no segment", path.display())), "{error}");
    assert!(Store::of_segments(&[folder.path().join("missing.seg")]).is_err());
}

#[test]
fn segments_that_are_read_take_no_runs() {
    let mut store = Store::of_segments(&[]).unwrap();
    let error = store.add_row(key("1"), row(1.0)).unwrap_err().to_string();
    assert!(error.contains("only read"), "{error}");
    store.flush().unwrap();
}
