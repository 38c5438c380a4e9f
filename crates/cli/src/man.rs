//! `polypath man`: manual pages from the command's own description.

use std::io::Write as _;

use clap::CommandFactory as _;
use polypath_experiments::output::Output;

use crate::args::{Args, ManArgs};
use crate::failure::{Failure, file_not_written};
use crate::output;
use crate::talk::Talk;

pub(crate) fn man(args: &ManArgs, talk: Talk) -> Result<(), Failure> {
    let pages = render_pages()?;
    let Some(folder) = &args.folder else { return output::print_text(&pages[0].text) };
    std::fs::create_dir_all(folder).map_err(|error| file_not_written(folder, &error))?;
    for page in &pages {
        let path = folder.join(&page.file);
        let unwritten = |error: std::io::Error| file_not_written(&path, &error);
        let mut out = Output::create(&path).map_err(unwritten)?;
        out.write_all(page.text.as_bytes()).and_then(|()| out.keep_file()).map_err(unwritten)?;
    }
    talk.say(format_args!("{} pages written to {}", pages.len(), folder.display()));
    Ok(())
}

/// A manual page.
struct Page {
    /// polypath.1, polypath-simulate.1, ...
    file: String,
    /// roff.
    text: String,
}

/// The page of `polypath`, then one of each command.
fn render_pages() -> Result<Vec<Page>, Failure> {
    // Each command has a page of its own, and `polypath --help` says what `polypath help` says.
    let mut command = Args::command().disable_help_subcommand(true);
    command.build();
    std::iter::once(&command).chain(command.get_subcommands()).map(render_page).collect()
}

fn render_page(command: &clap::Command) -> Result<Page, Failure> {
    // A command calls itself `polypath-simulate` once the whole is built.
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    // What `--version` tells goes over several lines; a page has one for it.
    let one_line = command.clone().long_version(env!("CARGO_PKG_VERSION"));
    let man = clap_mangen::Man::new(one_line);
    let mut text = Vec::new();
    man.render(&mut text).map_err(Failure::run_failed)?;
    Ok(Page { file: format!("{name}.1"), text: String::from_utf8_lossy(&text).into_owned() })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::{Args, render_pages};

    #[test]
    fn every_command_has_a_page_with_its_options_and_examples() {
        let pages = render_pages().unwrap();
        assert_eq!(pages[0].file, "polypath.1");
        for command in Args::command().get_subcommands() {
            let file = format!("polypath-{}.1", command.get_name());
            let page = pages.iter().find(|page| page.file == file).expect(&file);
            assert!(page.text.contains(".SH OPTIONS"), "{file}");
            assert!(page.text.contains("Example"), "{file}");
            assert!(pages[0].text.contains(&file.replace(".1", "(1)").replace('-', "\\-")));
        }
        assert_eq!(pages.len(), Args::command().get_subcommands().count() + 1);
    }
}
