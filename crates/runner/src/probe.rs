//! What can be done here, and what each missing thing costs.
//!
//! What can be tried in namespaces that go with the process is tried; the rest is looked for.

mod engines;
mod guests;
mod interfaces;
mod jobs;
mod paths;

use nicety_host::facts::{self, Source};
use nicety_host::fingerprint::Measurer;
use nicety_model::SCHEMA;
use nicety_model::probe::ProbeReport;
use nicety_netdev::netns::NetNs;
use nicety_netdev::privilege::{self, Privilege, PrivilegeError};

use crate::event::Observer;

/// What is asked for.
pub struct Request<'r> {
    /// Boot no kernel to see whether KVM works: all else takes two seconds, this up to 90.
    pub quick: bool,
    /// Whether the boot is to be skipped now; asked every 20 ms.
    pub skip: &'r dyn Fn() -> bool,
}

/// Looks at everything. No thread may run yet: an ordinary user's process enters a user namespace.
///
/// # Errors
/// When it cannot be found out who the user is.
pub fn all(request: &Request<'_>, observer: &dyn Observer) -> Result<ProbeReport, PrivilegeError> {
    let before = privilege::privilege()?;
    // All that is known of the host comes before a user namespace hides some of it.
    let measurer = Measurer {
        version: env!("CARGO_PKG_VERSION"),
        privileged: before == Privilege::Privileged,
    };
    let facts = facts::read(&Source::live(), measurer);
    let mut abilities = interfaces::all(&facts);
    abilities.extend(jobs::of_user(before, &facts));
    let entered = match before {
        Privilege::Ordinary => privilege::enter_user_namespace(),
        _ => Ok(()),
    };
    match entered {
        Ok(()) => {
            abilities.extend(paths::built(before, observer));
            abilities.extend(engines::all(observer));
            abilities.extend(
                NetNs::create("probe")
                    .map(|ns| guests::nics(&ns))
                    .unwrap_or_default(),
            );
        }
        Err(error) => abilities.push(paths::no_namespaces(&error)),
    }
    abilities.extend(paths::switches());
    abilities.extend(guests::accelerator(request, observer));
    abilities.sort_by_key(|ability| ability.area);
    Ok(ProbeReport {
        schema: SCHEMA,
        nicety: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: facts.host.kernel,
        user: user(before).to_owned(),
        abilities,
    })
}

fn user(privilege: Privilege) -> &'static str {
    match privilege {
        Privilege::Privileged => "root",
        Privilege::UserNamespace => "user namespace",
        Privilege::Ordinary => "ordinary user",
    }
}
