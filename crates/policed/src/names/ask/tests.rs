use std::os::unix::fs::symlink;

use super::*;

fn names(all: &[&str]) -> BTreeSet<Name> {
    all.iter().map(|name| name.parse().unwrap()).collect()
}

/// The recorded files, copied: a checkout may be another user's.
fn copied(from: &str, to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../police/tests")
        .join(from);
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::write(to.join(entry.file_name()), fs::read(entry.path()).unwrap()).unwrap();
    }
}

#[test]
fn guests_of_proxmox_are_found_in_its_files() {
    let dir = tempfile::tempdir().unwrap();
    let asked = names(&["pve:101/net1", "pve:102/net0", "pve:103/net0"]);
    // No Proxmox here: no such guest.
    for found in proxmox(dir.path(), &asked).unwrap().values() {
        assert!(
            matches!(found, Found::Absent(Absent::NoGuest(_))),
            "{found:?}"
        );
    }
    let node = dir.path().join("nodes/pve1");
    for kind in ["qemu-server", "lxc"] {
        copied(&format!("pve/{kind}"), &node.join(kind));
        symlink(node.join(kind), dir.path().join(kind)).unwrap();
    }
    let found: Vec<Found> = proxmox(dir.path(), &asked).unwrap().into_values().collect();
    assert_eq!(found[0], Found::Interface("tap101i1".to_owned()));
    assert_eq!(found[1], Found::Interface("veth102i0".to_owned()));
    assert_eq!(found[2], Found::Absent(Absent::NoGuest(103)));
}

#[test]
fn pods_are_found_in_the_cache_of_cni() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("results");
    let asked = names(&["pod:shop/web-0/eth0"]);
    let found = pods(&root, &asked).unwrap();
    assert_eq!(
        found.into_values().next(),
        Some(Found::Absent(Absent::NoPod))
    );
    copied("cni", &root);
    // Other things there harm nobody.
    fs::create_dir(root.join("directory")).unwrap();
    fs::write(root.join("half"), "{\"kind\":").unwrap();
    let found = pods(&root, &asked).unwrap();
    let wanted = ["cni0", "veth5d2a91c7"].map(str::to_owned).to_vec();
    assert_eq!(found.into_values().next(), Some(Found::OneOf(wanted)));
    fs::write(root.join("huge"), vec![b'x'; 2 << 20]).unwrap();
    let error = pods(&root, &asked).unwrap_err().to_string();
    assert!(error.ends_with("huge: it is larger than 1 MiB"), "{error}");
}

#[test]
fn files_that_others_may_write_are_not_believed_by_root() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    copied("pve/qemu-server", &dir.path().join("qemu-server"));
    let file = dir.path().join("qemu-server/101.conf");
    set_permissions(&file, Permissions::from_mode(0o666)).unwrap();
    let found = proxmox(dir.path(), &names(&["pve:101/net0"]));
    if !nicety_netdev::privilege::is_host_root() {
        assert!(found.is_ok());
        return;
    }
    let error = found.unwrap_err().to_string();
    assert!(
        error.ends_with("101.conf can be written by others than root, so it is not believed; correct its owner and mode"),
        "{error}"
    );
}

#[test]
fn a_device_is_an_interface_or_a_function_of_one() {
    let dir = tempfile::tempdir().unwrap();
    let device = |address: &str| dir.path().join("devices").join(address);
    let [pf, vf, bare] = ["0000:3b:00.0", "0000:3b:02.1", "0000:00:1f.0"];
    fs::create_dir_all(dir.path().join("class/net/eth0")).unwrap();
    fs::create_dir_all(dir.path().join("bus/pci/devices")).unwrap();
    for address in [pf, vf, bare] {
        fs::create_dir_all(device(address)).unwrap();
        symlink(
            device(address),
            dir.path().join("bus/pci/devices").join(address),
        )
        .unwrap();
    }
    fs::create_dir_all(device(pf).join("net/eth0")).unwrap();
    symlink(device(pf), dir.path().join("class/net/eth0/device")).unwrap();
    fs::write(device(pf).join("sriov_numvfs"), "2\n").unwrap();
    symlink(device(vf), device(pf).join("virtfn1")).unwrap();
    let all = [pf, vf, bare, "0000:99:00.0"].map(|address| address.parse().unwrap());
    let found = devices(&Places::at(dir.path()), &all.into());
    let function = Device::Function {
        pf: "eth0".to_owned(),
        vf: 1,
    };
    assert_eq!(
        found.get(&all[0]),
        Some(&Device::Interface("eth0".to_owned()))
    );
    assert_eq!(found.get(&all[1]), Some(&function));
    assert_eq!(found.get(&all[2]), Some(&Device::Other));
    assert_eq!(found.get(&all[3]), None);
}
