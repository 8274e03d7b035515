//! Words that several notes share.

use std::fmt::Display;

use crate::{Fps, LossRatio};

/// Numbers of CPUs as the kernel prints them, with their noun: `CPU 3`, `CPUs 0-3,8`.
pub(super) fn cpus(numbers: &[u32]) -> String {
    match numbers {
        [cpu] => format!("CPU {cpu}"),
        _ => format!("CPUs {}", crate::cpu_list::format_cpu_list(numbers)),
    }
}

/// Numbers of CPUs one by one, with their noun: `CPU 3`, `CPUs 3, 0`.
pub(super) fn each_cpu(numbers: &[u32]) -> String {
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", joined(numbers, ", "))
}

/// `items` with `between` between them.
pub(super) fn joined<T: Display>(items: &[T], between: &str) -> String {
    let words: Vec<String> = items.iter().map(T::to_string).collect();
    words.join(between)
}

/// `text` of a value that is there, nothing of one that is not.
pub(super) fn there<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(String::new, text)
}

pub(super) use crate::counted::plural;

/// A rate in three digits: `208 k frames/s`.
pub(super) fn rate(fps: Fps) -> String {
    let (unit, prefix) = match fps.0 {
        fps if fps >= 999_500.0 => (1e6, " M"),
        fps if fps >= 999.5 => (1e3, " k"),
        _ => (1.0, ""),
    };
    let value = fps.0 / unit;
    let decimals = match value {
        _ if unit == 1.0 => 0,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}{prefix} frames/s")
}

/// A loss in two digits: `0.31 %`, `0.0020 %`.
pub(super) fn loss(ratio: LossRatio) -> String {
    let percent = ratio.0 * 100.0;
    if !percent.is_finite() || percent <= 0.0 {
        return "0 %".to_owned();
    }
    let decimals = (1.0 - percent.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{percent:.decimals$} %")
}

/// The first letter as a capital: names of interfaces and programs stand as they are elsewhere.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_losses_have_few_digits() {
        for (fps, text) in [
            (0.0, "0 frames/s"),
            (812.4, "812 frames/s"),
            (4_296.0, "4.30 k frames/s"),
            (207_917.0, "208 k frames/s"),
            (999_700.0, "1.00 M frames/s"),
            (14_880_952.0, "14.9 M frames/s"),
        ] {
            assert_eq!(rate(Fps(fps)), text);
        }
        for (ratio, text) in [
            (0.0, "0 %"),
            (0.003_112, "0.31 %"),
            (0.000_02, "0.0020 %"),
            (0.5, "50 %"),
            (f64::NAN, "0 %"),
        ] {
            assert_eq!(loss(LossRatio(ratio)), text);
        }
        assert_eq!(capital("the NIC"), "The NIC");
    }
}
