//! What the user asks of a view: keys, and signals that come by the terminal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use nicety_report::live::keys::Key;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::flag;
use signal_hook::low_level::{emulate_default_handler, raise};

use super::{Stream, modes};
use crate::exit::Failure;

/// How soon a signal is seen.
const BLINK: Duration = Duration::from_millis(50);

/// Something was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A key.
    Key(Key),
    /// Ctrl-C or SIGTERM.
    Quit,
    /// The terminal may look otherwise: draw now.
    Redraw,
}

/// Signals and keys, from now until dropped.
#[derive(Debug)]
pub struct Events {
    quit: Arc<AtomicBool>,
    suspend: Arc<AtomicBool>,
    resume: Arc<AtomicBool>,
    /// Signals that end the program once the terminal is restored.
    end: Vec<(i32, Arc<AtomicBool>)>,
    /// Nobody looks any more: signals do what they do without us.
    over: Arc<AtomicBool>,
    stream: Stream,
    size: (u16, u16),
    keys: bool,
}

impl Events {
    /// Looks out for them, for a view on `stream`.
    ///
    /// # Errors
    /// When the kernel refuses a handler.
    pub fn start(stream: Stream) -> Result<Self, Failure> {
        let events = Self {
            quit: Arc::default(),
            suspend: Arc::default(),
            resume: Arc::default(),
            end: vec![(SIGHUP, Arc::default()), (SIGQUIT, Arc::default())],
            over: Arc::default(),
            stream,
            size: stream.size(),
            keys: modes::keys(),
        };
        events
            .register()
            .context("cannot take over the signals of the terminal")
            .map_err(Failure::environment)?;
        Ok(events)
    }

    fn register(&self) -> std::io::Result<()> {
        for signal in [SIGINT, SIGTERM] {
            flag::register(signal, Arc::clone(&self.quit))?;
        }
        flag::register(SIGCONT, Arc::clone(&self.resume))?;
        let restored = [(SIGTSTP, Arc::clone(&self.suspend))];
        for (signal, seen) in restored.iter().chain(&self.end) {
            flag::register_conditional_default(*signal, Arc::clone(&self.over))?;
            flag::register(*signal, Arc::clone(seen))?;
        }
        Ok(())
    }

    /// Whether somebody types.
    pub fn has_keys(&self) -> bool {
        self.keys
    }

    /// Waits until something is asked for, `at_most` so long. Stops the program on Ctrl-Z and ends it with
    /// its terminal, after `hide` has taken the view away.
    pub fn wait(&mut self, at_most: Duration, hide: &mut dyn FnMut()) -> Option<Asked> {
        let until = Instant::now() + at_most;
        loop {
            if let Some(asked) = self.signals(hide) {
                return Some(asked);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            if let Some(asked) = self.key(left.min(BLINK)) {
                return Some(asked);
            }
        }
    }

    fn signals(&mut self, hide: &mut dyn FnMut()) -> Option<Asked> {
        let seen = |flag: &AtomicBool| flag.swap(false, Ordering::SeqCst);
        if let Some((signal, _)) = self.end.iter().find(|(_, flag)| seen(flag)) {
            hide();
            modes::restore();
            // Does not return.
            let _ = emulate_default_handler(*signal);
        }
        if seen(&self.suspend) {
            hide();
            modes::restore();
            // Returns when somebody says SIGCONT.
            let _ = raise(signal_hook::consts::SIGSTOP);
        }
        if seen(&self.quit) {
            return Some(Asked::Quit);
        }
        if seen(&self.resume) {
            self.keys = modes::keys();
            return Some(Asked::Redraw);
        }
        let size = self.stream.size();
        (std::mem::replace(&mut self.size, size) != size).then_some(Asked::Redraw)
    }

    /// Waits for a key.
    fn key(&mut self, at_most: Duration) -> Option<Asked> {
        if !self.keys || !self.stream.is_ours() {
            std::thread::sleep(at_most);
            return None;
        }
        match event::poll(at_most) {
            Ok(false) => None,
            Ok(true) => match event::read() {
                Ok(Event::Key(key)) => known(key).map(Asked::Key),
                Ok(Event::Resize(..)) => Some(Asked::Redraw),
                _ => None,
            },
            // The terminal has gone.
            Err(_) => {
                self.keys = false;
                None
            }
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
    }
}

fn known(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release || key.modifiers.contains(KeyModifiers::CONTROL) {
        return None;
    }
    Some(match key.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
