//! Results on disk: one CSV row per run, found again by what was run.

mod key;

pub use key::{Key, stack_version};

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use polypath_run::metrics::MetricValues;

/// The metrics of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    names: Arc<[String]>,
    values: Vec<Option<f64>>,
}

impl Row {
    /// The row that holds these metrics.
    pub fn from_metrics(metrics: MetricValues) -> Self {
        let (names, values): (Vec<_>, _) = metrics.0.into_iter().unzip();
        Self { names: names.into(), values }
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<f64>)> {
        self.names.iter().map(String::as_str).zip(self.values.iter().copied())
    }

    /// The value of a figure; `None`: not a figure of this run.
    pub fn find_metric(&self, name: &str) -> Option<Option<f64>> {
        let at = self.names.iter().position(|known| known == name)?;
        self.values.get(at).copied()
    }

    fn csv_line(&self, key: &Key) -> io::Result<Vec<u8>> {
        let cells = self.values.iter().map(|value| value.map_or(String::new(), |v| v.to_string()));
        join_csv_cells(std::iter::once(key.to_string()).chain(cells))
    }
}

/// A folder of CSV files, one for each set of columns. Rows are appended as runs end, so an
/// interrupted run loses only what was not finished. Several processes may share a folder.
///
/// [`in_memory`](Self::in_memory) there is no folder, and rows are gone with the store.
#[derive(Debug)]
pub struct Store {
    rows: BTreeMap<Key, Arc<Row>>,
    disk: Option<Folder>,
}

/// Where rows are kept.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    files: BTreeMap<Arc<[String]>, File>,
    /// Shared while the store is open, exclusive while it is put in order.
    lock: File,
    grown: bool,
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct StoreError {
    /// Which file or folder.
    pub path: PathBuf,
    /// Why.
    pub error: io::Error,
}

impl Store {
    /// Opens a folder, and makes it if it is missing.
    ///
    /// # Errors
    /// When it cannot be read or made.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| StoreError { path, error }
        };
        fs::create_dir_all(folder).map_err(at(folder))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().append(true).create(true).open(&path).map_err(at(&path))?;
        lock.lock_shared().map_err(at(&path))?;
        let (files, grown) = (BTreeMap::new(), false);
        let disk = Folder { path: folder.to_owned(), files, lock, grown };
        let mut store = Self { rows: BTreeMap::new(), disk: Some(disk) };
        for path in list_tables(folder).map_err(at(folder))? {
            store.load_table(&path).map_err(at(&path))?;
        }
        Ok(store)
    }

    /// A store without a folder, for runs that nothing names for good.
    #[must_use]
    pub fn in_memory() -> Self {
        Self { rows: BTreeMap::new(), disk: None }
    }

    /// Puts the rows on disk into the order of their keys: runs end in any order, but two folders
    /// with the same runs shall have the same files. Left undone while another process has the
    /// folder open.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn sort_tables(&mut self) -> Result<(), StoreError> {
        let Some(disk) = self.disk.as_mut().filter(|disk| disk.grown) else { return Ok(()) };
        let folder = disk.path.clone();
        let failed = |error| StoreError { path: folder.clone(), error };
        disk.files.clear();
        disk.lock.unlock().map_err(failed)?;
        let is_alone = disk.lock.try_lock().is_ok();
        if is_alone {
            self.rewrite_tables(&folder).map_err(failed)?;
        }
        let Some(disk) = &mut self.disk else { return Ok(()) };
        if is_alone {
            disk.lock.unlock().map_err(failed)?;
            disk.grown = false;
        }
        disk.lock.lock_shared().map_err(failed)
    }

    fn rewrite_tables(&mut self, folder: &Path) -> io::Result<()> {
        for path in list_tables(folder)? {
            // Others may have added rows since this store was opened.
            let names = self.load_table(&path)?;
            let new = path.with_extension("new");
            let mut out = io::BufWriter::new(File::create(&new)?);
            out.write_all(&csv_head(&names)?)?;
            for (key, row) in self.rows.iter().filter(|(_, row)| row.names == names) {
                out.write_all(&row.csv_line(key)?)?;
            }
            out.flush()?;
            drop(out);
            fs::rename(&new, &path)?;
        }
        Ok(())
    }

    /// The row of a run that was made before.
    pub fn find_row(&self, key: &Key) -> Option<Arc<Row>> {
        self.rows.get(key).cloned()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds a row.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add_row(&mut self, key: Key, row: Row) -> Result<(), StoreError> {
        if let Some(disk) = &mut self.disk {
            disk.append_row(&key, &row)?;
        }
        self.rows.insert(key, Arc::new(row));
        Ok(())
    }

    /// Reads a table, and says which figures it has.
    fn load_table(&mut self, path: &Path) -> io::Result<Arc<[String]>> {
        cut_torn_line(path)?;
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_path(path)?;
        let header = reader.headers()?.clone();
        let names: Arc<[String]> = header.iter().skip(1).map(str::to_owned).collect();
        for record in reader.records() {
            let record = record?;
            let cell = |text: &str| text.parse::<f64>().ok();
            let values: Vec<_> = record.iter().skip(1).map(cell).collect();
            if let (Some(Ok(key)), true) =
                (record.get(0).map(str::parse), values.len() == names.len())
            {
                self.rows.insert(key, Arc::new(Row { names: Arc::clone(&names), values }));
            }
        }
        Ok(names)
    }
}

impl Folder {
    fn append_row(&mut self, key: &Key, row: &Row) -> Result<(), StoreError> {
        let names = Arc::clone(&row.names);
        let path = self.path.join(file_name(&names));
        let failed = |error| StoreError { path: path.clone(), error };
        if !self.files.contains_key(&names) {
            let file = Self::create_table(&path, &names).map_err(failed)?;
            self.files.insert(Arc::clone(&names), file);
        }
        let line = row.csv_line(key).map_err(failed)?;
        if let Some(file) = self.files.get_mut(&names) {
            // One call per line: whoever reads it finds whole lines, or a last one without its end.
            file.write_all(&line).map_err(failed)?;
        }
        self.grown = true;
        Ok(())
    }

    fn create_table(path: &Path, names: &[String]) -> io::Result<File> {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        if file.metadata()?.len() == 0 {
            file.write_all(&csv_head(names)?)?;
        }
        Ok(file)
    }
}

/// The CSV files of a folder.
fn list_tables(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    let is_table = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "csv");
    Ok(paths.into_iter().filter(is_table).collect())
}

/// Drops a last line that an interruption left without its end.
fn cut_torn_line(path: &Path) -> io::Result<()> {
    let text = fs::read(path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < text.len() {
        OpenOptions::new().write(true).open(path)?.set_len(whole as u64)?;
    }
    Ok(())
}

fn csv_head(names: &[String]) -> io::Result<Vec<u8>> {
    join_csv_cells(std::iter::once("key".to_owned()).chain(names.iter().cloned()))
}

fn join_csv_cells(cells: impl Iterator<Item = String>) -> io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(cells)?;
    writer.into_inner().map_err(|error| error.into_error())
}

fn file_name(names: &[String]) -> String {
    format!("{}.csv", Key::from_content(names.join(",").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: f64) -> Row {
        Row::from_metrics(MetricValues(vec![("a".into(), Some(value)), ("b,c".into(), None)]))
    }

    #[test]
    fn rows_are_found_again_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (Key::from_content(b"1"), Key::from_content(b"2"));
        let mut store = Store::open(folder.path()).unwrap();
        store.add_row(one, row(0.1 + 0.2)).unwrap();
        store.add_row(two, row(1e300 / 3.0)).unwrap();
        drop(store);
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.len(), 2);
        assert_eq!(*store.find_row(&one).unwrap(), row(0.1 + 0.2));
        assert_eq!(store.find_row(&two).unwrap().find_metric("a"), Some(Some(1e300 / 3.0)));
        assert_eq!(store.find_row(&two).unwrap().find_metric("b,c"), Some(None));
        assert!(store.find_row(&Key::from_content(b"3")).is_none());
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (Key::from_content(b"1"), Key::from_content(b"2"));
        let mut store = Store::open(folder.path()).unwrap();
        store.add_row(one, row(1.0)).unwrap();
        store.add_row(two, row(2.0)).unwrap();
        drop(store);
        let path = list_tables(folder.path()).unwrap().remove(0);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 2]).unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        assert!(store.find_row(&one).is_some() && store.find_row(&two).is_none());
        store.add_row(two, row(2.0)).unwrap();
        drop(store);
        assert_eq!(fs::read(&path).unwrap(), text);
    }

    #[test]
    fn a_settled_store_does_not_tell_in_which_order_runs_ended() {
        let texts = [["1", "2"], ["2", "1"]].map(|order| {
            let folder = tempfile::tempdir().unwrap();
            let mut store = Store::open(folder.path()).unwrap();
            for name in order {
                store
                    .add_row(Key::from_content(name.as_bytes()), row(name.parse().unwrap()))
                    .unwrap();
            }
            store.sort_tables().unwrap();
            store.add_row(Key::from_content(b"3"), row(3.0)).unwrap();
            store.sort_tables().unwrap();
            assert_eq!(Store::open(folder.path()).unwrap().len(), 3);
            fs::read(list_tables(folder.path()).unwrap().remove(0)).unwrap()
        });
        assert_eq!(texts[0], texts[1]);
    }

    #[test]
    fn a_shared_store_is_not_put_in_order_below_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        let mut other = Store::open(folder.path()).unwrap();
        store.add_row(Key::from_content(b"1"), row(1.0)).unwrap();
        store.sort_tables().unwrap();
        other.add_row(Key::from_content(b"2"), row(2.0)).unwrap();
        drop(store);
        other.sort_tables().unwrap();
        assert_eq!(Store::open(folder.path()).unwrap().len(), 2);
    }
}
