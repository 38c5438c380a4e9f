//! What is to be sent: the named files and folders, and all below them, in the order of their
//! names.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;

use super::codec::Kind;
use super::exclude::Exclude;
use super::tree::error_words;
use super::{name, target};
use crate::shown;

/// A file, folder or link to send.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    path: PathBuf,
    /// What the receiver calls it.
    pub(crate) name: Vec<u8>,
    pub(crate) kind: Kind,
    pub(crate) mode: u16,
    /// Named by the user: then a symbolic link is followed.
    named: bool,
    /// What a link leads to.
    pub(crate) target: Vec<u8>,
    pub(crate) mtime: (i64, u32),
}

/// What the way through the folders comes across.
#[derive(Debug)]
pub(crate) enum Found {
    Source(Source),
    /// It is left out, and why.
    Other(String, &'static str),
    /// The user said so.
    Excluded,
    /// It cannot be read.
    Trouble(String, io::Error),
}

/// What was named on the command line, as it stands.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It is not there, or not readable.
    #[error("{path}: {why}")]
    Unreadable {
        /// What was named.
        path: String,
        /// The system's word.
        why: String,
    },
    /// Neither a file nor a folder.
    #[error("{path}: neither a file nor a folder")]
    NotAFile {
        /// What was named.
        path: String,
    },
    /// Two would have the same name at the receiver.
    #[error(
        "{first} and {second} would both be called {name:?} at the receiver: send them one by one"
    )]
    SameName {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// The name.
        name: String,
    },
    /// Nothing to send.
    #[error("no file given")]
    Nothing,
}

/// Checked names of what to send.
#[derive(Clone, Debug)]
pub struct Sources {
    roots: Vec<(PathBuf, Vec<u8>)>,
    exclude: Exclude,
    /// Files below them, when they were looked at.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Sources {
    /// Looks at what is to be sent. Files and folders keep the last part of their names.
    ///
    /// # Errors
    /// When one is missing or unreadable, or two have the same name.
    pub fn new(paths: &[PathBuf]) -> Result<Self, SourceError> {
        Self::excluding(paths, Exclude::default())
    }

    /// The same, without what is to be left out.
    ///
    /// # Errors
    /// When one is missing or unreadable, or two have the same name.
    pub fn excluding(paths: &[PathBuf], exclude: Exclude) -> Result<Self, SourceError> {
        let mut roots: Vec<(PathBuf, Vec<u8>)> = Vec::new();
        for path in paths {
            let root = split_root(path)?;
            if let Some((first, name)) = roots.iter().find(|(_, name)| *name == root.1) {
                let (first, second) = (first.display().to_string(), path.display().to_string());
                return Err(SourceError::SameName {
                    first,
                    second,
                    name: shown::escape_bytes(name),
                });
            }
            roots.push(root);
        }
        if roots.is_empty() {
            return Err(SourceError::Nothing);
        }
        let mut sources = Self { roots, exclude, files: 0, bytes: 0 };
        for found in sources.walk() {
            if let Found::Source(Source { kind: Kind::File, path, .. }) = found {
                sources.files += 1;
                sources.bytes += fs::metadata(path).map_or(0, |about| about.len());
            }
        }
        Ok(sources)
    }

    pub(crate) fn walk(&self) -> Walk {
        let roots = self.roots.iter().map(|(path, name)| (path.clone(), name.clone()));
        Walk { levels: vec![roots.collect::<Vec<_>>().into_iter()], exclude: self.exclude.clone() }
    }

    /// All that would be sent, in its order, and what would not.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        self.walk().map(Entry::from_found)
    }
}

/// One of the things that a transfer comes across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the receiver calls it, or where it is if it is not sent; fit to be shown.
    pub name: String,
    /// What it is.
    pub what: What,
}

/// What an [`Entry`] is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A file.
    File {
        /// Its bytes.
        bytes: u64,
        /// Those that are no holes, about.
        data: u64,
    },
    /// A folder.
    Folder,
    /// A symbolic link, and what it leads to, fit to be shown.
    Link(String),
    /// Left out, and why.
    LeftOut(&'static str),
    /// Left out because the user said so.
    Excluded,
    /// It cannot be read, in the words of the system.
    Trouble(String),
}

impl Entry {
    fn from_found(found: Found) -> Self {
        match found {
            Found::Source(source) => Self { name: source.shown_name(), what: source.describe() },
            Found::Other(path, why) => {
                Self { name: shown::escape_text(&path), what: What::LeftOut(why) }
            }
            Found::Excluded => Self { name: String::new(), what: What::Excluded },
            Found::Trouble(path, error) => {
                let what = What::Trouble(error_words(&error));
                Self { name: shown::escape_text(&path), what }
            }
        }
    }
}

fn split_root(path: &Path) -> Result<(PathBuf, Vec<u8>), SourceError> {
    let text = || path.display().to_string();
    let unreadable =
        |error: io::Error| SourceError::Unreadable { path: text(), why: error_words(&error) };
    let about = fs::metadata(path).map_err(unreadable)?;
    if about.is_dir() {
        fs::read_dir(path).map_err(unreadable)?;
    } else if about.is_file() {
        File::open(path).map_err(unreadable)?;
    } else {
        return Err(SourceError::NotAFile { path: text() });
    }
    // "." and ".." have names, too.
    let name = match path.file_name() {
        Some(name) => name.to_owned(),
        None => {
            let whole = path.canonicalize().map_err(unreadable)?;
            whole.file_name().map_or_else(|| "root".into(), ToOwned::to_owned)
        }
    };
    Ok((path.to_owned(), name.into_vec()))
}

/// The way through the folders. Holds one list of names per level.
pub(crate) struct Walk {
    levels: Vec<std::vec::IntoIter<(PathBuf, Vec<u8>)>>,
    exclude: Exclude,
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let level = self.levels.last_mut()?;
            let Some((path, name)) = level.next() else {
                self.levels.pop();
                continue;
            };
            return Some(self.look_at(path, name));
        }
    }
}

impl Walk {
    fn look_at(&mut self, path: PathBuf, name: Vec<u8>) -> Found {
        if self.exclude.fits(&name) {
            return Found::Excluded;
        }
        let named = self.levels.len() == 1;
        let shown = path.display().to_string();
        let about = if named { fs::metadata(&path) } else { fs::symlink_metadata(&path) };
        let about = match about {
            Ok(about) => about,
            Err(error) => return Found::Trouble(shown, error),
        };
        let reserved = path.file_name().is_some_and(|part| name::is_reserved(part.as_bytes()));
        let mut target = Vec::new();
        let kind = match () {
            () if about.is_dir() => Kind::Folder,
            () if about.is_file() && !reserved => Kind::File,
            () if about.is_file() => return Found::Other(shown, "an unfinished file"),
            () if about.is_symlink() => match read_target(&path, &name) {
                Ok(Ok(read)) => {
                    target = read;
                    Kind::Link
                }
                Ok(Err(why)) => return Found::Other(shown, why),
                Err(error) => return Found::Trouble(shown, error),
            },
            () => return Found::Other(shown, "not a file, folder or link"),
        };
        if kind == Kind::Folder {
            match list_below(&path, &name) {
                Ok(level) => self.levels.push(level.into_iter()),
                Err(error) => return Found::Trouble(shown, error),
            }
        }
        let (mode, mtime) = (permission_bits(&about), modification_time(&about));
        Found::Source(Source { path, name, kind, mode, named, target, mtime })
    }
}

/// What a link leads to, or why it cannot be carried. What begins with a dot is the receiver's
/// question.
fn read_target(path: &Path, name: &[u8]) -> io::Result<Result<Vec<u8>, &'static str>> {
    let read = fs::read_link(path)?;
    Ok(target::check_target(name, read.as_os_str().as_bytes(), true))
}

fn list_below(path: &Path, name: &[u8]) -> io::Result<Vec<(PathBuf, Vec<u8>)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(path)? {
        let part = entry?.file_name();
        all.push((path.join(&part), [name, b"/", part.as_bytes()].concat()));
    }
    all.sort_unstable();
    Ok(all)
}

fn permission_bits(about: &Metadata) -> u16 {
    (about.mode() & 0o777) as u16
}

/// An open file, as it was then.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: File,
    pub(crate) facts: Facts,
}

/// What tells whether a file is still what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    file: (u64, u64),
    pub(crate) size: u64,
    /// Bytes that are no holes, about.
    pub(crate) data: u64,
    pub(crate) mode: u16,
    pub(crate) mtime: (i64, u32),
}

impl Facts {
    fn of(about: &Metadata) -> Self {
        Self {
            file: (about.dev(), about.ino()),
            size: about.len(),
            data: about.blocks().saturating_mul(512).min(about.len()),
            mode: permission_bits(about),
            mtime: modification_time(about),
        }
    }

    /// Whether it is the same file with the same content.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.file, self.size, self.mtime) == (other.file, other.size, other.mtime)
    }
}

impl Source {
    pub(crate) fn open(&self) -> io::Result<Opened> {
        let follow = if self.named { OFlag::empty() } else { OFlag::O_NOFOLLOW };
        let flags = (follow | OFlag::O_NONBLOCK).bits();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::other("not a file any more"));
        }
        Ok(Opened { file, facts: Facts::of(&about) })
    }

    fn describe(&self) -> What {
        match self.kind {
            Kind::Folder => What::Folder,
            Kind::Link => What::Link(shown::escape_bytes(&self.target)),
            Kind::File => match self.open() {
                Ok(Opened { facts: Facts { size: bytes, data, .. }, .. }) => {
                    What::File { bytes, data }
                }
                Err(error) => What::Trouble(error_words(&error)),
            },
        }
    }

    pub(crate) fn shown_name(&self) -> String {
        shown::escape_bytes(&self.name)
    }
}

impl Opened {
    /// Whether the file is no longer what it was.
    pub(crate) fn has_changed(&self) -> bool {
        self.file.metadata().map_or(true, |now| !Facts::of(&now).is_same(&self.facts))
    }
}

fn modification_time(about: &Metadata) -> (i64, u32) {
    (about.mtime(), u32::try_from(about.mtime_nsec()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[PathBuf]) -> Vec<String> {
        let sources = Sources::new(paths).unwrap();
        let shown = |found| match found {
            Found::Source(source) => source.shown_name(),
            Found::Other(path, _) => format!("other {}", path.rsplit('/').next().unwrap()),
            Found::Excluded => "excluded".to_owned(),
            Found::Trouble(path, _) => format!("trouble {path}"),
        };
        sources.walk().map(shown).collect()
    }

    #[test]
    fn folders_come_before_what_is_in_them_and_links_that_lead_out_are_left_out() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().join("top");
        fs::create_dir_all(top.join("b/empty")).unwrap();
        for file in ["a", "b/c", "b/.x.polypath-part", "z"] {
            fs::write(top.join(file), "12345").unwrap();
        }
        std::os::unix::fs::symlink("/etc/passwd", top.join("link")).unwrap();
        std::os::unix::fs::symlink("../a", top.join("b/to-a")).unwrap();
        let expected = [
            "top",
            "top/a",
            "top/b",
            "other .x.polypath-part",
            "top/b/c",
            "top/b/empty",
            "top/b/to-a",
            "other link",
            "top/z",
        ];
        assert_eq!(names(std::slice::from_ref(&top)), expected);
        assert_eq!(names(&[top.join("b/.."), top.join("a")])[0..2], ["top", "top/a"]);
        let sources = Sources::new(&[top]).unwrap();
        assert_eq!((sources.files, sources.bytes), (3, 15));
        let exclude = Exclude::new(&["b".to_owned(), "top/z".to_owned()]).unwrap();
        let sources = Sources::excluding(&[root.path().join("top")], exclude).unwrap();
        assert_eq!((sources.files, sources.bytes), (1, 5));
        let entries: Vec<_> = sources.entries().map(|entry| entry.what).collect();
        let left_out = What::LeftOut("it leads to an absolute name");
        let file = What::File { bytes: 5, data: 5 };
        assert_eq!(entries, [What::Folder, file, What::Excluded, left_out, What::Excluded]);
    }

    #[test]
    fn what_is_named_must_be_there() {
        let error = |paths: &[&str]| {
            let paths: Vec<_> = paths.iter().map(PathBuf::from).collect();
            Sources::new(&paths).unwrap_err().to_string()
        };
        assert_eq!(error(&["/nowhere/x"]), "/nowhere/x: no such file or directory");
        assert_eq!(error(&["/dev/null"]), "/dev/null: neither a file nor a folder");
        assert!(error(&["/usr", "/usr/../usr"]).contains("both be called \"usr\""));
        assert_eq!(error(&[]), "no file given");
    }

    #[test]
    fn a_change_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("f");
        fs::write(&path, "1").unwrap();
        let sources = Sources::new(std::slice::from_ref(&path)).unwrap();
        let Some(Found::Source(source)) = sources.walk().next() else { panic!("no source") };
        let opened = source.open().unwrap();
        assert!(!opened.has_changed());
        fs::write(&path, "22").unwrap();
        assert!(opened.has_changed());
    }
}
