//! What is said of stored runs.

use std::path::PathBuf;

use polypath_experiments::store::Damage;

use crate::talk::Talk;

/// Says which places of segments are damaged, one line each. Their runs are made again.
pub(crate) fn tell_damage(damage: &[(PathBuf, Damage)], talk: Talk) {
    for (path, damage) in damage {
        talk.say(format_args!("{}: {}", path.display(), describe(damage)));
    }
}

fn describe(damage: &Damage) -> String {
    let Damage { at, bytes, rows, is_tail } = *damage;
    if is_tail {
        return format!("the last {bytes} bytes are no whole block, and are left out");
    }
    let rows = rows.map_or("what runs they had".to_owned(), |rows| format!("their {rows} runs"));
    format!("{bytes} bytes from byte {at} on are damaged: {rows} are missing")
}
