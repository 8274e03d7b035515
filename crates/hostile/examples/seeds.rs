//! Writes the good examples of each target, a folder for each: what the fuzzer begins with.
#![allow(clippy::print_stderr, reason = "a program that says what is wrong")]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(into) = std::env::args().nth(1) else {
        eprintln!("usage: seeds FOLDER");
        return ExitCode::from(2);
    };
    match write(Path::new(&into)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seeds: {into}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(into: &Path) -> std::io::Result<()> {
    let cases = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases"));
    for target in nicety_hostile::TARGETS {
        let folder = into.join(target.name);
        std::fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)(cases).iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{number}")), seed)?;
        }
    }
    Ok(())
}
