//! Guests of Proxmox VE, by their files (qm.conf(5), pct.conf(5)).

use crate::names::name::Name;
use crate::names::resolution::{Absent, Found};

/// What a guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A virtual machine, of `qemu-server/101.conf`.
    Machine,
    /// A container, of `lxc/101.conf`.
    Container,
}

/// Whether a file configures a network device. Below the first `[section]` are snapshots, which do not run.
pub fn has_net(text: &str, net: u32) -> bool {
    let now = text.lines().take_while(|line| !line.starts_with('['));
    let key = format!("net{net}:");
    now.into_iter().any(|line| line.starts_with(&key))
}

/// The interface of a device: the name that Proxmox gives it never changes. `file` is what configures the guest.
pub fn net(guest: u32, net: u32, file: Option<(Kind, &str)>) -> Found {
    match file {
        None => Found::Absent(Absent::NoGuest(guest)),
        Some((_, text)) if !has_net(text, net) => Found::Absent(Absent::NoNet { guest, net }),
        Some((Kind::Machine, _)) => Found::Interface(format!("tap{guest}i{net}")),
        Some((Kind::Container, _)) => Found::Interface(format!("veth{guest}i{net}")),
    }
}

/// The device of a guest that an interface is by its name, which only Proxmox gives: `tap101i0`.
pub fn named(interface: &str) -> Option<Name> {
    let mut begins = ["tap", "veth"].into_iter();
    let rest = begins.find_map(|begin| interface.strip_prefix(begin))?;
    let (guest, net) = rest.split_once('i')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok()).flatten()
    };
    Some(Name::Pve {
        guest: number(guest)?,
        net: number(net)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_tells_its_guest() {
        let name = |guest, net| Some(Name::Pve { guest, net });
        assert_eq!(named("tap101i0"), name(101, 0));
        assert_eq!(named("veth102i12"), name(102, 12));
        for other in [
            "tap0",
            "tapi0",
            "veth1i",
            "eth0",
            "tap99999999999i0",
            "tap+1i0",
        ] {
            assert_eq!(named(other), None, "{other}");
        }
    }

    #[test]
    fn a_device_of_a_guest_is_its_interface() {
        let machine = include_str!("../../tests/pve/qemu-server/101.conf");
        let container = include_str!("../../tests/pve/lxc/102.conf");
        let name = |name: &str| Found::Interface(name.to_owned());
        let machine = Some((Kind::Machine, machine));
        let container = Some((Kind::Container, container));
        assert_eq!(net(101, 0, machine), name("tap101i0"));
        assert_eq!(net(101, 1, machine), name("tap101i1"));
        // Only a snapshot has it.
        let absent = Absent::NoNet { guest: 101, net: 2 };
        assert_eq!(net(101, 2, machine), Found::Absent(absent));
        assert_eq!(net(102, 0, container), name("veth102i0"));
        assert_eq!(net(103, 0, None), Found::Absent(Absent::NoGuest(103)));
    }
}
