//! Groups of options, in the order in which help shows them. Every command uses the same words.

/// What is measured, read or changed.
pub const WHAT: &str = "What";
/// How it is done.
pub const HOW: &str = "How";
/// Virtual machines of the program itself.
pub const GUESTS: &str = "Guests";
/// What is printed, and where files go.
pub const OUTPUT: &str = "Output";
/// What makes a script stop.
pub const EXIT: &str = "Exit code";
/// What every command takes.
pub const GLOBAL: &str = "Global options";

/// All of them.
#[cfg(test)]
pub const ORDER: [&str; 6] = [WHAT, HOW, GUESTS, OUTPUT, EXIT, GLOBAL];
