//! Accidents, and what must be as before.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::{Call, Running, skip};
use crate::trace;

/// One thing that nicety does.
pub trait Scene {
    /// The program that an accident happens to, ready to be started.
    fn call(&self) -> Call;

    /// Starts it as far as the accident may happen.
    fn start(&self) -> Running {
        self.call().start()
    }

    /// How long it takes when nothing happens, or longer than it takes to be in its stride.
    fn span(&self) -> Duration;

    /// Whether a daemon is in its stride, and may be told to end; others end by themselves.
    fn settled(&self) -> bool {
        false
    }

    /// Whether its threads are disturbed too, each at the same one of its own system calls.
    fn threads(&self) -> bool {
        false
    }

    /// What a user does after an accident: usually the next start of something.
    fn recover(&self);

    /// All that must be as before.
    fn state(&self) -> Vec<String>;

    /// The system calls by which it goes forward.
    fn steps(&self) -> &'static str {
        "fsync,fdatasync,write,pwrite64,ftruncate,mkdir,sendto,ioctl,renameat,renameat2,unlink,unlinkat,openat"
    }
}

/// Accidents of each kind.
pub fn count() -> usize {
    let wanted = std::env::var("NICETY_FAULTS").ok();
    wanted.and_then(|count| count.parse().ok()).unwrap_or(2)
}

/// Where random moments come from; printed, and the same again with `NICETY_FAULTS_SEED`.
pub fn random(name: &str) -> fastrand::Rng {
    static SEED: OnceLock<u64> = OnceLock::new();
    let seed = *SEED.get_or_init(|| {
        let told = std::env::var("NICETY_FAULTS_SEED").ok();
        told.and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            now.unwrap().as_secs()
        })
    });
    println!("seed {seed}");
    // Other moments for each campaign.
    let own = name
        .bytes()
        .fold(seed, |sum, byte| sum.rotate_left(5) ^ u64::from(byte));
    fastrand::Rng::with_seed(own)
}

/// A row of the table.
pub fn row(scene: &str, accident: &str, count: usize, what: &str) {
    println!("FAULT | {scene} | {accident} | {count} | {what} |");
}

#[track_caller]
pub fn same(before: &[String], now: &[String], what: &str) {
    let changed: Vec<_> = before
        .iter()
        .zip(now)
        .filter(|(old, new)| old != new)
        .collect();
    assert!(
        changed.is_empty() && before.len() == now.len(),
        "{what}: not as before: {changed:#?}\nbefore: {before:#?}\nnow: {now:#?}"
    );
}

/// Signals at random moments.
pub fn signals(name: &str, scene: &impl Scene, signal: Signal) {
    let before = scene.state();
    let mut random = random(name);
    let span = scene.span().as_micros() as u64;
    let mut hit = 0;
    for round in 0..count() {
        let after = Duration::from_micros(random.u64(0..span));
        let what = format!("{name}, {signal:?} number {round} after {after:?}");
        let running = scene.start();
        sleep(after);
        running.signal_if_there(signal);
        let ended = running.wait();
        let code = ended.status.code();
        assert_ne!(code, Some(101), "{what}: {ended:?}");
        hit += usize::from(code != Some(0));
        scene.recover();
        same(&before, &scene.state(), &what);
    }
    row(
        name,
        signal_words(signal),
        count(),
        &format!("all as before; {hit} hit it at work"),
    );
}

/// How the table calls a signal.
pub fn signal_words(signal: Signal) -> &'static str {
    if signal == Signal::KILL {
        "SIGKILL, any moment"
    } else {
        "SIGTERM, any moment"
    }
}

/// How long a traced program is waited for at most, however busy the machine is.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What happens to a system call: `signal=KILL`, `error=EIO`.
pub fn traced(scene: &impl Scene, log: &TempDir, inject: Option<&str>) -> Call {
    let file = log.path().join("trace");
    // `-D`: the tracer is nobody's parent, so that signals reach the program.
    let mut below = ["strace", "-D", "-qq", "-o"].map(str::to_owned).to_vec();
    below.push(file.to_str().unwrap().to_owned());
    below.extend(scene.threads().then(|| "-f".to_owned()));
    below.extend(["-e".to_owned(), format!("trace={}", scene.steps())]);
    if let Some(what) = inject {
        below.extend(["-e".to_owned(), format!("inject={what}")]);
    }
    scene.call().below(below)
}

/// Whether strace can be had; says `SKIP` where not.
pub fn strace() -> bool {
    let tried = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .status();
    let works = tried.is_ok_and(|status| status.success());
    if !works {
        skip("strace cannot trace a program here");
    }
    works
}

/// The system calls of an undisturbed run from the first that the program itself makes: name, and which one of that
/// name it is. `None` where strace cannot be had.
pub fn steps(name: &str, scene: &impl Scene, log: &TempDir) -> Option<Vec<(String, usize)>> {
    if !strace() {
        return None;
    }
    let running = traced(scene, log, None).start();
    running.end_when(|| scene.settled(), PATIENCE, Signal::TERM);
    let text = trace::text(&log.path().join("trace"));
    scene.recover();
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut steps = Vec::new();
    for line in text.lines() {
        // With threads each line begins with one's number.
        let (thread, line) = match line.split_once(' ') {
            Some((thread, rest)) if scene.threads() => (thread, rest.trim_start()),
            _ => ("", line),
        };
        let Some((call, rest)) = line.split_once('(').filter(|_| !line.starts_with('<')) else {
            continue;
        };
        let nth = seen.entry((thread, call)).or_default();
        *nth += 1;
        let step = (call.to_owned(), *nth);
        // What the loader opens comes first and changes nothing.
        let opens_to_read = call == "openat"
            && !["O_CREAT", "O_WRONLY", "O_RDWR"]
                .iter()
                .any(|way| rest.contains(way));
        if !opens_to_read && !steps.contains(&step) {
            steps.push(step);
        }
    }
    assert!(steps.len() > 3, "{name}: {text}");
    Some(steps)
}

/// Accidents at system calls: every one of them, or as many as are wanted, evenly spread.
pub fn system_calls(name: &str, scene: &impl Scene, what: &str, accident: &str) {
    let before = scene.state();
    let log = tempfile::tempdir().unwrap();
    let Some(steps) = steps(name, scene, &log) else {
        return;
    };
    let wanted = count().min(steps.len());
    for round in 0..wanted {
        let (call, nth) = &steps[round * steps.len() / wanted];
        let inject = format!("{call}:{what}:when={nth}");
        let running = traced(scene, &log, Some(&inject)).start();
        // A daemon that takes the error goes on.
        let ended = running.end_when(|| scene.settled(), PATIENCE, Signal::TERM);
        let said = format!("{name}, {inject}: {ended:?}");
        assert_ne!(ended.status.code(), Some(101), "{said}");
        let killed = ended.status.signal();
        assert!(
            killed.is_none() || what.contains("signal") || killed == Some(15),
            "{said}"
        );
        scene.recover();
        same(&before, &scene.state(), &said);
    }
    row(
        name,
        accident,
        wanted,
        &format!("all as before; of {} system calls", steps.len()),
    );
}

/// All signals to a program that changes something.
pub fn killed(name: &str, scene: &impl Scene) {
    signals(name, scene, Signal::KILL);
    signals(name, scene, Signal::TERM);
    killed_at_calls(name, scene);
}

/// All errors of its system calls.
pub fn refused(name: &str, scene: &impl Scene) {
    failing_calls(name, scene, &FAILURES);
}

/// A kill before each system call.
pub fn killed_at_calls(name: &str, scene: &impl Scene) {
    system_calls(name, scene, "signal=KILL", "SIGKILL before a system call");
    system_calls(name, scene, "signal=TERM", "SIGTERM before a system call");
}

/// Errors of a full disk, a broken one, a busy one, and a signal.
pub const FAILURES: [&str; 4] = ["ENOSPC", "EIO", "EBUSY", "EINTR"];

/// Each system call fails.
pub fn failing_calls(name: &str, scene: &impl Scene, errors: &[&str]) {
    for error in errors {
        let accident = format!("a system call fails: {error}");
        system_calls(name, scene, &format!("error={error}"), &accident);
    }
}
