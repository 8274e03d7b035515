//! Where things are below the prefix.

/// There as long as the prefix is new. An etcd that was set up again without its data knows no host, while hosts
/// may still hold what the old one has granted. Until this key's lease ends, no leader's write passes.
pub const YOUNG: &str = "young";

/// The full key of a path below the prefix.
pub(crate) fn full(prefix: &str, path: &str) -> String {
    format!("{prefix}/{path}")
}

/// The path of a full key; none for one that is not below the prefix, or is not text.
pub(crate) fn path<'k>(prefix: &str, key: &'k [u8]) -> Option<&'k str> {
    let rest = std::str::from_utf8(key).ok()?.strip_prefix(prefix)?;
    rest.strip_prefix('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_its_own_prefix_only() {
        let full = full("/nicety/a", "grant/h1");
        assert_eq!(path("/nicety/a", full.as_bytes()), Some("grant/h1"));
        assert_eq!(path("/nicety", b"/nicety/a"), Some("a"));
        for other in [
            &b"/nicety/ab/grant/h1"[..],
            b"/nicety/a",
            b"\xff",
            b"/nicety/a/\xff",
        ] {
            assert_eq!(path("/nicety/a", other), None, "{other:?}");
        }
    }
}
