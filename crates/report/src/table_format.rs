//! Tables of results in the formats that people take them on in.

use std::fmt;
use std::str::FromStr;

use crate::figure::Rows;
use crate::tables::format_lines;
use crate::text::split_columns;

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableFormat {
    /// For the terminal.
    #[default]
    Text,
    /// For pages.
    Markdown,
    /// For programs: numbers in base units, a column for each.
    Csv,
    /// For papers, without packages.
    Latex,
}

impl TableFormat {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Csv => "csv",
            Self::Latex => "latex",
        }
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for TableFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::Text, Self::Markdown, Self::Csv, Self::Latex];
        let found = all.into_iter().find(|format| format.name() == name);
        let allowed = all.map(Self::name).join(", ");
        found.ok_or_else(|| format!("no format {name:?} (allowed: {allowed})"))
    }
}

/// A table and what stands around it.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Above it; may be empty.
    pub title: String,
    /// Head and rows.
    pub rows: Rows,
    /// So many of the first columns say what a row is of; figures follow.
    pub labels: usize,
}

/// Tables one below the other, and a note below them, which may be empty. CSV is the tables alone.
pub fn format_listings(listings: &[Listing], note: &str, format: TableFormat) -> String {
    let one = |listing: &Listing| match format {
        TableFormat::Text => {
            let table = split_columns(&listing.rows, listing.labels);
            if listing.title.is_empty() { table } else { format!("{}\n\n{table}", listing.title) }
        }
        TableFormat::Markdown => {
            let table = format_lines(&listing.rows);
            if listing.title.is_empty() {
                table
            } else {
                format!("**{}**\n\n{table}", listing.title)
            }
        }
        TableFormat::Csv => format_csv(&listing.rows),
        TableFormat::Latex => format_latex(listing),
    };
    let tables = listings.iter().map(one).collect::<Vec<_>>().join("\n");
    match format {
        _ if note.is_empty() => tables,
        TableFormat::Text => format!("{tables}\n{note}\n"),
        TableFormat::Markdown => format!("{tables}\n{}\n", note.replace("+-", "±")),
        TableFormat::Latex => format!("{tables}% {note}\n"),
        TableFormat::Csv => tables,
    }
}

fn format_csv(rows: &Rows) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for cells in std::iter::once(&rows.head).chain(&rows.rows) {
        // Writing to memory does not fail, and all rows are as long as the head.
        let _ = writer.write_record(cells);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn format_latex(listing: &Listing) -> String {
    let Listing { title, rows, labels } = listing;
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| latex_cell(cell)).collect();
        format!("{} \\\\\n", cells.join(" & "))
    };
    let columns = "l".repeat(*labels) + &"r".repeat(rows.head.len().saturating_sub(*labels));
    let caption = match title.as_str() {
        "" => String::new(),
        title => format!("\\caption{{{}}}\n", escape_latex(title)),
    };
    let body: String = rows.rows.iter().map(|row| line(row)).collect();
    format!(
        "\\begin{{table}}\n\\centering\n{caption}\\begin{{tabular}}{{{columns}}}\n\\hline\n{}\\hline\n\
         {body}\\hline\n\\end{{tabular}}\n\\end{{table}}\n",
        line(&rows.head)
    )
}

/// Figures with an interval are mathematics, and so are negative ones, which have no hyphen.
fn latex_cell(text: &str) -> String {
    let number = |text: &str| text.parse::<f64>().is_ok();
    match text.split_once(" +- ") {
        Some((mean, half)) if number(mean) && number(half) => format!("${mean} \\pm {half}$"),
        _ if number(text) && text.starts_with(['-', '+']) => format!("${text}$"),
        _ => escape_latex(text).replace("+-", "$\\pm$"),
    }
}

fn escape_latex(text: &str) -> String {
    let escape = |letter: char| match letter {
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '<' => "\\textless{}".to_owned(),
        '>' => "\\textgreater{}".to_owned(),
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{letter}"),
        other => other.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing() -> Listing {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = Rows {
            head: row(["stack.path_scheduler", "10 %", "a|b"]),
            rows: vec![row(["rr", "1.20 +- 0.05", "-3"]), row(["cmt, out", "-", "7"])],
        };
        Listing { title: "goodput (Mbit/s)".into(), rows, labels: 1 }
    }

    fn shown(format: &str) -> String {
        format_listings(&[listing()], "Mean +- half.", format.parse().unwrap())
    }

    #[test]
    fn text_stands_in_columns() {
        assert_eq!(
            shown("text"),
            "goodput (Mbit/s)\n\nstack.path_scheduler          10 %  a|b\n\
             rr                    1.20 +- 0.05   -3\ncmt, out                         -    7\n\
             \nMean +- half.\n"
        );
    }

    #[test]
    fn markdown_escapes_bars() {
        assert_eq!(
            shown("markdown"),
            "**goodput (Mbit/s)**\n\n| stack.path_scheduler | 10 % | a\\|b |\n|---|---|---|\n\
             | rr | 1.20 ± 0.05 | -3 |\n| cmt, out | - | 7 |\n\nMean ± half.\n"
        );
    }

    #[test]
    fn csv_is_the_table_alone() {
        let wanted = "stack.path_scheduler,10 %,a|b\nrr,1.20 +- 0.05,-3\n\"cmt, out\",-,7\n";
        assert_eq!(shown("csv"), wanted);
    }

    #[test]
    fn latex_needs_no_package_and_escapes_what_it_must() {
        assert_eq!(
            shown("latex"),
            "\\begin{table}\n\\centering\n\\caption{goodput (Mbit/s)}\n\\begin{tabular}{lrr}\n\\hline\n\
             stack.path\\_scheduler & 10 \\% & a|b \\\\\n\\hline\n\
             rr & $1.20 \\pm 0.05$ & $-3$ \\\\\ncmt, out & - & 7 \\\\\n\\hline\n\\end{tabular}\n\\end{table}\n\
             % Mean +- half.\n"
        );
        assert_eq!(
            escape_latex("{1}^2 <\\~"),
            "\\{1\\}\\textasciicircum{}2 \\textless{}\\textbackslash{}\\textasciitilde{}"
        );
    }

    #[test]
    fn an_unknown_format_is_refused_with_the_known_ones() {
        let problem = "html".parse::<TableFormat>().unwrap_err();
        assert_eq!(problem, "no format \"html\" (allowed: text, markdown, csv, latex)");
    }
}
