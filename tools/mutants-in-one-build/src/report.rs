//! Counts, and who survives.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use crate::build::left_out;
use crate::list::Mutant;
use crate::run::{Verdict, results};

/// See the crate's documentation.
pub fn report(copy: &Path, mutants: &[Mutant], path: &Path) -> Result<()> {
    let (results, broken) = (results(path)?, left_out(copy, "broken")?);
    let unplaced = left_out(copy, "unplaced")?;
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut open: BTreeSet<(&str, &str)> = BTreeSet::new();
    for mutant in mutants {
        let seen = results
            .get(&mutant.number)
            .and_then(|list| list.iter().find(|(_, verdict)| *verdict != Verdict::Passed));
        let what = match seen {
            Some((program, Verdict::Failed(_))) => {
                format!("caught by {}", program.split(' ').next().unwrap_or(program))
            }
            Some(_) => "hangs".to_owned(),
            None if broken.contains(&mutant.number) => "does not compile".to_owned(),
            None if unplaced.contains(&mutant.number) => "no place".to_owned(),
            None => "survives".to_owned(),
        };
        if what == "survives" || what == "no place" {
            open.insert((if what == "survives" { "survives" } else { "no place" }, &mutant.name));
        }
        let part = mutant.file.split('/').nth(3).unwrap_or("").to_owned();
        *counts.entry((part, what)).or_default() += 1;
    }
    counts.iter().for_each(|((part, what), count)| println!("{part}\t{what}\t{count}"));
    open.iter().for_each(|(what, name)| println!("{what}\t{name}"));
    Ok(())
}
