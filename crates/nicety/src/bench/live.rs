//! The live view: on a terminal a few lines that are drawn again and again below the results, and
//! for a browser a page.
//!
//! On the terminal it writes lines and moves the cursor up again, nothing else: no raw mode, no other screen, no
//! hidden cursor. So there is nothing to put back when the program ends, however it ends.

mod page;

use std::io;
use std::net::TcpListener;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use nicety_host::roots::ProcRoot;
use nicety_host::stat::StatSample;
use nicety_report::live::board::Board;
use nicety_report::live::{Canvas, Marks, draw, text};

use crate::exit::Failure;
use crate::output;

/// How often it is drawn.
const TICK: Duration = Duration::from_millis(250);
/// Over how many of these the use of CPUs is taken: the kernel counts hundredths of a second.
const CPU_TICKS: u32 = 4;

/// Where a view is shown.
#[derive(Debug)]
pub struct Shows {
    /// On standard error, which is a terminal.
    pub terminal: bool,
    /// To browsers that ask here, with the plan's name.
    pub web: Option<(TcpListener, String)>,
}

/// A view that is being shown.
pub struct Live {
    board: Arc<Mutex<Board>>,
    bar: Option<ProgressBar>,
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Live {
    /// Starts to show the board, on threads of its own.
    pub fn start(board: Board, started: Instant, shows: Shows) -> Result<Self, Failure> {
        let bar = shows.terminal.then(|| output::bar(None, "{msg}"));
        let board = Arc::new(Mutex::new(board));
        if let Some((listener, plan)) = shows.web {
            let board = Arc::clone(&board);
            // A copy, so that the run never waits for a slow answer.
            page::serve(listener, plan, move || lock(&board).clone(), started)?;
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let (shown, on) = (Arc::clone(&board), bar.clone());
        let look = Look::of_environment();
        let drawer = std::thread::Builder::new()
            .name("live view".to_owned())
            .spawn(move || {
                let mut cpus = Cpus::default();
                loop {
                    let text = {
                        let mut board = lock(&shown);
                        cpus.tick(&mut board);
                        on.as_ref().map(|_| {
                            let lines = draw(&board, started.elapsed(), look.canvas());
                            text(&lines, look.colour)
                        })
                    };
                    if let (Some(on), Some(text)) = (&on, text) {
                        on.set_message(text);
                        on.tick();
                    }
                    match stopped.recv_timeout(TICK) {
                        Err(RecvTimeoutError::Timeout) => {}
                        _ => return,
                    }
                }
            });
        Ok(Self {
            board,
            bar,
            // Without a thread only the results are shown.
            drawer: drawer.ok().map(|drawer| (stop, drawer)),
        })
    }

    /// Changes what is shown.
    pub fn change(&self, change: impl FnOnce(&mut Board)) {
        change(&mut lock(&self.board));
    }

    /// A line above the view, to stay.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => output::say(line),
        }
    }

    /// Whether somebody looks at a terminal.
    pub fn is_terminal(&self) -> bool {
        self.bar.is_some()
    }

    /// Takes the view away.
    pub fn finish(&mut self) {
        if let Some((stop, drawer)) = self.drawer.take() {
            drop(stop);
            // It cannot have panicked: nothing in it may.
            let _ = drawer.join();
        }
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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
        let size = rustix::termios::tcgetwinsize(io::stderr());
        let (width, height) = size.map_or((0, 0), |size| (size.ws_col, size.ws_row));
        let or = |found: u16, usual| if found == 0 { usual } else { found.into() };
        Canvas {
            width: or(width, 80),
            height: or(height, 24),
            marks: self.marks,
        }
    }
}
