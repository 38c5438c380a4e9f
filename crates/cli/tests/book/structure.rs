//! What readers find: links that lead somewhere, every page within two clicks, few and plain words.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::handbook::{Page, handbook, root};

/// Pages outside `docs` that readers meet.
const FRONT: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

/// Where a link of a page leads, from the root of the repository, and to which anchor; `None` for
/// another site.
fn resolve(page: &str, link: &str) -> Option<(String, Option<String>)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) =
        link.split_once('#').map_or((link, None), |(f, a)| (f, Some(a.to_owned())));
    if file.is_empty() {
        return Some((page.to_owned(), anchor));
    }
    let mut path = PathBuf::new();
    for part in Path::new(page).parent().unwrap().join(file).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{page}: {link} leaves the repository"),
            part => path.push(part),
        }
    }
    Some((path.to_string_lossy().into_owned(), anchor))
}

fn all_pages() -> Vec<Page> {
    FRONT.into_iter().map(Page::read).chain(handbook()).collect()
}

#[test]
fn links_lead_to_files_and_headings() {
    let pages = all_pages();
    let anchors: BTreeMap<_, _> =
        pages.iter().map(|page| (page.name.as_str(), page.anchors())).collect();
    let mut wrong = Vec::new();
    for page in &pages {
        for link in page.links() {
            let Some((file, anchor)) = resolve(&page.name, &link) else { continue };
            let there = root().join(&file).exists();
            // The book holds the pages and figures of docs, and nothing else.
            let inside = !page.name.starts_with("docs/") || file.starts_with("docs/");
            let known = |anchor: &String| anchors.get(&*file).is_some_and(|a| a.contains(anchor));
            if !there || !inside || anchor.as_ref().is_some_and(|anchor| !known(anchor)) {
                wrong.push(format!("{}: {link}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "links that lead nowhere, or out of docs:\n{}", wrong.join("\n"));
}

#[test]
fn contents_list_every_page_once() {
    let summary = Page::read("docs/SUMMARY.md");
    let mut listed: Vec<String> = summary
        .links()
        .iter()
        .filter_map(|link| resolve(&summary.name, link))
        .map(|(file, _)| file)
        .collect();
    listed.sort();
    let pages: Vec<String> = handbook().into_iter().map(|page| page.name).collect();
    let pages: Vec<String> = pages.into_iter().filter(|name| *name != summary.name).collect();
    let missing: Vec<_> = pages.iter().filter(|page| !listed.contains(page)).collect();
    assert!(missing.is_empty(), "docs/SUMMARY.md lacks {missing:?}");
    let once: BTreeSet<_> = listed.iter().collect();
    assert!(once.len() == listed.len(), "docs/SUMMARY.md lists a page twice: {listed:?}");
}

#[test]
fn every_page_is_two_clicks_from_the_readme() {
    let mut reached = BTreeSet::from(["README.md".to_owned()]);
    for _click in 0..2 {
        let pages: Vec<_> = reached.iter().filter(|name| name.ends_with(".md")).cloned().collect();
        for name in pages {
            let links = Page::read(&name).links();
            let files = links.iter().filter_map(|link| resolve(&name, link)).map(|(file, _)| file);
            reached.extend(files.filter(|file| root().join(file).is_file()));
        }
    }
    let far: Vec<_> = handbook().into_iter().map(|page| page.name).collect();
    let far: Vec<_> = far.into_iter().filter(|name| !reached.contains(name)).collect();
    assert!(far.is_empty(), "more than two clicks from README.md: {far:?}");
}

/// A handbook that nobody can read to its end is not read.
const MOST_WORDS: usize = 50_000;

#[test]
fn the_handbook_has_few_words() {
    let written = handbook().into_iter().filter(|page| !page.is_generated());
    let counts: Vec<_> = written.map(|page| (page.words(), page.name)).collect();
    let all: usize = counts.iter().map(|(words, _)| words).sum();
    assert!(all <= MOST_WORDS, "{all} words, {MOST_WORDS} are allowed: {counts:#?}");
}

/// Words of ours that a reader of RFC 9260 and one paper would have to guess, and days on which
/// something happened: those belong into commits and evidence.
const PRIVATE: [&str; 16] = [
    "hostile world",
    "yardstick",
    "doomed",
    "in debt",
    "hold time",
    "swallow",
    "good for nothing",
    "goodbye",
    "agenda",
    "puppet",
    "rehome",
    "ledger",
    "on wires",
    "the books",
    "sacks as traffic",
    "laid on top",
];

#[test]
fn no_private_word_comes_back() {
    let mut found = Vec::new();
    // The glossary explains names that the code has.
    let read = |page: &Page| !page.is_generated() && page.name != "docs/reference/glossary.md";
    for page in all_pages().into_iter().filter(read) {
        for (number, line) in page.text.lines().enumerate() {
            let lower = line.to_lowercase();
            let words = PRIVATE.iter().filter(|word| lower.contains(*word));
            found.extend(words.map(|word| format!("{}:{}: {word:?}", page.name, number + 1)));
        }
    }
    assert!(found.is_empty(), "say it in the field's words:\n{}", found.join("\n"));
}

/// Months; dates are for evidence, where a measurement needs one.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[test]
fn dates_stand_in_evidence_alone() {
    let is_evidence = |name: &str| {
        ["docs/evidence/", "docs/results/", "docs/measurements/"]
            .iter()
            .any(|f| name.starts_with(f))
    };
    let mut found = Vec::new();
    for page in all_pages().into_iter().filter(|page| !is_evidence(&page.name)) {
        for (number, line) in page.text.lines().enumerate() {
            let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).collect();
            let dated = words.windows(2).any(|pair| {
                let day = |word: &str| word.parse().is_ok_and(|day: u8| (1..=31).contains(&day));
                MONTHS.contains(&pair[1]) && day(pair[0])
                    || MONTHS.contains(&pair[0]) && day(pair[1])
            });
            if dated {
                found.push(format!("{}:{}: {line}", page.name, number + 1));
            }
        }
    }
    assert!(found.is_empty(), "dates outside evidence:\n{}", found.join("\n"));
}
