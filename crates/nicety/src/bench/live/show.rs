//! The thread that draws a run on the terminal and listens to keys.

use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nicety_report::live::board::Board;
use nicety_report::live::keys::View;
use nicety_report::live::{Frame, full, height, inline};
use signal_hook::consts::SIGINT;
use signal_hook::low_level::raise;

use super::{Cpus, TICK, lock};
use crate::exit::Failure;
use crate::signals::{INTERRUPTED, Signals};
use crate::terminal::{Asked, Events, Screen, Stream};

/// Longest time until the end of the view is seen.
const BLINK: Duration = Duration::from_millis(50);

/// What is drawn, and what the user asks for.
pub struct Show {
    board: Arc<Mutex<Board>>,
    screen: Arc<Mutex<Screen>>,
    started: Instant,
    signals: Signals,
    events: Events,
    view: View,
    /// The board and the time that are looked at while nothing moves.
    frozen: Option<(Board, Duration)>,
}

impl Show {
    /// Takes over the keys and signals of the terminal.
    ///
    /// # Errors
    /// When the kernel refuses a handler.
    pub fn start(
        board: Arc<Mutex<Board>>,
        screen: Arc<Mutex<Screen>>,
        started: Instant,
        signals: Signals,
    ) -> Result<Self, Failure> {
        Ok(Self {
            board,
            screen,
            started,
            signals,
            events: Events::start(Stream::Error)?,
            view: View::default(),
            frozen: None,
        })
    }

    /// Draws until `stopped` is closed.
    pub fn run(mut self, stopped: &Receiver<()>) {
        let mut cpus = Cpus::default();
        let mut next = Instant::now();
        let mut asked_to_stop = self.signals.stopped();
        while stopped.try_recv() != Err(TryRecvError::Disconnected) {
            if next <= Instant::now() {
                cpus.tick(&mut lock(&self.board));
                self.draw();
                next = Instant::now() + TICK;
            }
            let screen = &self.screen;
            let mut hide = || lock(screen).hide();
            match self.events.wait(BLINK, &mut hide) {
                None => continue,
                Some(Asked::Redraw) => {}
                Some(Asked::Quit) if asked_to_stop => {
                    lock(&self.screen).end();
                    std::process::exit(INTERRUPTED);
                }
                Some(Asked::Quit) => asked_to_stop = true,
                Some(Asked::Key(key)) => {
                    if self.view.press(key) {
                        // As Ctrl-C, for all that listen.
                        let _ = raise(SIGINT);
                    }
                }
            }
            self.draw();
        }
    }

    fn draw(&mut self) {
        let now = || (lock(&self.board).clone(), self.started.elapsed());
        let (board, elapsed) = match (self.view.frozen, self.frozen.take()) {
            (true, Some(frozen)) => frozen,
            _ => now(),
        };
        let frame = Frame {
            board: &board,
            elapsed,
            keys: self.events.has_keys(),
            stopping: self.signals.stopped(),
            look: lock(&self.screen).look(),
        };
        let mut screen = lock(&self.screen);
        if self.view.full {
            screen.full(|buffer| full(frame, &mut self.view, buffer));
        } else {
            let size = screen.size();
            screen.lines(height(frame, size), |buffer| {
                inline(frame, &self.view, size, buffer);
            });
        }
        drop(screen);
        self.frozen = self.view.frozen.then_some((board, elapsed));
    }
}
