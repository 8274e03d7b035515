//! The compiled BPF programs, see `build.rs`.

include!(concat!(env!("OUT_DIR"), "/bpf.rs"));

/// Why the programs are not in this binary; `None` when they are.
pub fn missing() -> Option<&'static str> {
    (!MISSING.is_empty()).then_some(MISSING)
}
