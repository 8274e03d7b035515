//! The values of an enum in the kernel's type information.
//!
//! Reasons have other numbers in other kernels, so that their names are taken from the kernel that runs.
//! The format is that of `Documentation/bpf/btf.rst`. aya keeps the values of enums to itself, and the
//! crate that reads them for tests (btf-rs) may not be built in by its licence.

/// Where the kernel has it.
pub(crate) const KERNEL: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;
const TYPE_BYTES: usize = 12;
const KIND_ENUM: u32 = 6;

/// Names and values of the enum `name`; `None` where there is none, or the bytes are no BTF.
pub(crate) fn enum_values(btf: &[u8], name: &str) -> Option<Vec<(u32, String)>> {
    let word = |at: usize| {
        let bytes = btf.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let magic = u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?);
    if magic != MAGIC {
        return None;
    }
    let header = word(4)? as usize;
    let from = |offset: usize| header.checked_add(word(offset)? as usize);
    let types = from(8)?;
    let end = types.checked_add(word(12)? as usize)?;
    let strings = from(16)?;
    let string = |offset: u32| {
        let bytes = btf.get(strings.checked_add(offset as usize)?..)?;
        let end = bytes.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(bytes.get(..end)?).ok()
    };
    let mut at = types;
    while at < end {
        let info = word(at + 4)?;
        let (kind, entries) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
        let first = at + TYPE_BYTES;
        if kind == KIND_ENUM && entries > 0 && string(word(at)?) == Some(name) {
            let value = |n: usize| {
                let entry = first + 8 * n;
                Some((word(entry + 4)?, string(word(entry)?)?.to_owned()))
            };
            return (0..entries).map(value).collect();
        }
        at = first + tail(kind, entries)?;
    }
    None
}

/// Bytes behind a type of this kind.
fn tail(kind: u32, entries: usize) -> Option<usize> {
    Some(match kind {
        // INT, VAR, DECL_TAG
        1 | 14 | 17 => 4,
        // PTR, FWD, TYPEDEF, VOLATILE, CONST, RESTRICT, FUNC, FLOAT, TYPE_TAG
        2 | 7..=12 | 16 | 18 => 0,
        // ARRAY
        3 => 12,
        // STRUCT, UNION, DATASEC, ENUM64
        4 | 5 | 15 | 19 => 12 * entries,
        // ENUM, FUNC_PROTO
        6 | 13 => 8 * entries,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An int, a struct with a member, and an enum.
    fn made() -> Vec<u8> {
        let strings = b"\0int\0skb_drop_reason\0SKB_DROP_REASON_OTHERHOST\0";
        let words: &[u32] = &[
            1,
            1 << 24,
            4,
            32, // int
            0,
            4 << 24 | 1,
            4,
            1,
            1,
            0, // struct of one member
            5,
            6 << 24 | 1,
            4,
            21,
            9, // enum of one value
        ];
        let mut btf = Vec::new();
        btf.extend(MAGIC.to_ne_bytes());
        btf.extend([1, 0]);
        let types = words.len() as u32 * 4;
        for word in [24, 0, types, types, strings.len() as u32] {
            btf.extend(u32::to_ne_bytes(word));
        }
        btf.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        btf.extend(strings);
        btf
    }

    #[test]
    fn values_are_found_behind_other_types() {
        let values = enum_values(&made(), "skb_drop_reason");
        let expected = vec![(9, "SKB_DROP_REASON_OTHERHOST".to_owned())];
        assert_eq!(values, Some(expected));
        assert_eq!(enum_values(&made(), "other"), None);
        assert_eq!(enum_values(b"no type information", "other"), None);
    }

    #[test]
    fn the_kernels_own_reasons_are_found() {
        let Ok(btf) = std::fs::read(KERNEL) else {
            println!("SKIP the_kernels_own_reasons_are_found: there is no {KERNEL}");
            return;
        };
        let Some(values) = enum_values(&btf, "skb_drop_reason") else {
            println!("SKIP the_kernels_own_reasons_are_found: the kernel is older than 5.17");
            return;
        };
        let known = |name: &str| values.iter().any(|(_, of)| of.ends_with(name));
        assert!(known("_NOT_SPECIFIED") && known("_NO_SOCKET"), "{values:?}");
    }

    proptest! {
        #[test]
        fn damage_does_no_harm(at in 0_usize..150, byte: u8) {
            let mut btf = made();
            if let Some(old) = btf.get_mut(at) {
                *old = byte;
            }
            let _ = enum_values(&btf, "skb_drop_reason");
            let _ = enum_values(&btf[..at.min(btf.len())], "skb_drop_reason");
        }
    }
}
