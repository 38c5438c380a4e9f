//! What generates traffic. An application is asked to run whenever it may be able to do something:
//! when its flow starts, when the send buffer got room, when a response came, and at the time that
//! it names.

mod file;
mod io;
mod onoff;
mod paced;
mod request;
mod saturated;
mod side_stream;
mod sizes;

pub(crate) use io::{App, AppIo, UNLIMITED_BACKLOG};
pub(crate) use side_stream::SideStream;

use io::Turn;
use polypath_proto::rng::Rng;

use crate::spec::AppSpec;

/// Makes the application that `spec` describes; sizes that vary are drawn from `sizes`.
pub(crate) fn build_app(spec: &AppSpec, sizes: Rng) -> Box<dyn App> {
    let turn = |messages| Turn::new(messages, sizes);
    match *spec {
        AppSpec::Saturated { messages, refill } => {
            Box::new(saturated::Saturated::new(turn(messages), refill))
        }
        AppSpec::File { messages, .. } => Box::new(file::File::new(turn(messages))),
        AppSpec::ConstantRate { messages, rate } => {
            Box::new(paced::ConstantRate::new(turn(messages), rate))
        }
        AppSpec::OnOff { messages, rate, on, off } => {
            Box::new(onoff::OnOff::new(turn(messages), rate, on, off))
        }
        AppSpec::RequestResponse { think, count, .. } => {
            Box::new(request::Requests::new(think, count))
        }
    }
}
