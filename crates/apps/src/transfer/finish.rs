//! Complete files get their names, as many at a time as have come: what takes long, waiting for the
//! disk, is then done once for all of them.

use std::sync::Arc;

use super::codec::Digest;
use super::holes::Zeros;
use super::incoming::Incoming;
use super::part::Stamp;
use super::store::Store;
use super::tree::{Folder, Refusal};

/// Files that wait for their names, at most.
pub(crate) const MAX_WAITING: usize = 256;
/// From so many files on, all of the file system is written out in place of one file after the
/// other.
const MANY: usize = 4;

/// A complete file, by its number.
pub(crate) type Waiting = (u32, Incoming);

/// Checks the files, sees to it that they are on the disk, and gives them their names. Gives for
/// each its number and that of its name ([`name::copy_name`](super::name::copy_name)). It may take
/// long.
pub(crate) fn finish_files(
    store: &Arc<Store>,
    waiting: Vec<Waiting>,
) -> Vec<(u32, Result<u32, Refusal>)> {
    let many = waiting.len() >= MANY;
    let (mut zeros, mut done, mut settled) = (Zeros::default(), Vec::new(), Vec::new());
    for (id, mut incoming) in waiting {
        match settle_one(&mut incoming, many, &mut zeros) {
            Ok(facts) => settled.push((id, incoming, facts)),
            Err(refusal) => done.push((id, Err(refusal))),
        }
    }
    let written = if many && !settled.is_empty() { store.root.sync_all() } else { Ok(()) };
    let mut folders = Vec::new();
    for (id, mut incoming, (digest, inode)) in settled {
        let named = match &written {
            Ok(()) => incoming.give_name(digest, inode),
            Err(refusal) => Err(refusal.clone()),
        };
        let kept = named.and_then(|(copy, folder)| {
            note_folder(store, folder, &mut folders)?;
            Ok(copy)
        });
        done.push((id, kept));
    }
    if let Err(refusal) = sync_folders(store, &folders) {
        done.iter_mut().filter(|(_, result)| result.is_ok()).for_each(|(_, result)| {
            *result = Err(refusal.clone());
        });
    }
    done
}

fn settle_one(
    incoming: &mut Incoming,
    many: bool,
    zeros: &mut Zeros,
) -> Result<(Digest, u64), Refusal> {
    let facts = incoming.settle(zeros)?;
    if !many {
        incoming.sync()?;
    }
    incoming.close_file();
    Ok(facts)
}

/// Keeps each folder once, and no more than say that there are many. One that something else is
/// mounted on goes to the disk at once.
fn note_folder(
    store: &Store,
    folder: Folder,
    folders: &mut Vec<(u64, Folder)>,
) -> Result<(), Refusal> {
    if !store.root.holds(folder.handle())? {
        return Ok(folder.handle().sync_all()?);
    }
    let inode = Stamp::from_file(folder.handle())?.inode;
    if folders.len() < MANY && folders.iter().all(|(known, _)| *known != inode) {
        folders.push((inode, folder));
    }
    Ok(())
}

fn sync_folders(store: &Store, folders: &[(u64, Folder)]) -> Result<(), Refusal> {
    if folders.len() >= MANY {
        return store.root.sync_all();
    }
    folders.iter().try_for_each(|(_, folder)| Ok(folder.handle().sync_all()?))
}
