//! The picture of a [`Model`].

use polypath_apps::shown::escape_text;
use polypath_control::message::{AssociationStatus, Use};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

use super::super::ask::describe_event;
use super::super::figures::{bytes, clock, percent, rate, time};
use super::super::ss::unsent;
use super::model::{Model, PathRow, Shown};

/// From this width on a path takes one line.
const WIDE: u16 = 130;

/// Streams that are shown.
const STREAMS: usize = 4;

const KEYS: &str = "q quit  tab next  up/down path  n on  b backup  x off  s sort";

pub(super) fn draw(frame: &mut Frame<'_>, model: &Model) {
    let area = frame.area();
    let Some(shown) = model.shown() else { return draw_empty(frame, area, model) };
    let paths = u16::try_from(shown.paths.len()).unwrap_or(u16::MAX);
    let each = if area.width >= WIDE { 1 } else { 2 };
    let streams = shown.association.streams.as_ref().map_or(0, Vec::len).min(STREAMS);
    let streams = if streams == 0 { 0 } else { u16::try_from(streams).unwrap_or(0) + 1 };
    let [head, table, below, waiting, happened, foot] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Max(paths.saturating_mul(each).saturating_add(1)),
        Constraint::Length(3),
        Constraint::Length(streams),
        Constraint::Min(2),
        Constraint::Length(1),
    ])
    .areas(area);
    draw_head(frame, head, &shown);
    draw_paths(frame, table, &shown);
    draw_limits(frame, below, &shown);
    draw_streams(frame, waiting, shown.association);
    draw_events(frame, happened, &shown);
    draw_foot(frame, foot, model);
}

const fn strong() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

const fn faint() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

fn draw_empty(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let text = match model.processes() {
        0 => "no process of this user has a control socket yet",
        _ => "no association yet",
    };
    let end = if model.has_keys { "q quit" } else { "Ctrl-C ends" };
    frame.render_widget(Paragraph::new(vec![Line::raw(text), Line::raw(""), Line::raw(end)]), area);
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>) {
    let of = shown.association;
    let (place, all) = shown.place;
    let title = format!(
        "{} (process {})  association {}, {place} of {all}",
        escape_text(&shown.process.command),
        shown.process.pid,
        of.association
    );
    let lock = if of.encrypted { "encrypted" } else { "NOT encrypted" };
    let state = format!("{} with {}, {lock}", escape_text(&of.state), of.peer);
    let (out, into) =
        shown.paths.iter().fold((0.0, 0.0), |(o, i), row| (o + row.out, i + row.into));
    let rates = format!(
        "out {}, in {}   sent {}, received {}",
        rate(out),
        rate(into),
        bytes(of.totals.sent_bytes),
        bytes(of.totals.delivered_bytes)
    );
    let lines =
        vec![Line::styled(title, strong()), Line::raw(state), Line::styled(rates, strong())];
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_paths(frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>) {
    let wide = area.width >= WIDE;
    let mut heads =
        vec!["PATH", "STATE", "OUT", "IN", "SHARE", "RTT", "FLOOR", "LOSS", "WINDOW", "IN FLIGHT"];
    let mut widths = vec![
        Constraint::Length(if wide { 20 } else { 11 }),
        Constraint::Length(if wide { 18 } else { 8 }),
        Constraint::Length(11),
        Constraint::Length(11),
        Constraint::Length(5),
        Constraint::Length(7),
        Constraint::Length(7),
        Constraint::Length(6),
    ];
    if wide {
        widths.extend([Constraint::Length(8), Constraint::Length(9), Constraint::Min(20)]);
        heads.push("LIMITED BY");
    } else {
        heads.truncate(8);
    }
    let rows: Vec<_> = shown.paths.iter().map(|row| path_row(row, wide)).collect();
    let table = Table::new(rows, widths)
        .header(Row::new(heads).style(faint()))
        .column_spacing(1)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::default().with_selected(shown.row);
    frame.render_stateful_widget(table, area, &mut state);
    if !wide {
        draw_reasons(frame, area, shown, state.offset());
    }
}

fn path_row(row: &PathRow, wide: bool) -> Row<'static> {
    let path = &row.path;
    let rtt = |rtt: Option<f64>| rtt.map_or("-".to_owned(), time);
    let mut cells = vec![
        escape_text(&path.name),
        state_of(row),
        rate(row.out),
        rate(row.into),
        percent(row.share),
        rtt(path.rtt),
        rtt(path.min_rtt),
        percent(row.loss),
    ];
    if wide {
        cells.extend([bytes(path.cwnd), bytes(path.in_flight), escape_text(&path.limited_by)]);
    }
    let style = if path.trouble { Style::new().fg(Color::Red) } else { Style::new() };
    Row::new(cells.into_iter().map(Cell::from)).height(if wide { 1 } else { 2 }).style(style)
}

fn state_of(row: &PathRow) -> String {
    match row.path.admin {
        _ if row.path.trouble => escape_text(&row.path.state),
        Use::On => escape_text(&row.path.state),
        Use::Backup => "backup".to_owned(),
        Use::Off => "off".to_owned(),
    }
}

/// What limits each path, on the second line of its row.
fn draw_reasons(frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>, first: usize) {
    for (place, row) in shown.paths.iter().skip(first).enumerate() {
        let y = u16::try_from(2 * place + 2).unwrap_or(u16::MAX);
        if y >= area.height {
            return;
        }
        let line = Rect { y: area.y + y, height: 1, ..area };
        let path = &row.path;
        let why = format!(
            "  window {}, in flight {}; {}",
            bytes(path.cwnd),
            bytes(path.in_flight),
            escape_text(&path.limited_by)
        );
        let style = if path.trouble { Style::new().fg(Color::Red) } else { faint() };
        frame.render_widget(Line::styled(why, style), line);
    }
}

fn draw_limits(frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>) {
    let of = shown.association;
    let shares: Vec<_> = shown
        .limits
        .iter()
        .take(4)
        .map(|(limit, share)| format!("{} {}", escape_text(limit), percent(*share)))
        .collect();
    let now = format!("limited by: {}", escape_text(&of.limited_by));
    let lately = format!("lately: {}", shares.join(", "));
    let b = &of.buffers;
    let send_size = b.send_size.map_or("no limit".to_owned(), bytes);
    let buffers = format!(
        "send buffer {} of {send_size}, {} unsent; receive buffer {} of {}, {} out of order",
        bytes(b.send_used),
        bytes(b.unsent),
        bytes(b.receive_used.into()),
        bytes(b.receive_size.into()),
        bytes(b.receive_out_of_order.into())
    );
    let lines = vec![Line::styled(now, strong()), Line::raw(lately), Line::raw(buffers)];
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_streams(frame: &mut Frame<'_>, area: Rect, of: &AssociationStatus) {
    let mut lines = vec![Line::styled("STREAMS THAT WAIT LONGEST", faint())];
    for stream in of.streams.iter().flatten().take(STREAMS) {
        let path = stream.path.as_ref().map_or(String::new(), |path| format!(" on {path}"));
        let line = format!(
            "{:>5}  {:>7}  for {}{path}{}, {} unacknowledged",
            stream.stream,
            time(stream.waits),
            stream.on,
            unsent(stream),
            bytes(stream.unacknowledged)
        );
        lines.push(Line::raw(escape_text(&line)));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_events(frame: &mut Frame<'_>, area: Rect, shown: &Shown<'_>) {
    let room = usize::from(area.height.saturating_sub(1));
    let latest = shown.events.iter().rev().take(room);
    let mut lines = vec![Line::styled("EVENTS", faint())];
    for event in latest {
        let text = format!("  {}", describe_event(event));
        lines.push(Line::from(vec![Span::styled(clock(event.time), faint()), Span::raw(text)]));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, model: &Model) {
    let text = match (model.message.is_empty(), model.has_keys) {
        (false, _) => escape_text(&model.message),
        (true, true) => format!("{KEYS} (by {})", model.sort.word()),
        (true, false) => "Ctrl-C ends".to_owned(),
    };
    frame.render_widget(Line::styled(text, faint()), area);
}
