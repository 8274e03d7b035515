//! Words that several notes share.

use std::fmt::Display;

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
    fn sentences_begin_with_a_capital() {
        assert_eq!(capital("the NIC"), "The NIC");
    }
}
