//! `polypath top`: what associations do, live, and why they do no more.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a live picture has the time of this host, and threads that look"
)]

mod draw;
mod look;
mod model;
mod screen;
#[cfg(test)]
mod tests;

use std::path::Path;

use clap::Args;

use self::look::Source;
use super::find::ProcessArgs;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    process: ProcessArgs,
    /// Look for a second, print the picture as text, and end; no terminal is needed.
    #[arg(long)]
    once: bool,
}

pub(crate) fn top(args: &TopArgs) -> Result<(), Failure> {
    if !args.once && !screen::is_terminal() {
        return Err(Failure::bad_input(
            "top needs a terminal (allowed: --once, `polypath ss`, and `polypath control` for \
             scripts)",
        ));
    }
    let found = args.process.look()?;
    let source = match args.process.process {
        // Who is named has to be there.
        Some(_) => {
            let sockets = found.into_iter().map(|(socket, status)| status.map(|_| socket));
            Source::These(sockets.collect::<Result<_, _>>()?)
        }
        None if args.once && found.is_empty() => return Err(args.process.nobody()),
        None => Source::All(super::find::folder()?),
    };
    match args.once {
        true => output::print_text(&screen::print_picture(source)?),
        false => screen::show(source),
    }
}

/// What a process of its own does, live on its terminal, until it is dropped.
pub(crate) struct Live {
    shown: Option<screen::Background>,
}

impl Live {
    /// On stderr what the control socket `own` tells.
    ///
    /// # Errors
    /// Why there is no picture.
    pub(crate) fn new(own: Option<&Path>) -> Result<Self, String> {
        let own = own.ok_or("without a control socket there is no picture")?;
        if !screen::is_terminal() {
            return Err("without a terminal there is no picture".to_owned());
        }
        let shown = screen::Background::new(Source::These(vec![own.to_owned()]));
        shown.map(|shown| Self { shown: Some(shown) }).map_err(|error| format!("terminal: {error}"))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(shown) = self.shown.take() {
            shown.end();
        }
    }
}
