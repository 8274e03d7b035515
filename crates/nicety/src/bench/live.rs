//! The live view: on a terminal a few lines that are drawn again and again below the results, or the whole
//! screen when the user asks for it, and for a browser a page.

mod page;
mod show;

use std::net::TcpListener;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nicety_host::roots::ProcRoot;
use nicety_host::stat::StatSample;
use nicety_report::live::board::Board;

use self::show::Show;
use crate::exit::Failure;
use crate::output;
use crate::signals::Signals;
use crate::terminal::{Screen, Stream};

/// How often it is drawn.
const TICK: Duration = Duration::from_millis(250);
/// Over how many of these the use of CPUs is taken: the kernel counts hundredths of a second.
const CPU_TICKS: u32 = 4;

/// Where a view is shown.
#[derive(Debug)]
pub struct Shows {
    /// On standard error, which is a terminal; the signals that come from there.
    pub terminal: Option<Signals>,
    /// To browsers that ask here, with the plan's name.
    pub web: Option<(TcpListener, String)>,
}

/// A view that is being shown.
pub struct Live {
    board: Arc<Mutex<Board>>,
    screen: Option<Arc<Mutex<Screen>>>,
    signals: Option<Signals>,
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Live {
    /// Starts to show the board, on threads of its own.
    pub fn start(board: Board, started: Instant, shows: Shows) -> Result<Self, Failure> {
        let board = Arc::new(Mutex::new(board));
        if let Some((listener, plan)) = shows.web {
            let board = Arc::clone(&board);
            // A copy, so that the run never waits for a slow answer.
            page::serve(listener, plan, move || lock(&board).clone(), started)?;
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let shown = Arc::clone(&board);
        let thread = std::thread::Builder::new().name("live view".to_owned());
        let (screen, drawer) = match &shows.terminal {
            Some(signals) => {
                let screen = Arc::new(Mutex::new(Screen::new(Stream::Error)));
                let show = Show::start(shown, Arc::clone(&screen), started, signals.clone())?;
                let drawer = thread.spawn(move || show.run(&stopped));
                if drawer.is_ok() {
                    signals.leave_second();
                }
                (Some(screen), drawer)
            }
            None => (None, thread.spawn(move || count(&shown, &stopped))),
        };
        Ok(Self {
            board,
            screen,
            signals: shows.terminal,
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
        match &self.screen {
            Some(screen) => lock(screen).say(line),
            None => output::say(line),
        }
    }

    /// Whether somebody looks at a terminal.
    pub fn is_terminal(&self) -> bool {
        self.screen.is_some()
    }

    /// Takes the view away.
    pub fn finish(&mut self) {
        if let Some((stop, drawer)) = self.drawer.take() {
            drop(stop);
            // After a panic in it the terminal has been put back, and the run goes on.
            let _ = drawer.join();
        }
        if let Some(screen) = self.screen.take() {
            lock(&screen).end();
        }
        if let Some(signals) = self.signals.take() {
            signals.take_second();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.finish();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the use of CPUs for a page that nobody draws on a terminal.
fn count(board: &Mutex<Board>, stopped: &mpsc::Receiver<()>) {
    let mut cpus = Cpus::default();
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(TICK) {
        cpus.tick(&mut lock(board));
    }
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
