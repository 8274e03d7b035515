//! Who else uses the functions of a port.

use nicety_netdev::vf::{Holder, Places, VfHolders};

/// Who has the first function that somebody has.
pub(super) fn holder(places: &Places, pf: &str, count: u32) -> String {
    let holders = VfHolders::find();
    let mut functions = (0..count).filter_map(|vf| Some((vf, places.virtual_function(pf, vf)?)));
    let held = functions.find_map(|(vf, function)| {
        let who = match holders.of(&function) {
            Holder::Interface(name) => format!("is {name}"),
            Holder::OtherNamespace(None) => "is in another namespace".to_owned(),
            Holder::OtherNamespace(Some(name)) => format!("is in the namespace {name}"),
            Holder::Process { pid, name } => format!("belongs to {name} (process {pid})"),
            Holder::Vfio => "belongs to VFIO".to_owned(),
            Holder::Uio => "belongs to UIO".to_owned(),
            Holder::Nobody => return None,
        };
        Some(format!(", vf{vf} {who}"))
    });
    held.unwrap_or_default()
}
