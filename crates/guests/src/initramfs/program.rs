//! The running program's files.
#![allow(unsafe_code)] // edge: asks the dynamic loader

use std::ffi::{CStr, c_int, c_void};

/// The shared libraries of this process and the loader itself, each by the path under which the
/// loader looked it up. Empty for a program that is linked statically.
pub fn libraries() -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    // SAFETY: `collect` is called before this returns and gets the pointer to `paths`, which
    // lives that long and is used by nobody else meanwhile.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut paths).cast()) };
    paths
}

unsafe extern "C" fn collect(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    paths: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid entry, and `paths` is what `libraries` gave it.
    let (info, paths) = unsafe { (&*info, &mut *paths.cast::<Vec<String>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: a name that is not null is a C string of the loader's, alive while the library
        // is loaded.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        // The program has an empty name, with musl that of its link below /proc; the kernel's vDSO has one without a
        // directory.
        if let Ok(path) = name.to_str()
            && path.starts_with('/')
            && path != "/proc/self/exe"
        {
            paths.push(path.to_owned());
        }
    }
    0
}

/// The part of an ELF file that is loaded: all up to the end of its last segment. Symbols and
/// debugging sections lie behind. A file of another kind is returned whole.
pub fn segments(file: &[u8]) -> &[u8] {
    end_of_segments(file)
        .and_then(|end| file.get(..end))
        .unwrap_or(file)
}

/// Field offsets of `Elf64_Ehdr` and `Elf64_Phdr`, elf(5).
fn end_of_segments(file: &[u8]) -> Option<usize> {
    const CLASS_64_LITTLE: [u8; 2] = [2, 1];
    if file.get(..4)? != b"\x7fELF" || file.get(4..6)? != CLASS_64_LITTLE {
        return None;
    }
    let word = |at: usize| {
        Some(u64::from_le_bytes(
            file.get(at..at.checked_add(8)?)?.try_into().ok()?,
        ))
    };
    let half = |at: usize| {
        Some(u16::from_le_bytes(
            file.get(at..at.checked_add(2)?)?.try_into().ok()?,
        ))
    };
    let table = usize::try_from(word(32)?).ok()?;
    let (size, count) = (usize::from(half(54)?), usize::from(half(56)?));
    let mut end = table.checked_add(size.checked_mul(count)?)?;
    for number in 0..count {
        let header = table.checked_add(size.checked_mul(number)?)?;
        let last = word(header.checked_add(8)?)?.checked_add(word(header.checked_add(32)?)?)?;
        end = end.max(usize::try_from(last).ok()?);
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_that_is_not_static_has_a_c_library_and_a_loader() {
        let libraries = libraries();
        if cfg!(target_feature = "crt-static") {
            assert_eq!(libraries, [""; 0]);
            return;
        }
        for part in ["/libc.so", "/ld-linux"] {
            assert!(
                libraries.iter().any(|path| path.contains(part)),
                "{part}: {libraries:?}"
            );
        }
    }

    #[test]
    fn the_loaded_part_of_this_program_runs() {
        use std::os::unix::fs::PermissionsExt;
        let whole = std::fs::read("/proc/self/exe").unwrap();
        let part = segments(&whole);
        assert!(
            part.len() < whole.len(),
            "a test program has debugging sections"
        );
        let dir = tempfile::tempdir().unwrap();
        let copy = dir.path().join("copy");
        std::fs::write(&copy, part).unwrap();
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o755)).unwrap();
        let out = std::process::Command::new(&copy)
            .arg("--list")
            .output()
            .unwrap();
        let listed = String::from_utf8(out.stdout).unwrap();
        assert!(
            listed.contains("the_loaded_part_of_this_program_runs"),
            "{listed}"
        );
    }

    #[test]
    fn other_files_stay_whole() {
        let mut torn = b"\x7fELF\x02\x01".to_vec();
        assert_eq!(segments(&torn), torn);
        torn.resize(64, 0xff);
        assert_eq!(segments(&torn), torn);
        assert_eq!(segments(b"#!/bin/sh\n"), b"#!/bin/sh\n");
    }
}
