//! Compiles every `bpf/*.bpf.c` with clang and writes `bpf.rs`, which holds the objects; for the build
//! scripts of all crates with BPF programs.
//!
//! Without clang or the headers the crate builds all the same: the objects are absent, the build
//! warns once, and the reason goes into the program so that it can say why something is missing.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's names, said when something is missing.
const PACKAGES: &str = "clang libbpf-dev linux-libc-dev";

/// Compiles the programs of a crate, which are `what`, with headers of `includes` beside their own.
pub fn build(what: &str, includes: &[&str]) -> io::Result<()> {
    let sources = Path::new("bpf");
    for directory in includes.iter().map(Path::new).chain([sources]) {
        println!("cargo::rerun-if-changed={}", directory.display());
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let mut programs = Vec::new();
    for entry in fs::read_dir(sources)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(stem) = name.and_then(|name| name.strip_suffix(".bpf.c")) {
            programs.push((stem.to_owned(), path));
        }
    }
    programs.sort();
    let mut missing = String::new();
    let mut generated = String::new();
    for (stem, source) in &programs {
        let object = out.join(format!("{stem}.bpf.o"));
        let value = match compile(&clang, source, &object, includes) {
            Ok(()) => format!("Some(aya::include_bytes_aligned!({object:?}))"),
            Err(why) => {
                if missing.is_empty() {
                    println!("cargo::warning={what} not built in: {why}");
                    // A file that never is: the next build tries again, clang may have been installed.
                    println!("cargo::rerun-if-changed={}", out.join("missing").display());
                    missing = why;
                }
                "None".to_owned()
            }
        };
        let _ = writeln!(
            generated,
            "/// `bpf/{stem}.bpf.c`, compiled.\n\
             pub(crate) static {}: Option<&[u8]> = {value};",
            stem.to_uppercase()
        );
    }
    let _ = writeln!(
        generated,
        "/// Why the objects are absent; empty when they are there.\n\
         pub(crate) const MISSING: &str = {missing:?};"
    );
    fs::write(out.join("bpf.rs"), generated)
}

/// Compiles one program; says in one line why that cannot be done.
fn compile(clang: &str, source: &Path, object: &Path, includes: &[&str]) -> Result<(), String> {
    let mut command = Command::new(clang);
    command.args(["-O2", "-g", "-target", "bpf", "-Wall", "-Werror"]);
    // 32-bit arithmetic and jumps: kernels from 5.1.
    command.arg("-mcpu=v3");
    for include in includes {
        command.arg("-I").arg(include);
    }
    if let Some(include) = machine_include() {
        command.arg("-I").arg(include);
    }
    command.arg("-c").arg(source).arg("-o").arg(object);
    let output = command.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            format!("{clang} was not found when nicety was built (Debian: {PACKAGES})")
        }
        _ => format!("{clang} did not start: {error}"),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let first = words.lines().find(|line| line.contains("error"));
    let first = first.or_else(|| words.lines().next()).unwrap_or_default();
    Err(format!("{clang}: {first} (Debian: {PACKAGES})"))
}

/// Debian keeps `asm/types.h` in a directory named after the machine, which a compiler for another target does not search.
/// That of this machine does as well for another: BPF programs use its integers only, which are the same on all.
fn machine_include() -> Option<PathBuf> {
    let target = env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    let machines = [target.as_str(), env::consts::ARCH];
    let mut includes = machines
        .map(|machine| PathBuf::from(format!("/usr/include/{machine}-linux-gnu")))
        .into_iter();
    includes.find(|include| include.join("asm/types.h").exists())
}
