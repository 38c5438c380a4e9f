//! What a receiver does with types that it does not know.

/// What the top two bits of an unknown chunk or parameter type ask for (RFC 9260 sections
/// 3.2 and 3.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownAction {
    /// `00`: stop processing the packet (of a parameter: the chunk).
    Stop,
    /// `01`: stop processing and report.
    StopAndReport,
    /// `10`: skip it and go on.
    Skip,
    /// `11`: skip it, report, and go on.
    SkipAndReport,
}

impl UnknownAction {
    /// From a type's most significant byte.
    pub(crate) const fn from_top_bits(byte: u8) -> Self {
        match byte >> 6 {
            0 => Self::Stop,
            1 => Self::StopAndReport,
            2 => Self::Skip,
            _ => Self::SkipAndReport,
        }
    }

    /// Whether the rest of what holds the unknown item must be left alone.
    #[must_use]
    pub const fn stops_processing(self) -> bool {
        matches!(self, Self::Stop | Self::StopAndReport)
    }

    /// Whether the sender is to be told.
    #[must_use]
    pub const fn reports_item(self) -> bool {
        matches!(self, Self::StopAndReport | Self::SkipAndReport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RawChunk, RawParam};

    #[test]
    fn the_top_two_bits_decide() {
        let actions = [
            (0x0c, UnknownAction::Stop, true, false),
            (0x7f, UnknownAction::StopAndReport, true, true),
            (0x81, UnknownAction::Skip, false, false),
            (0xfe, UnknownAction::SkipAndReport, false, true),
        ];
        for (kind, action, stops, reports) in actions {
            assert_eq!(RawChunk::unknown_action(kind), action);
            assert_eq!(RawParam::unknown_action(u16::from(kind) << 8 | 0xff), action);
            assert_eq!((action.stops_processing(), action.reports_item()), (stops, reports));
        }
    }
}
