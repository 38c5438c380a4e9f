//! `polypath top`: what associations do, live, and why they do no more.

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

#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    process: ProcessArgs,
}

pub(crate) fn top(args: &TopArgs) -> Result<(), Failure> {
    if !screen::is_terminal() {
        return Err(Failure::bad_input(
            "top needs a terminal (allowed: `polypath ss` for once, `polypath control` for scripts)",
        ));
    }
    let sockets = args.process.sockets()?;
    // Who is named has to be there.
    if args.process.process.is_some() {
        sockets.iter().try_for_each(|socket| super::find::look(socket).map(drop))?;
    }
    let source = match args.process.process {
        Some(_) => Source::these(sockets),
        None => Source::all(super::find::folder()?),
    };
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
