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
            if table.data {
                text.push_str(&format!(
                    "### {}\n\nAll figures: [{name}.csv]({name}.csv)\n",
                    table.title
                ));
            } else {
                text.push_str(&format_markdown(table, 3));
            }
        }
    }
    pages
}

/// The files of data beside the pages, name and CSV: a line for each figure of the tables that ask
/// for that.
///
/// # Errors
/// None that memory would give: what writes CSV has one.
pub(crate) fn format_data(
    chapters: &[(String, String, Vec<Tabulated>)],
) -> Result<Vec<(String, Vec<u8>)>, csv::Error> {
    let all = chapters.iter().flat_map(|(title, _, tables)| tables.iter().map(move |t| (title, t)));
    let mut files: Vec<(String, csv::Writer<Vec<u8>>)> = Vec::new();
    for (title, table) in all.filter(|(_, table)| table.data) {
        let Some(name) = &table.page else { continue };
        let at = files.iter().position(|(known, _)| known == name).unwrap_or(files.len());
        if at == files.len() {
            let mut file = csv::Writer::from_writer(Vec::new());
            file.write_record(["experiment", "part", "row", "column", "value"])?;
            files.push((name.clone(), file));
        }
        for (heading, rows) in &table.panels {
            let columns = rows.head.get(table.labels..).unwrap_or_default();
            for row in &rows.rows {
                let (labels, values) = row.split_at(table.labels.min(row.len()));
                let label = labels.join(", ");
                for (column, value) in columns.iter().zip(values) {
                    files[at].1.write_record([title, heading, &label, column, value])?;
                }
            }
        }
    }
    let whole = |(name, file): (String, csv::Writer<Vec<u8>>)| {
        file.into_inner().map(|bytes| (name, bytes)).map_err(|error| error.into_error().into())
    };
    files.into_iter().map(whole).collect()
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
            data: false,
            labels: 1,
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

    #[test]
    fn tables_of_data_stand_in_a_file_beside_their_page() {
        let rows = Rows {
            head: ["buffer", "", "rr", "fixed"].map(str::to_owned).to_vec(),
            rows: vec![["64 KiB", "goodput Mbit/s", "1.5", "-"].map(str::to_owned).to_vec()],
        };
        let table = Tabulated {
            name: "all".into(),
            title: "All".into(),
            note: String::new(),
            page: Some("page".into()),
            data: true,
            labels: 2,
            panels: vec![("two, equal".into(), rows)],
        };
        let chapters = [("First".into(), "Why?".into(), vec![table])];
        let pages = format_pages(&chapters, "polypath x");
        assert!(
            pages[0].1.ends_with("### All\n\nAll figures: [page.csv](page.csv)\n"),
            "{pages:?}"
        );
        let data = format_data(&chapters).unwrap();
        let text = String::from_utf8(data[0].1.clone()).unwrap();
        let wanted = "experiment,part,row,column,value\n\
            First,\"two, equal\",\"64 KiB, goodput Mbit/s\",rr,1.5\n\
            First,\"two, equal\",\"64 KiB, goodput Mbit/s\",fixed,-\n";
        assert_eq!((data.len(), data[0].0.as_str(), text.as_str()), (1, "page", wanted));
    }
}
