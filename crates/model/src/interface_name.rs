//! Valid names of interfaces: `dev_valid_name` in net/core/dev.c.

/// Longest name in bytes: IFNAMSIZ of include/uapi/linux/if.h without the final NUL.
pub const LONGEST_INTERFACE_NAME: usize = 15;

/// Why the kernel refuses a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadInterfaceName {
    /// No characters.
    #[error("is empty")]
    Empty,
    /// More than [`LONGEST_INTERFACE_NAME`] bytes.
    #[error("is longer than the {LONGEST_INTERFACE_NAME} bytes the kernel allows")]
    TooLong,
    /// `.` or `..`: names are directories below /sys/class/net.
    #[error("is a directory, not an interface")]
    Directory,
    /// A slash, which parts directories, or a colon, which parts the old aliases.
    #[error("contains a slash or colon")]
    Separator,
    /// White space or a control character.
    #[error("contains white space or a control character")]
    Blank,
}

/// Whether the kernel accepts the name.
///
/// # Errors
/// The first reason why it does not.
pub fn check_interface_name(name: &str) -> Result<(), BadInterfaceName> {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    match name {
        "" => Err(BadInterfaceName::Empty),
        _ if name.len() > LONGEST_INTERFACE_NAME => Err(BadInterfaceName::TooLong),
        "." | ".." => Err(BadInterfaceName::Directory),
        _ if name.contains(['/', ':']) => Err(BadInterfaceName::Separator),
        _ if name.contains(blank) => Err(BadInterfaceName::Blank),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_as_the_kernel_does() {
        for good in ["a", "eth0", "enp0s31f6np1", "123456789012345", "br-lan.7"] {
            assert_eq!(check_interface_name(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("", BadInterfaceName::Empty),
            ("1234567890123456", BadInterfaceName::TooLong),
            (".", BadInterfaceName::Directory),
            ("..", BadInterfaceName::Directory),
            ("a/b", BadInterfaceName::Separator),
            ("a:1", BadInterfaceName::Separator),
            ("a b", BadInterfaceName::Blank),
            ("a\n", BadInterfaceName::Blank),
            ("a\0", BadInterfaceName::Blank),
        ] {
            assert_eq!(check_interface_name(bad), Err(why), "{bad:?}");
        }
    }
}
