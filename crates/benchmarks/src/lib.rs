//! What the benchmarks share. Each stands in `benches` and runs behind a `make bench-…` of its own, which builds the
//! program first.

// A benchmark is an edge: it prints, reads its environment and writes a file.
#![allow(clippy::print_stdout, clippy::print_stderr, missing_docs)]

pub mod background;
pub mod figures;
pub mod host;
pub mod inside;
pub mod load;
pub mod process;
pub mod program;
pub mod start;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static NICETY: LazyLock<String> = LazyLock::new(|| {
    let named = std::env::var("NICETY_BENCH_PROGRAM").ok();
    named.unwrap_or_else(|| {
        let this = std::env::current_exe().unwrap_or_default();
        let profile = this.ancestors().nth(2).unwrap_or(Path::new("."));
        profile.join("nicety").to_string_lossy().into_owned()
    })
});

/// The program that is measured: what `cargo build` has put beside the benchmarks, or what `NICETY_BENCH_PROGRAM` names.
pub fn nicety() -> &'static str {
    &NICETY
}

/// Where results go: `bench` below the target directory, which is made.
///
/// # Errors
/// When it cannot be made.
pub fn results() -> std::io::Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        PathBuf::from,
    );
    let dir = target.join("bench");
    std::fs::create_dir_all(&dir)?;
    Ok(dir)
}
