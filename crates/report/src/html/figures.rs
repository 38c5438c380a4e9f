//! A page of figures with captions, and tables as text below them.

use super::page::{Page, escape_html};

/// A figure and what it shows.
#[derive(Clone, Debug)]
pub struct Captioned {
    /// In a sentence or two.
    pub caption: String,
    /// An SVG document.
    pub svg: String,
}

/// What stands on the page.
#[derive(Clone, Debug)]
pub struct FigurePage {
    /// Heading.
    pub title: String,
    /// The command that makes the page.
    pub command: String,
    /// In their order.
    pub figures: Vec<Captioned>,
    /// Tables as text.
    pub tables: String,
}

/// The page, which needs nothing else.
pub fn render_figures(content: &FigurePage) -> String {
    let mut page = Page::with_title(&content.title);
    let command = escape_html(&content.command);
    page.push_line(&format!("<p class=\"lead\">Made by <code>{command}</code>.</p>"));
    for Captioned { caption, svg } in &content.figures {
        let caption = escape_html(caption);
        page.push_line(&format!("<figure>{svg}<figcaption>{caption}</figcaption></figure>"));
    }
    page.push_line(&format!("<h2>Tables</h2><pre>{}</pre>", escape_html(&content.tables)));
    page.finish("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_figures_captions_and_tables() {
        let svg = "<svg></svg>".to_owned();
        let page = render_figures(&FigurePage {
            title: "A & B".to_owned(),
            command: "polypath x".to_owned(),
            figures: vec![Captioned { caption: "a < b".to_owned(), svg }],
            tables: "| a | b |".to_owned(),
        });
        for part in ["A &amp; B", "<code>polypath x</code>", "<svg></svg>", "a &lt; b", "| a | b |"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert!(!page.contains("<script") && !page.contains("src="));
    }
}
