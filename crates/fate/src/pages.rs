//! Where the kernel says where its memory is, for programs that read what drivers left in pages.

use std::sync::OnceLock;

use aya::EbpfLoader;

use crate::symbols::{SYMBOLS, address};

/// Globals of `bpf/frame.bpf.h`, and the kernel's variables whose addresses they have. Only x86-64 has these variables.
/// They are in the list of a kernel that has its data there (`CONFIG_KALLSYMS_ALL`).
const VARIABLES: [(&str, &str); 2] = [
    ("vmemmap_base_at", "vmemmap_base"),
    ("page_offset_base_at", "page_offset_base"),
];

/// The addresses; 0 where one is not known.
static ADDRESSES: OnceLock<[u64; 2]> = OnceLock::new();

/// Tells the programs that are to be loaded. Where an address is not known, they see frames in one piece only.
pub(crate) fn tell<'l, 'a>(loader: &'l mut EbpfLoader<'a>) -> &'l mut EbpfLoader<'a> {
    let addresses = ADDRESSES.get_or_init(|| {
        let list = std::fs::read(SYMBOLS).unwrap_or_default();
        VARIABLES.map(|(_, name)| address(name, &list).unwrap_or(0))
    });
    for ((global, _), address) in VARIABLES.iter().zip(addresses) {
        loader.override_global(global, address, true);
    }
    loader
}
