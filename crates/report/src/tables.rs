//! Tables of experiments as Markdown, by themselves and on pages of the documentation.

use crate::figure::{Rows, Tabulated};

/// A table as Markdown, with its heading and note; `level` is that of the heading.
pub fn format_markdown(table: &Tabulated, level: usize) -> String {
    let mut text = format!("{} {}\n", "#".repeat(level), table.title);
    if !table.note.is_empty() {
        text.push_str(&format!("\n{}\n", table.note));
    }
    for (heading, rows) in &table.panels {
        if !heading.is_empty() {
            text.push_str(&format!("\n{} {heading}\n", "#".repeat(level + 1)));
        }
        text.push('\n');
        text.push_str(&format_lines(rows));
    }
    text
}

/// Head and rows.
pub(crate) fn format_lines(rows: &Rows) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape_cell(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let body: String = rows.rows.iter().map(|row| line(row)).collect();
    format!("{}|{}\n{body}", line(&rows.head), "---|".repeat(rows.head.len()))
}

fn escape_cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace("+-", "±")
}

/// Pages of the documentation, name and text: each has the tables that ask for it, below the titles
/// of their experiments. `chapters` are titles, questions and tables in order.
pub fn format_pages(
    chapters: &[(String, String, Vec<Tabulated>)],
    command: &str,
) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    for (title, question, tables) in chapters {
        let mut last = None;
        for table in tables {
            let Some(name) = &table.page else { continue };
            let at = pages.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                pages.push((name.clone(), page_opening(name, command)));
                pages.len() - 1
            });
            let Some((_, text)) = pages.get_mut(at) else { continue };
            if last != Some(name) {
                text.push_str(&format!("\n## {title}\n\n{question}\n"));
                last = Some(name);
            }
            text.push('\n');
            text.push_str(&format_markdown(table, 3));
        }
    }
    pages
}

/// The file's name as a heading, and where the page comes from.
fn page_opening(name: &str, command: &str) -> String {
    let words = name.replace('-', " ");
    let mut letters = words.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!(
        "# {first}{}\n\nMade by `{command}`; the same command makes the same page.\n",
        letters.as_str()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_several_experiments_share_a_page() {
        let table = |name: &str, page: Option<&str>| Tabulated {
            name: name.into(),
            title: format!("Table {name}"),
            note: "Per cent.".into(),
            page: page.map(str::to_owned),
            panels: vec![(
                "one".into(),
                Rows {
                    head: vec!["x".into(), "a|b".into()],
                    rows: vec![vec!["1".into(), "2 +- 3".into()]],
                },
            )],
        };
        let (one, two) = (
            vec![table("a", Some("my-page")), table("b", None)],
            vec![table("c", Some("my-page"))],
        );
        let pages = format_pages(
            &[("First".into(), "Why?".into(), one), ("Second".into(), "How?".into(), two)],
            "polypath x",
        );
        assert_eq!(pages.len(), 1);
        assert_eq!(pages[0].0, "my-page");
        let wanted = "# My page\n\nMade by `polypath x`; the same command makes the same page.\n\
            \n## First\n\nWhy?\n\n### Table a\n\nPer cent.\n\n#### one\n\n| x | a\\|b |\n|---|---|\n| 1 | 2 ± 3 |\n\
            \n## Second\n\nHow?\n\n### Table c\n\nPer cent.\n\n#### one\n\n| x | a\\|b |\n|---|---|\n| 1 | 2 ± 3 |\n";
        assert_eq!(pages[0].1, wanted);
    }
}
