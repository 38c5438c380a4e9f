//! `docs/evidence/population.md` says what is drawn.

use std::fs;
use std::path::Path;

use polypath_population::distribution_tables;

const BEGIN: &str = "<!-- distributions: begin -->\n";
const END: &str = "<!-- distributions: end -->\n";

/// With `UPDATE_POPULATION_PAGE=1` it writes them there.
#[test]
fn the_page_has_the_distributions_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/population.md");
    let page = fs::read_to_string(&path).expect("readable");
    let (head, rest) = page.split_once(BEGIN).expect("the mark of their beginning");
    let (tables, tail) = rest.split_once(END).expect("the mark of their end");
    let wanted = distribution_tables();
    if std::env::var_os("UPDATE_POPULATION_PAGE").is_some() {
        fs::write(&path, format!("{head}{BEGIN}{wanted}{END}{tail}")).expect("writable");
        return;
    }
    assert_eq!(tables, wanted, "UPDATE_POPULATION_PAGE=1 renews them");
}
