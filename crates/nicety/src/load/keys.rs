//! The hand at the rate: keys where there is a terminal, signals in any case.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use nicety_model::Fps;
use nicety_port::Stop;
use nicety_report::load::{Dial, Turned};

use crate::exit::Failure;
use crate::output;
use crate::signals::{INTERRUPTED, Signals};
use crate::terminal::{Asked, Events, Screen, Stream};

/// Longest time until the end of the load is seen.
const BLINK: Duration = Duration::from_millis(50);

/// Who sets the rate.
pub struct Hand {
    fps: Fps,
    signals: Signals,
    terminal: Option<Terminal>,
}

/// A terminal with a line below the intervals, and the thread that listens there.
struct Terminal {
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// What the listener and the load share.
struct Shared {
    dial: Mutex<Dial>,
    screen: Mutex<Screen>,
    /// The interval is to end.
    turned: Arc<AtomicBool>,
    quit: AtomicBool,
    over: AtomicBool,
}

impl Hand {
    /// Listens to keys where standard output is a terminal and shows lines. Starts a thread, so namespaces must have
    /// been entered before.
    pub fn start(fps: Fps, json: bool, signals: &Signals) -> Result<Self, Failure> {
        let mut hand = Self {
            fps,
            signals: signals.clone(),
            terminal: None,
        };
        if json || output::is_quiet() || !Stream::Output.can_move() {
            return Ok(hand);
        }
        let shared = Arc::new(Shared {
            dial: Mutex::new(Dial::new(fps.0)),
            screen: Mutex::new(Screen::new(Stream::Output)),
            turned: Arc::default(),
            quit: AtomicBool::new(false),
            over: AtomicBool::new(false),
        });
        shared.draw();
        let events = Events::start(Stream::Output)?;
        let listener = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name("keys".to_owned())
                .spawn(move || listen(&shared, events))
        };
        // Without a thread nobody would see the second signal.
        if listener.is_ok() {
            signals.leave_second();
        }
        hand.terminal = Some(Terminal {
            shared,
            listener: listener.ok(),
        });
        Ok(hand)
    }

    /// The rate, or that there is a pause; `None` at the end.
    pub fn rate(&self) -> Option<Rate> {
        if self.signals.stopped() {
            return None;
        }
        let Some(Terminal { shared, .. }) = &self.terminal else {
            return Some(Some(self.fps));
        };
        if shared.quit.load(Ordering::SeqCst) {
            return None;
        }
        shared.turned.store(false, Ordering::SeqCst);
        let dial = lock(&shared.dial);
        Some((!dial.paused).then_some(Fps(dial.fps)))
    }

    /// Ends the interval when the rate is changed, or all of it is to end.
    pub fn stop(&self) -> Stop {
        match &self.terminal {
            Some(Terminal { shared, .. }) => Stop::shared(Arc::clone(&shared.turned)),
            None => self.signals.stop(),
        }
    }

    /// A line that stays; false when nobody reads any more.
    pub fn say(&mut self, text: &str) -> Result<bool, Failure> {
        match &self.terminal {
            Some(Terminal { shared, .. }) => {
                let mut screen = lock(&shared.screen);
                text.lines().for_each(|line| screen.say(line));
                Ok(true)
            }
            None => output::print_on("to standard output", &format!("{text}\n")),
        }
    }

    /// Gives the terminal back.
    pub fn end(&mut self) {
        let Some(mut terminal) = self.terminal.take() else {
            return;
        };
        terminal.shared.over.store(true, Ordering::SeqCst);
        if let Some(listener) = terminal.listener.take() {
            // After a panic in it the terminal is put back all the same.
            let _ = listener.join();
        }
        lock(&terminal.shared.screen).end();
        self.signals.take_second();
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.end();
    }
}

impl Shared {
    fn draw(&self) {
        let mut screen = lock(&self.screen);
        let look = screen.look();
        let dial = lock(&self.dial);
        screen.lines(1, |buffer| dial.draw(look, buffer));
    }

    fn turn(&self, turned: Turned) {
        match turned {
            Turned::Shown => {}
            Turned::Load => self.turned.store(true, Ordering::SeqCst),
            Turned::Quit => {
                self.quit.store(true, Ordering::SeqCst);
                self.turned.store(true, Ordering::SeqCst);
            }
        }
    }
}

/// Listens until the load is over.
fn listen(shared: &Shared, mut events: Events) {
    while !shared.over.load(Ordering::SeqCst) {
        let mut hide = || lock(&shared.screen).hide();
        match events.wait(BLINK, &mut hide) {
            None => continue,
            Some(Asked::Redraw) => {}
            Some(Asked::Quit) if shared.quit.load(Ordering::SeqCst) => {
                lock(&shared.screen).end();
                std::process::exit(INTERRUPTED);
            }
            Some(Asked::Quit) => shared.turn(Turned::Quit),
            Some(Asked::Key(key)) => {
                let turned = lock(&shared.dial).press(key);
                shared.turn(turned);
            }
        }
        shared.draw();
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The rate, where nothing pauses.
type Rate = Option<Fps>;
