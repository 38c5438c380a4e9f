//! Figures about the limits of flows: computed ones, and shares of them.

use super::Figures;
use crate::limit::{FlowShares, Share};

pub(super) fn figures(out: &mut Figures, p: &str, flow: Option<&FlowShares>) {
    let [free, ordered, best] = match flow {
        Some(FlowShares::Limited { free, ordered, best_path, .. }) => {
            [Some(*free), Some(*ordered), Some(*best_path)]
        }
        Some(FlowShares::Unlimited { .. }) | None => [None; 3],
    };
    put(out, p, "limit", "limit-share", free);
    put(out, p, "ordered-limit", "ordered-limit-share", ordered);
    put(out, p, "best-path", "best-path-share", best);
}

/// Of all saturated flows together.
pub(super) fn joint(out: &mut Figures, joint: Option<Share>) {
    put(out, "", "joint-limit", "joint-limit-share", joint);
}

fn put(out: &mut Figures, p: &str, limit: &str, share: &str, value: Option<Share>) {
    out.put(format!("{p}{limit}"), value.map(|value| value.limit));
    out.put(format!("{p}{share}"), value.and_then(|value| value.share));
}
