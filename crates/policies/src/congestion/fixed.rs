//! `fixed`: windows that never change.

use polypath_proto::PathId;
use polypath_proto::policy::{AckedInfo, CongestionControl, LossInfo, Policy};
use polypath_proto::view::AssocView;

use crate::entry::{PolicyEntry, Recipe};
use crate::error::PolicyError;
use crate::option::OptionEntry;
use crate::options::Options;

pub(crate) const ENTRY: PolicyEntry = PolicyEntry::congestion("fixed", read_options)
    .summary("windows that never change, for experiments; not for a network that others use")
    .source("Polypath")
    .options(&[OptionEntry {
        name: "cwnd",
        default: "65536",
        values: "<bytes>|<bytes,bytes,...>",
        summary: "window of each path in order; paths not listed have the last",
    }]);

fn read_options(options: &Options<'_>) -> Result<Recipe<dyn CongestionControl>, PolicyError> {
    let windows = options.numbers("cwnd", 1..=u64::MAX)?;
    let Some(&last) = windows.last() else { return Err(options.refuse("cwnd")) };
    Ok(Box::new(move |_, _| Box::new(FixedWindow::new(windows.clone(), last))))
}

/// Windows that never change.
#[derive(Clone, Debug)]
pub struct FixedWindow {
    windows: Vec<u64>,
    others: u64,
}

impl FixedWindow {
    /// The windows of the first paths, and of all others; bytes.
    pub const fn new(windows: Vec<u64>, others: u64) -> Self {
        Self { windows, others }
    }
}

impl Policy for FixedWindow {
    fn name(&self) -> &'static str {
        ENTRY.name
    }
}

impl CongestionControl for FixedWindow {
    fn path_added(&mut self, _view: &AssocView<'_>, _path: PathId) {}

    fn on_acked(&mut self, _view: &AssocView<'_>, _ev: &AckedInfo) {}

    fn on_lost(&mut self, _view: &AssocView<'_>, _ev: &LossInfo) {}

    fn on_resumed(&mut self, _view: &AssocView<'_>, _path: PathId, _mtus: u32) {}

    fn cwnd(&self, path: PathId) -> u64 {
        self.windows.get(path.index()).copied().unwrap_or(self.others)
    }

    fn ssthresh(&self, path: PathId) -> u64 {
        self.cwnd(path)
    }
}

#[cfg(test)]
mod tests {
    use crate::Registry;
    use polypath_proto::PathId;
    use polypath_proto::config::CcConfig;
    use polypath_proto::rng::Rng;

    #[test]
    fn windows_per_path() {
        let make = Registry::builtin().congestion("fixed?cwnd=3000,6000").expect("valid");
        let cc = make(&CcConfig::default(), &mut Rng::from_u64(0));
        assert_eq!([0, 1, 2].map(|i| cc.cwnd(PathId(i))), [3000, 6000, 6000]);
    }

    #[test]
    fn a_window_is_at_least_a_byte() {
        for text in ["fixed?cwnd=0", "fixed?cwnd=", "fixed?cwnd=64KiB"] {
            let error = Registry::builtin().congestion(text).err().expect("refused").to_string();
            assert!(error.contains("allowed: <bytes>|<bytes,bytes,...>"), "{error}");
        }
    }
}
