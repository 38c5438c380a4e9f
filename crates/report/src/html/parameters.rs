//! How an experiment was run, and how to run it again.

use polypath_experiments::experiment::{Grid, GridPoint};
use polypath_experiments::reproduce::Study;

use super::page::{Page, escape_html};
use crate::runs::list_settings;

/// Command, grids with their axes, and the settings that all points share.
pub(super) fn write_parameters(page: &mut Page, study: &Study) {
    let grids = &study.points.grids;
    let runs: usize = grids.iter().map(|grid| grid.points.len() * grid.seeds.len()).sum();
    page.push_line("<h4>Parameters</h4>");
    page.push_line(&format!(
        "<p>{runs} runs. Again: <code>{}</code></p>",
        escape_html(&repeat_command(study))
    ));
    page.push_line(
        "<table><tr><th>grid</th><th>axes</th><th class=\"number\">points</th><th>seeds</th></tr>",
    );
    grids.iter().for_each(|grid| grid_row(page, grid));
    page.push_line("</table>");
    page.push_line("<details><summary>Settings that all points share</summary><table>");
    for (name, value) in shared_settings(grids.iter().flat_map(|grid| &grid.points)) {
        page.push_line(&format!(
            "<tr><td>{}</td><td>{}</td></tr>",
            escape_html(&name),
            escape_html(&value)
        ));
    }
    page.push_line("</table><p class=\"soft\">All others are those of the profile.</p></details>");
    page.push_line(&format!(
        "<details><summary>The scenario file</summary><pre>{}</pre></details>",
        escape_html(&study.experiment.scenario_text())
    ));
}

/// What makes the same runs, figures and verdicts.
pub(super) fn repeat_command(study: &Study) -> String {
    let mut command = format!("polypath reproduce {}", study.experiment.head.id);
    if study.options.quick {
        command.push_str(" --quick");
    }
    if let Some(seeds) = study.options.seeds {
        command.push_str(&format!(" --seeds {seeds}"));
    }
    command
}

fn grid_row(page: &mut Page, grid: &Grid) {
    let axis = |axis: &polypath_experiments::experiment::Axis| {
        let labels = axis.labels.join(", ");
        format!("<div><b>{}</b>: {}</div>", escape_html(&axis.name), escape_html(&labels))
    };
    let axes: String = grid.axes.iter().map(axis).collect();
    let seeds = match grid.seeds.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        seeds => seeds.iter().map(ToString::to_string).collect(),
    };
    page.push_line(&format!(
        "<tr><td>{}</td><td>{axes}</td><td class=\"number\">{}</td><td>{seeds}</td></tr>",
        escape_html(&grid.name),
        grid.points.len(),
    ));
}

/// The settings that are the same at all points.
fn shared_settings<'a>(points: impl IntoIterator<Item = &'a GridPoint>) -> Vec<(String, String)> {
    let mut points = points.into_iter();
    let Some(first) = points.next() else { return Vec::new() };
    let mut shared = list_settings(&first.scenario);
    for point in points {
        let own = list_settings(&point.scenario);
        shared.retain(|setting| own.contains(setting));
    }
    shared
}
