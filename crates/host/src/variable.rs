//! Variables of the environment.

use std::ffi::OsString;

/// What a variable says. An empty one is as good as none.
pub fn named(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
