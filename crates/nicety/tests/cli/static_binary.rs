//! What `make static` builds, and what these tests run when they are built for musl, needs no other file.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{NICETY, call, is_static, open_dir, root};

/// `PT_INTERP` of elf(5): the program wants a loader.
const INTERPRETER: u32 = 3;

/// Kinds of a 64-bit little-endian ELF file's program headers.
fn segments(file: &[u8]) -> Vec<u32> {
    let half = |at: usize| usize::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()));
    let table = u64::from_le_bytes(file[32..40].try_into().unwrap()) as usize;
    let kind = |n: usize| {
        let at = table + n * half(54);
        u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
    };
    (0..half(56)).map(kind).collect()
}

#[test]
fn it_runs_alone() {
    if !is_static() {
        return;
    }
    let bytes = fs::read(NICETY).unwrap();
    assert_eq!(bytes[..6], *b"\x7fELF\x02\x01");
    assert!(!segments(&bytes).contains(&INTERPRETER));
    if let Ok(ldd) = Command::new("ldd").arg(NICETY).output() {
        let told = String::from_utf8([ldd.stdout, ldd.stderr].concat()).unwrap();
        let none = ["statically linked", "not a dynamic executable"];
        assert!(none.iter().any(|words| told.contains(words)), "{told}");
    }
    if root() {
        // Nothing else is there: no library, no /proc.
        let dir = open_dir();
        fs::copy(NICETY, dir.path().join("nicety")).unwrap();
        let ended = call(Path::new("/nicety"), ["--version"])
            .below(["chroot".as_ref(), dir.path()])
            .run();
        let version = concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!(ended.assert_code(0).stdout, version);
    }
}
