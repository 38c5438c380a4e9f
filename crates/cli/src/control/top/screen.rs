//! The terminal: drawing, keys, and leaving it as it was.

use std::io::{self, IsTerminal as _, Stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossterm::cursor::Show;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use polypath_control::message::Use;
use ratatui::Terminal;
use ratatui::backend::{CrosstermBackend, TestBackend};
use ratatui::buffer::Cell;

use super::draw::draw;
use super::look::{Source, Watch};
use super::model::Model;
use crate::failure::Failure;
use crate::interrupt;

/// How long keys are waited for before the picture is drawn again.
const TICK: Duration = Duration::from_millis(100);

/// How long is looked for one picture, and its size.
const ONCE: Duration = Duration::from_millis(1400);
const COLUMNS: u16 = 80;
const ROWS: u16 = 30;

/// How long the end of the process waits for a picture that a terminal does not take.
const LAST: Duration = Duration::from_secs(1);

/// Whether the terminal is as pictures want it. Who draws holds it, so that nothing is drawn after
/// a signal has left the terminal as it was.
static TAKEN: Mutex<bool> = Mutex::new(false);

/// Whether pictures can be drawn.
pub(super) fn is_terminal() -> bool {
    io::stderr().is_terminal() && io::stdin().is_terminal()
}

/// The terminal as pictures want it, until it is dropped or the process ends.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    reads_keys: bool,
}

impl Screen {
    fn new(reads_keys: bool) -> io::Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(io::stderr()))?;
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = true;
        interrupt::before_end(Some(restore));
        // From here on Drop restores what fails halfway.
        let mut screen = Self { terminal, reads_keys };
        if reads_keys {
            crossterm::terminal::enable_raw_mode()?;
        }
        // Terminal::clear would ask where the cursor is, which not every terminal says.
        let all = Clear(ClearType::All);
        crossterm::execute!(screen.terminal.backend_mut(), EnterAlternateScreen, all)?;
        Ok(screen)
    }

    fn draw(&mut self, model: &Model) -> io::Result<()> {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if *taken {
            self.terminal.draw(|frame| draw(frame, model))?;
        }
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
        interrupt::before_end(None);
    }
}

/// Leaves the terminal as it was.
fn restore() {
    // One that takes nothing more shows nothing more, either.
    if let Some(mut taken) = await_last_picture()
        && std::mem::replace(&mut *taken, false)
    {
        let _hung_up = crossterm::execute!(io::stderr(), Show, LeaveAlternateScreen);
    }
    let _hung_up = crossterm::terminal::disable_raw_mode();
}

fn await_last_picture() -> Option<MutexGuard<'static, bool>> {
    let until = Instant::now() + LAST;
    loop {
        match TAKEN.try_lock() {
            Ok(taken) => return Some(taken),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => return None,
        }
    }
}

/// Shows what there is until the user has seen enough.
pub(super) fn show(source: Source) -> Result<(), Failure> {
    let ended = AtomicBool::new(false);
    Screen::new(true)
        .and_then(|screen| run(source.watch(), screen, &ended))
        .map_err(|error| Failure::run_failed(format!("terminal: {error}")))
}

fn run(mut watch: Watch, mut screen: Screen, ended: &AtomicBool) -> io::Result<()> {
    let mut model = Model::default();
    model.has_keys = screen.reads_keys;
    while !ended.load(Ordering::Relaxed) && watch.tell(&mut model) {
        screen.draw(&model)?;
        if !screen.reads_keys {
            std::thread::sleep(TICK);
        } else if crossterm::event::poll(TICK)?
            && let Event::Key(key) = crossterm::event::read()?
            && key.kind != KeyEventKind::Release
            && !act(&mut model, &watch, key)
        {
            return Ok(());
        }
    }
    Ok(())
}

/// The picture after a second, as text of 80 columns: rates want two looks.
pub(super) fn print_picture(source: Source) -> Result<String, Failure> {
    let failed = |error| Failure::run_failed(format!("picture: {error}"));
    let mut watch = source.watch();
    let mut model = Model::default();
    let until = Instant::now() + ONCE;
    while watch.tell(&mut model) && Instant::now() < until {
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

/// Whether to go on.
fn act(model: &mut Model, watch: &Watch, key: KeyEvent) -> bool {
    model.message.clear();
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Tab | KeyCode::Right => model.step(true),
        KeyCode::BackTab | KeyCode::Left => model.step(false),
        KeyCode::Up => model.step_path(false),
        KeyCode::Down => model.step_path(true),
        KeyCode::Char('s') => model.sort = model.sort.next(),
        KeyCode::Char('n') => set_path(model, watch, Use::On),
        KeyCode::Char('b') => set_path(model, watch, Use::Backup),
        KeyCode::Char('x') => set_path(model, watch, Use::Off),
        _ => {}
    }
    true
}

fn set_path(model: &mut Model, watch: &Watch, to: Use) {
    match model.chosen_path() {
        Some((socket, path)) => {
            model.message = format!("{}: {} ...", path.name, to.word());
            watch.set_path(socket, path, to);
        }
        None => "choose a path first: up, down".clone_into(&mut model.message),
    }
}

/// A picture of this process itself, while it works.
pub(super) struct Background {
    ended: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Background {
    pub(super) fn new(source: Source) -> io::Result<Self> {
        let screen = Screen::new(false)?;
        let ended = Arc::new(AtomicBool::new(false));
        let until = ended.clone();
        let thread = std::thread::spawn(move || {
            // Without a picture the work goes on.
            let _no_picture = run(source.watch(), screen, &until);
        });
        Ok(Self { ended, thread })
    }

    /// Leaves the terminal as it was.
    pub(super) fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        let _panicked = self.thread.join();
    }
}
