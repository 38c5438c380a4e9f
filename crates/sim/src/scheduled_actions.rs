//! Actions of the specification with their names looked up.

use polypath_link::Nanos;
use polypath_proto::PathId;
use polypath_proto::view::PathAdmin;

use crate::network::Network;
use crate::spec::{Action, ActionSpec, FlowSpec};

/// What to do to the world.
#[derive(Clone, Debug)]
pub(crate) enum ScheduledAction {
    /// Takes links up or down.
    Links(Vec<usize>, bool),
    /// Sets the wish for a path of a flow's client.
    PathAdmin(usize, PathId, PathAdmin),
    /// Closes a flow gracefully.
    Shutdown(usize),
    /// Aborts a flow.
    Abort(usize),
}

/// ScheduledActions to be done, in order of time; equal times keep their order.
#[derive(Debug)]
pub(crate) struct ScheduledActions {
    /// Latest first.
    pending: Vec<(Nanos, ScheduledAction)>,
}

impl ScheduledActions {
    pub(crate) fn new(actions: &[ActionSpec], flows: &[FlowSpec], network: &Network) -> Self {
        let bound =
            actions.iter().filter_map(|a| Some((a.at, resolve_names(&a.action, flows, network)?)));
        let mut pending: Vec<_> = bound.collect();
        pending.sort_by_key(|(at, _)| *at);
        pending.reverse();
        Self { pending }
    }

    pub(crate) fn next_at(&self) -> Option<Nanos> {
        self.pending.last().map(|(at, _)| *at)
    }

    pub(crate) fn take_due(&mut self, now: Nanos) -> Option<ScheduledAction> {
        self.next_at().filter(|&at| at <= now)?;
        self.pending.pop().map(|(_, action)| action)
    }
}

/// `None` only for names that the check of the specification refuses.
fn resolve_names(
    action: &Action,
    flows: &[FlowSpec],
    network: &Network,
) -> Option<ScheduledAction> {
    let flow = |name: &String| flows.iter().position(|flow| flow.name == *name);
    let link = |name: &String| network.link_named(name).map(|link| vec![link]);
    Some(match action {
        Action::CutLink(name) => ScheduledAction::Links(link(name)?, false),
        Action::RestoreLink(name) => ScheduledAction::Links(link(name)?, true),
        Action::CutPath(name) => ScheduledAction::Links(network.links_of_path(name), false),
        Action::RestorePath(name) => ScheduledAction::Links(network.links_of_path(name), true),
        Action::PathAdmin { flow: name, path, admin } => {
            ScheduledAction::PathAdmin(flow(name)?, *path, *admin)
        }
        Action::Shutdown(name) => ScheduledAction::Shutdown(flow(name)?),
        Action::Abort(name) => ScheduledAction::Abort(flow(name)?),
    })
}
