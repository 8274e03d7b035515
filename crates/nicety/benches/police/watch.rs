//! Ends the benchmark when a part does not end, and says what its threads wait for.

use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// More than any part needs besides its flows.
const SLACK: Duration = Duration::from_secs(60);

static PHASE: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// A part begins that takes about so long.
pub fn phase(name: &str, time: Duration) {
    if let Ok(mut phase) = PHASE.lock() {
        *phase = Some((name.to_owned(), Instant::now() + time + SLACK));
    }
}

/// Watches from now on.
pub fn begin() {
    phase("set-up", Duration::ZERO);
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let late = PHASE.lock().ok().and_then(|phase| {
                let (name, end) = phase.as_ref()?;
                (Instant::now() > *end).then(|| name.clone())
            });
            if let Some(name) = late {
                eprintln!("{name}: does not end; its threads wait for:\n{}", threads());
                std::process::exit(1);
            }
        }
    });
}

fn threads() -> String {
    let Ok(entries) = fs::read_dir("/proc/self/task") else {
        return String::new();
    };
    let line = |dir: std::path::PathBuf| {
        let read = |name: &str| {
            let text = fs::read_to_string(dir.join(name)).unwrap_or_default();
            text.trim().to_owned()
        };
        let state = read("stat");
        let state = state
            .rsplit_once(") ")
            .and_then(|(_, rest)| rest.chars().next());
        let (name, call, stack) = (read("comm"), read("syscall"), read("stack"));
        format!("  {name} {state:?} {} {call}\n{stack}", read("wchan"))
    };
    let lines: Vec<String> = entries.flatten().map(|entry| line(entry.path())).collect();
    lines.join("\n")
}
