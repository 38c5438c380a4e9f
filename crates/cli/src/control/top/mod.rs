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
    let sockets = args.process.sockets()?;
    let sockets_are_none = sockets.is_empty();
    // Who is named has to be there.
    if args.process.process.is_some() {
        sockets.iter().try_for_each(|socket| super::find::look(socket).map(drop))?;
    }
    let source = match args.process.process {
        Some(_) => Source::these(sockets),
        None => Source::all(super::find::folder()?),
    };
    if args.once && sockets_are_none {
        return Err(args.process.nobody());
    }
    if args.once {
        return output::print_text(&screen::print_picture(source)?);
    }
    screen::show(source, true)
}

/// What a process of its own does, live on its terminal, until it is dropped.
pub(crate) struct Live {
    shown: Option<screen::Background>,
}

impl Live {
    /// On stderr, if that is a terminal, what the control socket `own` tells.
    pub(crate) fn new(own: Option<&Path>) -> Self {
        let own = own.filter(|_| screen::is_terminal());
        let show = |own: &Path| screen::Background::new(Source::these(vec![own.to_owned()]));
        Self { shown: own.map(show) }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(shown) = self.shown.take() {
            shown.end();
        }
    }
}
