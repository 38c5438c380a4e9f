//! Looking into running processes: their control sockets, and who asks there.

mod ask;
mod exporter;
mod figures;
mod find;
mod own;
mod ss;
mod top;

pub(crate) use self::ask::{ControlCommandArgs, control};
pub(crate) use self::exporter::{ExporterArgs, exporter};
pub(crate) use self::own::{ControlArgs, OwnControl};
pub(crate) use self::ss::{Overview, SsArgs, ss};
pub(crate) use self::top::{Live, TopArgs, top};

use polypath_control::client::AskError;

use crate::failure::Failure;

/// Nobody answers.
const UNREACHABLE: u8 = 3;

fn ask_failure(error: AskError) -> Failure {
    match error {
        AskError::Refused(_) => Failure::bad_input(error),
        error => Failure::with_code(UNREACHABLE, error),
    }
}
