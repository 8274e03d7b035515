//! What fits: from the kernel's texts, and from the table's limit.

/// Bytes of an entry: the size of objects of the slab cache `nf_conntrack` (`/proc/slabinfo`, for root only).
pub(super) fn entry_bytes(slabinfo: &str) -> Option<u64> {
    let line = slabinfo
        .lines()
        .find(|line| line.split_whitespace().next() == Some("nf_conntrack"))?;
    // Name, objects in use, objects, size.
    line.split_whitespace().nth(3)?.parse().ok()
}

/// Memory that programs may still get (`/proc/meminfo`).
pub(super) fn available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find(|line| line.starts_with("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// Connections that fit beside what is above `share` of the table; `max` 0 is no limit.
pub(super) fn usable(max: u64, most: u64, share: f64) -> u64 {
    let table = if max == 0 {
        u64::MAX
    } else {
        (max as f64 * share) as u64
    };
    table.min(most).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_kernels_texts() {
        let slabs = "slabinfo - version: 2.1\n# name <active_objs> <num_objs> <objsize>\n\
                     nf_conntrack_expect 0 0 208 19 1\nnf_conntrack 112 120 256 16 1 : tunables 0 0 0\n";
        assert_eq!(entry_bytes(slabs), Some(256));
        assert_eq!(entry_bytes("nf_conntrack_expect 0 0 208"), None);
        let memory = "MemTotal: 8 kB\nMemAvailable:    1024 kB\n";
        assert_eq!(available_bytes(memory), Some(1 << 20));
    }

    #[test]
    fn the_table_or_the_tester_is_the_limit() {
        assert_eq!(usable(1000, 5000, 0.9), 900);
        assert_eq!(usable(1000, 500, 0.9), 500);
        assert_eq!(usable(0, 500, 0.9), 500);
        assert_eq!(usable(1, 500, 0.9), 1);
    }
}
