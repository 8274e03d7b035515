//! The number that a report begins with.

use super::Badge;

/// A number with its unit and interval, what it is worth, and the numbers that stand beside it.
pub struct Headline {
    /// What it is the number of: `64 B`.
    pub(crate) of: String,
    /// `785 k`, or `at least 131 k`.
    pub(crate) number: String,
    /// `frames/s`
    pub(crate) unit: &'static str,
    /// What the number is known to: `760–810 k`.
    pub(crate) interval: Option<String>,
    /// Further numbers: `528 Mbit/s`, `691 k held for 10 s`.
    pub(crate) beside: Vec<String>,
    pub(crate) badge: Badge,
}

impl Headline {
    /// In one line: `64 B: 785 k frames/s (760–810 k), 528 Mbit/s, 691 k held for 10 s`.
    pub(crate) fn line(&self) -> String {
        let interval = self.interval.iter();
        let interval: String = interval.map(|ends| format!(" ({ends})")).collect();
        let mut line = format!("{}: {} {}{interval}", self.of, self.number, self.unit);
        for more in &self.beside {
            line.push_str(", ");
            line.push_str(more);
        }
        line
    }
}
