//! How many threads an end has.

/// Worker threads: as asked, else one per CPU they are pinned to.
pub fn threads_on(asked: Option<u16>, cpus: &[u32]) -> usize {
    match (asked, cpus) {
        (None, [_, ..]) => cpus.len(),
        _ => threads(asked),
    }
}

/// Worker threads: as asked, else one per CPU this process may use.
pub fn threads(asked: Option<u16>) -> usize {
    asked.map_or_else(
        || std::thread::available_parallelism().map_or(1, usize::from),
        usize::from,
    )
}
