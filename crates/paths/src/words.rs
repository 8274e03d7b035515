//! Parts of sentences.

/// CPU numbers: `CPUs 0, 1`.
pub(crate) fn cpus(cpus: &[u32]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    let words: Vec<String> = cpus.iter().map(u32::to_string).collect();
    format!("CPU{plural} {}", words.join(", "))
}
