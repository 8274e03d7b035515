//! The live view on a terminal: a few lines that are drawn again and again below the results.
//!
//! It writes lines and moves the cursor up again, nothing else: no raw mode, no other screen, no
//! hidden cursor. So there is nothing to put back when the program ends, however it ends.

pub mod board;
mod draw;
mod span;

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nicety_host::cpu_load::StatSample;
use nicety_host::topology::ProcRoot;

use board::Board;
use draw::{Canvas, Marks};

/// How often it is drawn.
const TICK: Duration = Duration::from_millis(250);
/// Over how many of these the use of CPUs is taken: the kernel counts hundredths of a second.
const CPU_TICKS: u32 = 4;

/// A view that is being drawn.
pub struct Live {
    board: Arc<Mutex<Board>>,
    bar: ProgressBar,
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Live {
    /// Starts to draw on standard error, on a thread of its own.
    pub fn start(board: Board, started: Instant) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        let board = Arc::new(Mutex::new(board));
        let (stop, stopped) = mpsc::channel::<()>();
        let (shown, on) = (Arc::clone(&board), bar.clone());
        let look = Look::of_environment();
        let drawer = std::thread::Builder::new()
            .name("live view".to_owned())
            .spawn(move || {
                let mut cpus = Cpus::default();
                loop {
                    let canvas = look.canvas();
                    let text = {
                        let mut board = lock(&shown);
                        cpus.tick(&mut board);
                        span::text(&draw::draw(&board, started.elapsed(), canvas), look.colour)
                    };
                    on.set_message(text);
                    on.tick();
                    match stopped.recv_timeout(TICK) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => return,
                    }
                }
            });
        Self {
            board,
            bar,
            // Without a thread only the results are shown.
            drawer: drawer.ok().map(|drawer| (stop, drawer)),
        }
    }

    /// Changes what is shown.
    pub fn change(&self, change: impl FnOnce(&mut Board)) {
        change(&mut lock(&self.board));
    }

    /// A line above the view, to stay.
    pub fn say(&self, line: &str) {
        self.bar.println(line);
    }

    /// Takes the view away.
    pub fn finish(&mut self) {
        if let Some((stop, drawer)) = self.drawer.take() {
            drop(stop);
            // It cannot have panicked: nothing in it may.
            let _ = drawer.join();
        }
        self.bar.finish_and_clear();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.finish();
    }
}

fn lock(board: &Mutex<Board>) -> MutexGuard<'_, Board> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Use of the CPUs since the last look.
#[derive(Default)]
struct Cpus {
    last: Option<StatSample>,
    ticks: u32,
}

impl Cpus {
    fn tick(&mut self, board: &mut Board) {
        self.ticks += 1;
        if self.last.is_some() && !self.ticks.is_multiple_of(CPU_TICKS) {
            return;
        }
        let Ok(sample) = StatSample::read(&ProcRoot::live()) else {
            return;
        };
        if let Some(last) = &self.last {
            board.cores = sample.shares_since(last);
        }
        self.last = Some(sample);
    }
}

/// What the terminal can show.
#[derive(Clone, Copy)]
struct Look {
    colour: bool,
    marks: Marks,
}

impl Look {
    fn of_environment() -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        // locale(7): the first that is set counts.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
        let locale = locale.unwrap_or_default().to_ascii_lowercase();
        Self {
            // https://no-color.org
            colour: set("NO_COLOR").is_none(),
            marks: match locale.contains("utf-8") || locale.contains("utf8") {
                true => Marks::UNICODE,
                false => Marks::ASCII,
            },
        }
    }

    /// The terminal may change its size at any time.
    fn canvas(self) -> Canvas {
        let size = rustix::termios::tcgetwinsize(io::stderr()).ok();
        let (width, height) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
        let or = |found: u16, usual: usize| {
            if found == 0 {
                usual
            } else {
                usize::from(found)
            }
        };
        Canvas {
            width: or(width, 80),
            height: or(height, 24),
            marks: self.marks,
        }
    }
}
