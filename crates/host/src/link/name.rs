//! What an interface may be called.

use crate::net_error::NetError;

/// Longest interface name in bytes: IFNAMSIZ of include/uapi/linux/if.h without the final NUL.
pub const LONGEST_NAME: usize = 15;

/// Refuses names that the kernel's `dev_valid_name` (net/core/dev.c) refuses, before the kernel
/// or a path under /sys sees them.
///
/// # Errors
/// [`NetError::BadName`] with what is wrong.
pub fn check_name(name: &str) -> Result<(), NetError> {
    let bad = |why| {
        Err(NetError::BadName {
            name: name.to_owned(),
            why,
        })
    };
    if name.is_empty() {
        bad("is empty")
    } else if name.len() > LONGEST_NAME {
        bad("is longer than the 15 bytes the kernel allows")
    } else if name == "." || name == ".." {
        bad("is a directory, not an interface")
    } else if name.contains(['/', ':']) {
        bad("contains a slash or colon")
    } else if name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        bad("contains white space or a control character")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_the_kernel_does() {
        for good in ["a", "eth0", "enp0s31f6np1", "123456789012345", "br-lan.7"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "1234567890123456",
            ".",
            "..",
            "a/b",
            "a:1",
            "a b",
            "a\n",
            "a\0",
        ] {
            assert!(
                matches!(check_name(bad), Err(NetError::BadName { .. })),
                "{bad:?}"
            );
        }
    }
}
