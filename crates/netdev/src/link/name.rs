//! Names of interfaces, before the kernel or a path under /sys sees them.

use nicety_model::interface_name::check_interface_name;

use crate::net_error::NetError;

/// Refuses names that the kernel refuses.
///
/// # Errors
/// [`NetError::BadName`] with what is wrong.
pub fn check_name(name: &str) -> Result<(), NetError> {
    check_interface_name(name).map_err(|why| NetError::BadName {
        name: name.to_owned(),
        why,
    })
}
