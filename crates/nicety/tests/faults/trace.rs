//! What a program asked of the kernel, as strace tells it: with all bytes, and all threads and children in one order.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::harness::Call;

/// Calls that change files or wait for the disk.
const FILES: &str = "open,openat,openat2,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,write,\
    pwrite64,writev,lseek,ftruncate,fsync,fdatasync,link,linkat,symlink,symlinkat,truncate,fallocate,copy_file_range,sendfile";

/// A call that came back without an error.
#[derive(Debug)]
pub struct Step {
    pub call: String,
    /// What stands between the parentheses.
    pub words: String,
    /// What it returned.
    pub result: String,
}

/// A call below strace, which writes into `log`; `changes` are calls that change a machine.
pub fn below(call: Call, log: &Path, changes: &str) -> Call {
    let list = format!("trace={FILES}{changes}");
    let mut words = [
        "strace", "-D", "-f", "-y", "-xx", "-qq", "-s", "4194304", "-e",
    ]
    .map(str::to_owned)
    .to_vec();
    words.extend([
        list,
        "-e".to_owned(),
        "signal=none".to_owned(),
        "-o".to_owned(),
    ]);
    words.push(log.to_str().unwrap().to_owned());
    // In the program's network namespace strace understands netlink.
    call.just_below(words)
}

/// What strace has written into `log`, once it has ended: it is nobody's child, but its words name the file.
pub fn text(log: &Path) -> String {
    let log = log.to_str().unwrap();
    let is_tracer = |entry: fs::DirEntry| {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = words.split(|byte| *byte == 0);
        words.next() == Some(b"strace") && words.any(|word| word == log.as_bytes())
    };
    while fs::read_dir("/proc").unwrap().flatten().any(is_tracer) {
        sleep(Duration::from_millis(20));
    }
    fs::read_to_string(log).unwrap_or_default()
}

/// The calls in `log`, in the order of their ends.
pub fn read(log: &Path) -> Vec<Step> {
    let text = text(log);
    let mut begun: BTreeMap<&str, String> = BTreeMap::new();
    let mut steps = Vec::new();
    for line in text.lines() {
        let Some((pid, rest)) = line.split_once(' ') else {
            continue;
        };
        let rest = rest.trim_start();
        if let Some(head) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(pid, head.to_owned());
            continue;
        }
        let whole = match rest
            .strip_prefix("<... ")
            .and_then(|rest| rest.split_once(" resumed>"))
        {
            Some((_, tail)) => begun.remove(pid).unwrap_or_default() + tail,
            None => rest.to_owned(),
        };
        steps.extend(step(&whole));
    }
    steps
}

fn step(line: &str) -> Option<Step> {
    let (call, rest) = line.split_once('(')?;
    let (words, result) = rest.rsplit_once(" = ")?;
    let words = words.trim_end().strip_suffix(')')?;
    let failed = result.starts_with('-') || result.starts_with('?');
    (!failed).then(|| Step {
        call: call.to_owned(),
        words: words.to_owned(),
        result: result.to_owned(),
    })
}

impl Step {
    /// The bytes of each quoted argument.
    pub fn texts(&self) -> Vec<Vec<u8>> {
        let parts = self.words.split('"').skip(1).step_by(2);
        parts.map(unescaped).collect()
    }

    /// The paths of each quoted argument, from the working directory of the call where they are not whole.
    pub fn paths(&self) -> Vec<PathBuf> {
        let folders: Vec<PathBuf> = (self.words.split(", "))
            .filter_map(|word| word.strip_suffix('>')?.split_once('<'))
            .filter(|(before, _)| {
                *before == "AT_FDCWD" || before.bytes().all(|byte| byte.is_ascii_digit())
            })
            .map(|(_, path)| text_path(path))
            .collect();
        let folder = |at: usize| folders.get(at).or(folders.first()).cloned();
        let texts = self.texts().into_iter().enumerate();
        texts
            .map(|(at, text)| folder(at).unwrap_or_default().join(as_path(text)))
            .collect()
    }

    /// The file that the first argument has open; none where it has been removed.
    pub fn file(&self) -> Option<PathBuf> {
        let (_, rest) = self.words.split_once('<')?;
        let (path, rest) = rest.split_once('>')?;
        (!rest.starts_with("(deleted)")).then(|| text_path(path))
    }

    /// The file that it has opened.
    pub fn opened(&self) -> Option<PathBuf> {
        let (_, rest) = self.result.split_once('<')?;
        rest.strip_suffix('>').map(text_path)
    }

    /// The first number of what it returned.
    pub fn number(&self) -> usize {
        let digits: String = self
            .result
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse().unwrap()
    }

    /// The last argument, a number.
    pub fn last(&self) -> u64 {
        self.words.rsplit(", ").next().unwrap().parse().unwrap()
    }
}

fn text_path(text: &str) -> PathBuf {
    as_path(unescaped(text))
}

fn as_path(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// `\x2f\x61` is `/a`; kinds of sockets stand in plain letters.
fn unescaped(text: &str) -> Vec<u8> {
    if text.starts_with("\\x") {
        text.split("\\x")
            .skip(1)
            .map(|two| u8::from_str_radix(two, 16).unwrap())
            .collect()
    } else {
        text.as_bytes().to_vec()
    }
}
