//! Memory: huge pages by node, transparent huge pages.

use nicety_model::facts::{HugePages, MemoryFacts};

use crate::roots::{Roots, SysRoot};

pub(super) fn read(roots: &Roots, total_mib: Option<u64>) -> MemoryFacts {
    let sys = &roots.sys;
    let nodes = sys.entries_where("devices/system/node", |name| {
        name.strip_prefix("node")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    });
    let mut hugepages: Vec<HugePages> = nodes
        .iter()
        .flat_map(|name| {
            let node = name.strip_prefix("node").and_then(|n| n.parse().ok());
            pages(sys, &format!("devices/system/node/{name}/hugepages"), node)
        })
        .collect();
    if nodes.is_empty() {
        hugepages = pages(sys, "kernel/mm/hugepages", None);
    }
    hugepages.retain(|pages| pages.total > 0);
    MemoryFacts {
        total_mib,
        hugepages,
        transparent: chosen(sys, "enabled"),
        transparent_defrag: chosen(sys, "defrag"),
    }
}

fn pages(sys: &SysRoot, dir: &str, node: Option<u32>) -> Vec<HugePages> {
    let of = |name: &String| {
        let size = name.strip_prefix("hugepages-")?.strip_suffix("kB")?;
        let count = |file: &str| sys.text(format!("{dir}/{name}/{file}"))?.parse().ok();
        Some(HugePages {
            node,
            size_kib: size.parse().ok()?,
            total: count("nr_hugepages")?,
            free: count("free_hugepages").unwrap_or(0),
        })
    };
    sys.entries(dir).iter().filter_map(of).collect()
}

/// The word in brackets: `always [madvise] never`.
fn chosen(sys: &SysRoot, file: &str) -> Option<String> {
    let text = sys.text(format!("kernel/mm/transparent_hugepage/{file}"))?;
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}
