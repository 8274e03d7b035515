//! What somebody else may write, read as nicety reads it.
//!
//! Each target takes any bytes and gives them to one reader: a plan, a journal, a guest's line, an answer of the
//! kernel. It must return, whatever the bytes are. The fuzzer (`make fuzz`) looks for bytes that make one panic or
//! hang; the tests of this crate give the same targets what was found before, good examples and mutations of these.

mod hosts;
mod kernel;
mod peers;
mod policies;
mod runs;
mod texts;

use std::path::Path;

/// One reader.
pub struct Target {
    /// Name: of the fuzzer's program and of its folder below `corpus/`.
    pub name: &'static str,
    /// Gives it bytes. Returns for any.
    pub run: fn(&[u8]),
    /// Good examples, made of the files below `tests/cases`, whose path is given.
    pub seeds: fn(&Path) -> Vec<Vec<u8>>,
}

/// All readers of bytes that others write.
pub const TARGETS: &[Target] = &[
    texts::PLAN,
    texts::JOURNAL,
    texts::UNITS,
    policies::POLICY,
    policies::CONTROLLER,
    policies::GUEST_LINES,
    hosts::FACTS,
    hosts::CAPTURE,
    runs::RUN,
    runs::PERIODS,
    peers::LAB,
    peers::SOCK,
    peers::QMP,
    peers::GUEST_FATES,
    kernel::SHAPER,
    kernel::LINK,
    kernel::FUNCTIONS,
    kernel::DEVLINK,
    kernel::TRAFFIC_CONTROL,
];

/// Gives bytes to the target of this name; does nothing when there is none.
pub fn run(name: &str, bytes: &[u8]) {
    if let Some(target) = TARGETS.iter().find(|target| target.name == name) {
        (target.run)(bytes);
    }
}

/// Files of this name in the folders of `tests/cases/KIND`.
fn cases(root: &Path, kind: &str, file: &str) -> Vec<Vec<u8>> {
    let Ok(folders) = std::fs::read_dir(root.join(kind)) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = folders
        .flatten()
        .map(|folder| folder.path().join(file))
        .collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| std::fs::read(path).ok())
        .collect()
}
