//! Sets of CPUs as the kernel writes them: lists such as `0-3,8` (lib/bitmap-str.c,
//! `bitmap_print_list_str`) and masks.

/// CPU numbers above this are not the kernel's: `NR_CPUS` is 8192 at most.
const HIGHEST_CPU: u32 = 65_535;

/// CPU numbers of a list such as `0-3,8`, sorted, each once. Empty text is the empty list;
/// `None` when any part is not a number or a rising range.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().ok()?;
        let last: u32 = last.trim().parse().ok()?;
        if first > last || last > HIGHEST_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// CPU numbers of a mask such as `ff` or `00000001,00000000` (the leftmost word is the highest,
/// 32 bits each), sorted; `None` when it is no mask.
pub fn parse_cpu_mask(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for (index, word) in text.trim().rsplit(',').enumerate() {
        let first = u32::try_from(index).ok()?.checked_mul(32)?;
        let bits = u32::from_str_radix(word.trim(), 16).ok()?;
        if first > HIGHEST_CPU {
            return None;
        }
        cpus.extend(
            (0..32)
                .filter(|bit| bits & (1 << bit) != 0)
                .map(|bit| first + bit),
        );
    }
    Some(cpus)
}

/// `CPU 3`, `CPUs 0-3,8`.
pub fn name_cpus(cpus: &[u32]) -> String {
    let word = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{word} {}", format_cpu_list(cpus))
}

/// The mask in the kernel's format (lib/bitmap.c, `%*pb`): words of 32 bits, highest first.
pub fn format_cpu_mask(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |cpu| cpu / 32 + 1);
    let word = |index: u32| {
        let bits = cpus.iter().filter(|&&cpu| cpu / 32 == index);
        bits.fold(0u32, |word, cpu| word | 1 << (cpu % 32))
    };
    let text: Vec<String> = (0..words)
        .rev()
        .map(|index| format!("{:08x}", word(index)))
        .collect();
    text.join(",")
}

/// The list in the kernel's format; `cpus` may be in any order.
pub fn format_cpu_list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for cpu in sorted {
        match parts.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let words: Vec<String> = parts
        .into_iter()
        .map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_as_the_kernel_prints_them() {
        for (text, cpus) in [
            ("", Some(vec![])),
            ("\n", Some(vec![])),
            ("0", Some(vec![0])),
            ("0-3,8\n", Some(vec![0, 1, 2, 3, 8])),
            ("8,0-1,1", Some(vec![0, 1, 8])),
            ("3-1", None),
            ("x", None),
            ("1-", None),
            ("-1", None),
            ("0-4294967295", None),
            ("99999999999", None),
        ] {
            assert_eq!(parse_cpu_list(text), cpus, "{text:?}");
        }
    }

    #[test]
    fn masks_read_and_print_as_the_kernel_prints_them() {
        for (text, cpus) in [
            ("00000000", Some(vec![])),
            ("f", Some(vec![0, 1, 2, 3])),
            ("00000001,80000000\n", Some(vec![31, 32])),
            ("", None),
            ("0x1", None),
            ("100000000", None),
        ] {
            assert_eq!(parse_cpu_mask(text), cpus, "{text:?}");
        }
        assert_eq!(format_cpu_mask(&[]), "00000000");
        assert_eq!(format_cpu_mask(&[31, 32]), "00000001,80000000");
    }

    #[test]
    fn lists_print_as_the_kernel_does() {
        for text in ["", "0", "0-3,8", "1,3,5-6"] {
            let cpus = parse_cpu_list(text).unwrap();
            assert_eq!(format_cpu_list(&cpus), text);
        }
        assert_eq!(format_cpu_list(&[]), "");
        assert_eq!(format_cpu_list(&[3, 0, 1, 2, 8]), "0-3,8");
        assert_eq!(format_cpu_list(&[3, 0, 1, 8, 2, 2]), "0-3,8");
        assert_eq!(format_cpu_list(&[u32::MAX, 5, 5]), "5,4294967295");
    }
}
