//! The papers' claims: each has a name for tables and the paper's figure, and each paper a
//! conclusion of three sentences.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use polypath_experiments::experiment::{Experiment, Paper, Reading, Variant, find_files};

fn papers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/papers")
}

/// All of them; reading takes a while.
fn experiments() -> &'static [Experiment] {
    static READ: LazyLock<Vec<Experiment>> = LazyLock::new(|| {
        let files = find_files(&papers()).unwrap();
        files.iter().map(|file| Experiment::from_file(file).unwrap()).collect()
    });
    &READ
}

#[test]
fn every_claim_of_a_paper_says_what_the_paper_prints_or_why_nothing() {
    let mut claims = 0;
    for experiment in experiments() {
        let paper = experiment.paper.as_ref().expect("a folder of a paper tells of it");
        assert!(
            experiment.head.id.starts_with(&format!("{}-", paper.id)),
            "{}",
            experiment.head.id
        );
        for claim in &experiment.claims {
            claims += 1;
            assert!(claim.name().chars().count() <= 75, "{}: {}", claim.id, claim.name());
            assert!(!claim.paper.0.is_empty(), "{}", claim.id);
            for reading in &claim.paper.0 {
                let from = match reading {
                    Reading::Absent(why) => why,
                    Reading::Printed { from, .. } => from,
                };
                assert!(from.len() > 5, "{}: {from:?}", claim.id);
            }
        }
    }
    assert!(claims >= 152, "{claims}");
}

/// What is said of a whole is one sentence each: it ends once.
#[test]
fn every_paper_has_a_conclusion_of_three_sentences() {
    let mut seen: Vec<&Paper> = experiments().iter().filter_map(|one| one.paper.as_ref()).collect();
    seen.dedup();
    assert_eq!(seen.len(), fs::read_dir(papers()).unwrap().count());
    for paper in seen {
        for sentence in &paper.conclusion {
            assert!(sentence.ends_with('.'), "{}: {sentence}", paper.id);
            let inside = sentence.trim_end_matches('.').replace("et al. ", "");
            assert!(!inside.contains(". "), "{}: {sentence}", paper.id);
        }
    }
}

/// Claims of ours beside the paper's are no part of its count.
#[test]
fn conclusions_count_claims_as_the_pages_of_results_do() {
    let results = papers().join("../../docs/results");
    for paper in experiments().iter().filter_map(|one| one.paper.as_ref()) {
        // A paper that is not yet on a page has no count to agree with.
        let Ok(page) = fs::read_to_string(results.join(format!("{}.md", paper.id))) else {
            continue;
        };
        let rows = || {
            let rows = page.lines().filter(|line| line.starts_with(&format!("| {}-", paper.id)));
            rows.filter(|row| !row.contains("-ranking-") && row.matches('|').count() > 5)
        };
        let hold = rows().filter(|row| row.contains("| holds |")).count();
        let count = format!("{hold} of {} claims hold", rows().count());
        let told = paper.conclusion.iter().any(|sentence| sentence.contains(&count));
        assert!(told, "{}: {count} on its page, {:?}", paper.id, paper.conclusion);
    }
}

const EXPERIMENT: &str = "[path.A]\nrate = '1Mbit/s'\ndelay = '1ms'\n[[flow]]\napp = 'saturated'\n\
    [time]\nmeasure = '1s'\n[experiment]\nid = 'T-1'\ntitle = 't'\nsource = 's'\nquestion = 'q'\n\
    [[claim]]\nid = 'T-1-c1'\nkind = 'q'\nsays = 'It runs.'\ntest = { of = 1, above = 0 }\n";
const PAPER: &str =
    "id = 'T'\ntitle = 't'\nreference = 'r'\nconclusion = ['One.', 'Two.', 'Three.']\n";

#[test]
fn what_a_claim_of_a_paper_lacks_is_named_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let read = |experiment: &str, paper: Option<&str>| {
        let file = folder.path().join("1.toml");
        fs::write(&file, experiment).unwrap();
        let beside = folder.path().join("paper.toml");
        paper.map_or_else(
            || fs::remove_file(&beside).unwrap_or(()),
            |text| {
                fs::write(&beside, text).unwrap();
            },
        );
        Experiment::from_file(&file).map(drop).map_err(|error| error.to_string())
    };
    let printed = format!("{EXPERIMENT}paper = {{ none = 'no figure' }}\n");
    let long = printed.replace("It runs.", &"Long. ".repeat(20));
    assert_eq!(read(EXPERIMENT, None), Ok(()), "no paper, no figure");
    assert_eq!(read(&printed, Some(PAPER)), Ok(()));
    assert_eq!(read(&long.replace("kind", "title = 'Short'\nkind"), Some(PAPER)), Ok(()));
    for (experiment, paper, part) in [
        (EXPERIMENT, PAPER.to_owned(), "claim[0].paper: missing"),
        (long.as_str(), PAPER.to_owned(), "claim[0].says"),
        (printed.as_str(), PAPER.replace(", 'Three.'", ""), "invalid length 2"),
        (printed.as_str(), PAPER.replace("reference", "refrence"), "refrence"),
    ] {
        let error = read(experiment, Some(&paper)).unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{error}");
    }
}

/// A label that no case of the axis has was once passed over, and the alternative was none.
#[test]
fn an_alternative_names_cases_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("1.toml");
    let axes = [
        "cases = [{ label = 'small', set = { 'path.A.rate' = '2Mbit/s' } }]",
        "set = ['path.A.rate']\nvalues = ['2Mbit/s']",
    ];
    let expand = |axis: &str, label: &str| {
        let text = format!(
            "[[sweep]]\nname = 'size'\n{axis}\n{EXPERIMENT}[[alternative]]\nname = 'later'\n\
             cases = {{ size = {{ {label} = {{ 'path.A.delay' = '5ms' }} }} }}\n"
        );
        fs::write(&file, text).unwrap();
        let experiment = Experiment::from_file(&file).unwrap();
        let cases = experiment.alternatives[0].cases.clone();
        let variant = Variant { cases, place: "alternative[0]".to_owned(), ..Variant::default() };
        experiment.expand_grids(&variant).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(expand(axes[0], "small"), Ok(()));
    for (axis, allowed) in
        [(axes[0], "allowed: small"), (axes[1], "allowed: none: it has no cases")]
    {
        let error = expand(axis, "large").unwrap_err();
        let parts = ["alternative[0].cases.size.large", "no case of the axis \"size\"", allowed];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
}
