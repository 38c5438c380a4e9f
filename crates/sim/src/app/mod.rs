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

pub(crate) use io::{App, AppIo, UNLIMITED_BACKLOG};
pub(crate) use side_stream::SideStream;

use crate::spec::AppSpec;

/// Makes the application that `spec` describes.
pub(crate) fn build_app(spec: &AppSpec) -> Box<dyn App> {
    match *spec {
        AppSpec::Saturated { messages, refill } => {
            Box::new(saturated::Saturated::new(messages, refill))
        }
        AppSpec::File { messages, .. } => Box::new(file::File::new(messages)),
        AppSpec::ConstantRate { messages, rate } => {
            Box::new(paced::ConstantRate::new(messages, rate))
        }
        AppSpec::OnOff { messages, rate, on, off } => {
            Box::new(onoff::OnOff::new(messages, rate, on, off))
        }
        AppSpec::RequestResponse { think, count, .. } => {
            Box::new(request::Requests::new(think, count))
        }
    }
}
