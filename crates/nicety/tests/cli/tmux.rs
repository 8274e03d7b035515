//! A real terminal, made by tmux, whose size can be changed and whose screen can be read.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::harness::{LONG, skip};

/// A terminal with a program in it; ended when dropped.
pub struct Tmux {
    socket: PathBuf,
    pub dir: PathBuf,
}

impl Tmux {
    /// Starts `script` in `dir`, in a terminal of this size; says `SKIP` where there is no tmux.
    pub fn start(dir: &Path, (width, height): (u16, u16), script: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("no tmux here; on Debian: apt-get install tmux");
            return None;
        }
        let tmux = Self {
            socket: dir.join("tmux"),
            dir: dir.to_owned(),
        };
        let (x, y) = (width.to_string(), height.to_string());
        let words = ["new-session", "-d", "-x", &x, "-y", &y, "sh", "-c", script];
        tmux.call(&words);
        Some(tmux)
    }

    fn try_call(&self, words: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(&self.socket);
        command.args(["-f", "/dev/null"]).args(words);
        command.current_dir(&self.dir).env_remove("TMUX");
        command.env("LC_ALL", "C.UTF-8").env_remove("NO_COLOR");
        command.output().unwrap()
    }

    #[track_caller]
    fn call(&self, words: &[&str]) -> String {
        let done = self.try_call(words);
        assert!(done.status.success(), "tmux {words:?}: {done:?}");
        String::from_utf8(done.stdout).unwrap()
    }

    /// What is on the screen.
    pub fn screen(&self) -> String {
        self.call(&["capture-pane", "-p"])
    }

    /// What is on the screen and in the scroll-back.
    pub fn all(&self) -> String {
        self.call(&["capture-pane", "-p", "-S", "-"])
    }

    pub fn keys(&self, keys: &[&str]) {
        self.call(&[&["send-keys"], keys].concat());
    }

    pub fn resize(&self, (width, height): (u16, u16)) {
        let (x, y) = (width.to_string(), height.to_string());
        self.call(&["resize-window", "-x", &x, "-y", &y]);
    }

    /// Both at once, the size first.
    pub fn resize_and_press(&self, (width, height): (u16, u16), key: &str) {
        let (x, y) = (width.to_string(), height.to_string());
        self.call(&["resize-window", "-x", &x, "-y", &y, ";", "send-keys", key]);
    }

    /// Whether the cursor is hidden, and whether the alternate screen is shown.
    pub fn flags(&self) -> String {
        let format = "cursor #{cursor_flag}, alternate #{alternate_on}";
        let told = self.call(&["display-message", "-p", format]);
        told.trim().to_owned()
    }

    /// Waits until `seen` says so of the screen.
    #[track_caller]
    pub fn until(&self, what: &str, seen: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + LONG;
        loop {
            let screen = self.screen();
            if seen(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "no {what}:\n{screen}");
            sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a file has a whole line, and returns it.
    #[track_caller]
    pub fn file(&self, name: &str) -> String {
        let end = Instant::now() + LONG;
        loop {
            let text = fs::read_to_string(self.dir.join(name)).unwrap_or_default();
            if let Some(line) = text.strip_suffix('\n') {
                return line.to_owned();
            }
            assert!(Instant::now() < end, "no {name}:\n{}", self.all());
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // Ends what runs in the terminal as well.
        self.try_call(&["kill-server"]);
    }
}
