//! Parts of sentences.

/// CPU numbers: `CPUs 0, 1`.
pub(crate) fn cpus(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", list(cpus))
}

/// Numbers: `0, 1`.
pub(crate) fn list(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    words.join(", ")
}
