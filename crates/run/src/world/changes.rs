//! What changes in a run: at set times, again and again, and in what senders want.

use polypath_link as link;
use polypath_proto::PathId;
use polypath_scenario::units::{Delay, Rate};
use polypath_scenario::{Action, Change, Direction, FlowSpec, Repeat, Scenario, Series};
use polypath_sim::spec;

use super::places::{data_direction, directed_name, flow_path_names};

/// What `[[at]]` has in store for one direction of a link.
pub(super) fn build_link_schedule(
    scenario: &Scenario,
    name: &str,
    direction: Direction,
) -> Vec<(u64, link::Change)> {
    let concerns = |change: &&Change| {
        let target = scenario.links_of(&change.target).contains(&name);
        target && change.direction.is_none_or(|only| only == direction)
    };
    scenario.at.iter().filter(concerns).flat_map(build_link_changes).collect()
}

fn build_link_changes(change: &Change) -> impl Iterator<Item = (u64, link::Change)> {
    let Delay(time) = change.time;
    let up = change.action.filter(|action| !action.is_of_nat()).map(link_state);
    let rate = change.rate.map(|Rate(bits)| link::Change::Rate(Some(bits)));
    let delay = change.delay.map(|Delay(ns)| link::Change::Delay(ns));
    let loss = change.loss.map(|p| loss_change(p.as_f64()));
    [up, rate, delay, loss].into_iter().flatten().map(move |change| (time, change))
}

fn link_state(action: Action) -> link::Change {
    link::Change::Up(action == Action::Restore)
}

fn loss_change(p: f64) -> link::Change {
    link::Change::Loss(vec![link::LossModel::Bernoulli(p)])
}

/// What `[[every]]` has in store: one schedule for each field, so that adding a field leaves the
/// draws of the others.
pub(super) fn build_repeat_specs(scenario: &Scenario) -> Vec<spec::RepeatSpec> {
    let mut repeats: Vec<spec::RepeatSpec> = Vec::new();
    for repeat in &scenario.every {
        for (field, states) in build_states(repeat) {
            let name = free_name(&repeats, repeat, field);
            repeats.push(spec::RepeatSpec {
                name,
                links: changed_links(scenario, repeat),
                start: repeat.start.unwrap_or_default().0,
                until: repeat.until.map(|Delay(ns)| ns),
                period: repeat.period.0,
                states,
            });
        }
    }
    repeats
}

/// Target, direction and field make the name, so that the order in the file does not count;
/// schedules that follow one another in time are numbered.
fn free_name(taken: &[spec::RepeatSpec], repeat: &Repeat, field: &str) -> String {
    let plain = match repeat.direction {
        None => format!("{}.{field}", repeat.target),
        Some(direction) => format!("{}.{field}", directed_name(&repeat.target, direction)),
    };
    let name = |n: usize| if n == 0 { plain.clone() } else { format!("{plain}.{n}") };
    let free = |name: &String| taken.iter().all(|other| other.name != *name);
    // There is always one: more names than schedules.
    (0..=taken.len()).map(name).find(free).unwrap_or_default()
}

fn changed_links(scenario: &Scenario, repeat: &Repeat) -> Vec<String> {
    let both = [Direction::Forward, Direction::Reverse];
    let ways = both.into_iter().filter(|way| repeat.direction.is_none_or(|only| only == *way));
    let links = scenario.links_of(&repeat.target);
    ways.flat_map(|way| links.iter().map(move |link| directed_name(link, way))).collect()
}

fn build_states(repeat: &Repeat) -> impl Iterator<Item = (&'static str, spec::States)> {
    use spec::{States, Uniform};
    let in_turn = |list: &[link::Change]| States::InTurn(list.to_vec());
    let rate = repeat.rate.as_ref().map(|series| match series {
        Series::Range(from, to) => States::Uniform(Uniform::Rate(from.0, to.0)),
        Series::List(list) => {
            let change = |rate: &Rate| link::Change::Rate(Some(rate.0));
            States::InTurn(list.iter().map(change).collect())
        }
    });
    let delay = repeat.delay.as_ref().map(|series| match series {
        Series::Range(from, to) => States::Uniform(Uniform::Delay(from.0, to.0)),
        Series::List(list) => {
            States::InTurn(list.iter().map(|delay| link::Change::Delay(delay.0)).collect())
        }
    });
    let loss = repeat.loss.as_ref().map(|series| match series {
        Series::Range(from, to) => States::Uniform(Uniform::Loss(from.as_f64(), to.as_f64())),
        Series::List(list) => {
            States::InTurn(list.iter().map(|loss| loss_change(loss.as_f64())).collect())
        }
    });
    let ups =
        repeat.action.as_ref().map(|list| list.iter().copied().map(link_state).collect::<Vec<_>>());
    let up = ups.map(|ups| in_turn(&ups));
    let fields = [("rate", rate), ("delay", delay), ("loss", loss), ("action", up)];
    fields.into_iter().filter_map(|(field, states)| Some((field, states?)))
}

/// What `[[at]]` wants of paths: one action for each flow that has the path.
pub(super) fn build_path_actions(scenario: &Scenario) -> Vec<spec::ActionSpec> {
    let of_change = |change: &Change| {
        let Delay(at) = change.time;
        let action = |n: usize, flow: &FlowSpec, admin| {
            let meant = change.direction.is_none_or(|only| only == data_direction(flow));
            let position = flow_path_names(scenario, flow).position(|name| name == change.target);
            let path = PathId(u8::try_from(position.filter(|_| meant)?).ok()?);
            let flow = scenario.flow_name(n);
            Some(spec::ActionSpec { at, action: spec::Action::PathAdmin { flow, path, admin } })
        };
        let of_flow = |(n, flow)| action(n, flow, change.admin?);
        scenario.flow.iter().enumerate().filter_map(of_flow).collect::<Vec<_>>()
    };
    scenario.at.iter().flat_map(of_change).collect()
}
