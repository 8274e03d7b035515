//! Everything that has a name, the other way round: which name an interface has.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nicety_police::names::{Found, Name};

use super::{Asker, Trouble, attachments, database, described, listed, proxmox};

impl Asker {
    /// Names of interfaces; of several the one by which people call the guest.
    pub(in super::super) fn all(&self) -> BTreeMap<String, Name> {
        let Ok(links) = self.links.list() else {
            return BTreeMap::new();
        };
        let fits = |kind: &str| matches!(kind, "tun" | "veth" | "macvtap");
        let ports = links.iter().filter(|link| fits(&link.kind));
        let ports: BTreeSet<&str> = ports.map(|link| link.name.as_str()).collect();
        if ports.is_empty() {
            return BTreeMap::new();
        }
        // Later ones replace earlier ones.
        let sources = [
            switch(),
            pods(&self.cni),
            domains(),
            proxmox_guests(&self.pve, &ports),
        ];
        let all = sources.into_iter().flat_map(Result::unwrap_or_default);
        all.filter(|(interface, _)| ports.contains(interface.as_str()))
            .collect()
    }
}

type Names = Vec<(String, Name)>;

fn switch() -> Result<Names, Trouble> {
    Ok(database()?.names().collect())
}

fn pods(root: &Path) -> Result<Names, Trouble> {
    let all = attachments(root)?;
    let named = all.iter().flat_map(|attachment| {
        let interfaces = attachment.host.iter().cloned();
        interfaces.map(|interface| (interface, attachment.name()))
    });
    Ok(named.collect())
}

fn domains() -> Result<Names, Trouble> {
    let mut names = Vec::new();
    for one in listed(&[])? {
        if let Ok(domain) = described(&one)? {
            names.extend(domain.names());
        }
    }
    Ok(names)
}

fn proxmox_guests(root: &Path, ports: &BTreeSet<&str>) -> Result<Names, Trouble> {
    let named = ports
        .iter()
        .filter_map(|port| nicety_police::names::named(port));
    let found = proxmox(root, &named.collect())?;
    let named = found.into_iter().filter_map(|(name, found)| match found {
        Found::Interface(interface) => Some((interface, name)),
        _ => None,
    });
    Ok(named.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guests_of_proxmox_are_believed_by_their_files_only() {
        let dir = tempfile::tempdir().unwrap();
        let ports = BTreeSet::from(["tap101i0", "tap0", "veth7i0"]);
        assert_eq!(proxmox_guests(dir.path(), &ports).unwrap(), []);
        std::fs::create_dir(dir.path().join("qemu-server")).unwrap();
        let file = dir.path().join("qemu-server/101.conf");
        std::fs::write(file, "net0: virtio=52:54:00:00:00:01,bridge=vmbr0\n").unwrap();
        let names = proxmox_guests(dir.path(), &ports).unwrap();
        let name = Name::Pve { guest: 101, net: 0 };
        assert_eq!(names, [("tap101i0".to_owned(), name)]);
    }

    #[test]
    fn pods_name_the_interfaces_that_were_made_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../police/tests/cni/cbr0-6f2a-eth0"
        );
        std::fs::copy(file, dir.path().join("one")).unwrap();
        let names = pods(dir.path()).unwrap();
        let veth = names
            .iter()
            .find(|(interface, _)| interface == "veth5d2a91c7");
        let name = veth.map(|(_, name)| name.to_string());
        assert_eq!(name.as_deref(), Some("pod:shop/web-0/eth0"));
    }
}
