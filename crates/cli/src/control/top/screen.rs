//! The terminal: drawing, keys, and leaving it as it was.

use std::io::{self, IsTerminal as _, Stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use polypath_control::message::Use;
use ratatui::Terminal;
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::buffer::Cell;

use super::draw::draw;
use super::look::{News, Source, set_path};
use super::model::Model;
use crate::failure::Failure;

/// How long keys are waited for before the picture is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// How long is looked for one picture, and its size.
const ONCE: Duration = Duration::from_millis(1400);
const COLUMNS: u16 = 80;
const ROWS: u16 = 30;

/// Whether pictures can be drawn.
pub(super) fn is_terminal() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// The terminal as pictures want it, until it is dropped.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    reads_keys: bool,
}

impl Screen {
    fn new(reads_keys: bool) -> io::Result<Self> {
        let mut terminal = Terminal::new(CrosstermBackend::new(io::stderr()))?;
        if reads_keys {
            crossterm::terminal::enable_raw_mode()?;
        }
        // Terminal::clear would ask where the cursor is, which not every terminal says.
        let all = Clear(ClearType::All);
        crossterm::execute!(terminal.backend_mut(), EnterAlternateScreen, all)?;
        Ok(Self { terminal, reads_keys })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _hung_up = self.terminal.show_cursor();
        let _hung_up = crossterm::execute!(self.terminal.backend_mut(), LeaveAlternateScreen);
        if self.reads_keys {
            let _hung_up = crossterm::terminal::disable_raw_mode();
        }
    }
}

/// Shows what there is until the user has seen enough.
pub(super) fn show(source: Source, reads_keys: bool) -> Result<(), Failure> {
    run(source, reads_keys, &AtomicBool::new(false))
        .map_err(|error| Failure::run_failed(format!("terminal: {error}")))
}

fn run(source: Source, reads_keys: bool, ended: &AtomicBool) -> io::Result<()> {
    let news = source.watch();
    let mut model = Model::default();
    let mut screen = Screen::new(reads_keys)?;
    while !ended.load(Ordering::Relaxed) {
        if !take_news(&news, &mut model) && model.processes() == 0 {
            return Ok(());
        }
        screen.terminal.draw(|frame| draw(frame, &model))?;
        if !reads_keys {
            std::thread::sleep(TICK);
        } else if crossterm::event::poll(TICK)?
            && let Event::Key(key) = crossterm::event::read()?
            && key.kind != KeyEventKind::Release
            && !act(&mut model, key)
        {
            return Ok(());
        }
    }
    Ok(())
}

/// The picture after a second, as text of 80 columns: rates want two looks.
pub(super) fn print_picture(source: Source) -> Result<String, Failure> {
    let failed = |error| Failure::run_failed(format!("picture: {error}"));
    let news = source.watch();
    let mut model = Model::default();
    let until = Instant::now() + ONCE;
    while Instant::now() < until && (take_news(&news, &mut model) || model.processes() > 0) {
        std::thread::sleep(TICK);
    }
    let mut terminal = Terminal::new(TestBackend::new(COLUMNS, ROWS)).map_err(failed)?;
    terminal.draw(|frame| draw(frame, &model)).map_err(failed)?;
    let buffer = terminal.backend().buffer();
    let cells = buffer.content().chunks(usize::from(COLUMNS));
    let line = |cells: &[Cell]| cells.iter().map(Cell::symbol).collect::<String>();
    let lines: Vec<String> = cells.map(|cells| line(cells).trim_end().to_owned()).collect();
    // The last line is that of keys.
    let shown = lines.get(..lines.len().saturating_sub(1)).unwrap_or_default();
    Ok(shown.join("\n").trim_end().to_owned() + "\n")
}

/// Whether there may be more.
fn take_news(news: &Receiver<News>, model: &mut Model) -> bool {
    loop {
        match news.try_recv() {
            Ok(News::Status(socket, status)) => model.note_status(Instant::now(), socket, status),
            Ok(News::Event(pid, event)) => model.note_event(pid, event),
            Ok(News::Gone(pid)) => model.note_gone(pid),
            Err(TryRecvError::Empty) => return true,
            Err(TryRecvError::Disconnected) => return false,
        }
    }
}

/// Whether to go on.
fn act(model: &mut Model, key: KeyEvent) -> bool {
    model.message.clear();
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Tab | KeyCode::Right => model.step(true),
        KeyCode::BackTab | KeyCode::Left => model.step(false),
        KeyCode::Up => model.row = model.row.saturating_sub(1),
        KeyCode::Down => {
            let rows = model.shown().map_or(0, |shown| shown.paths.len());
            model.row = (model.row + 1).min(rows.saturating_sub(1));
        }
        KeyCode::Char('s') => model.sort = model.sort.next(),
        KeyCode::Char('n') => switch(model, Use::On),
        KeyCode::Char('b') => switch(model, Use::Backup),
        KeyCode::Char('x') => switch(model, Use::Off),
        _ => {}
    }
    true
}

fn switch(model: &mut Model, to: Use) {
    let Some((socket, association, path)) = model.chosen_path() else { return };
    model.message = set_path(&socket, &path, to, association);
}

/// A picture of this process itself, while it works.
pub(super) struct Background {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Background {
    pub(super) fn new(source: Source) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        let until = ended.clone();
        let thread = std::thread::spawn(move || {
            // Without a picture the work goes on.
            let _no_picture = run(source, false, &until);
        });
        Self { ended, thread }
    }

    /// Leaves the terminal as it was.
    pub(super) fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        let _panicked = self.thread.join();
    }
}
