//! Receivers as other stacks are: what they report, how late, and what they do not know.

use std::collections::BTreeSet;

use polypath_proto::config::{Extension, NrSack, SackPath};
use polypath_scenario::StackSettings;
use polypath_scenario::units::{Delay, Packets};

use crate::feature::Feature;

/// SACK.Delay of RFC 9260 section 6.2, which all three keep.
const SACK_DELAY: Delay = Delay(200_000_000);

/// What the receiver differs in from ours, if it is another stack.
pub(crate) fn foreign_receiver(features: &BTreeSet<Feature>) -> Option<StackSettings> {
    // None of them counts packets for DAC, marks chunks as non-renegable unless asked to, or
    // chooses another way back than that of the data.
    let common = StackSettings {
        sack_delay: Some(SACK_DELAY),
        sack_every: Some(Packets(2)),
        sack_path: Some(SackPath::LastData),
        nr_sack: Some(NrSack::Off),
        dac: Some(false),
        ..StackSettings::default()
    };
    if features.contains(&Feature::LinuxReceiver) {
        // SCTP_MAX_GABS of Linux is 16; none of its extensions is on by default.
        let extensions = Some(Vec::new());
        return Some(StackSettings { max_gap_blocks: Some(16), extensions, ..common });
    }
    if features.contains(&Feature::UsrsctpReceiver) {
        let extensions =
            vec![Extension::Auth, Extension::Asconf, Extension::PrSctp, Extension::ReConfig];
        return Some(StackSettings { extensions: Some(extensions), ..common });
    }
    if features.contains(&Feature::WebrtcReceiver) {
        // The stack of libwebrtc reports at most 20 blocks.
        let extensions = Some(vec![Extension::PrSctp, Extension::ReConfig]);
        return Some(StackSettings { max_gap_blocks: Some(20), extensions, ..common });
    }
    None
}
