use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::external::tests::link;

const NIC: &str = "0000:03:00.0";
const OTHER: &str = "0000:03:00.1";

/// A function in a recorded sysfs, alone in its group.
fn put(sys: &Path, address: &str, class: &str, group: u32, driver: &str, interface: &str) {
    let device = sys.join("bus/pci/devices").join(address);
    fs::create_dir_all(device.join("net").join(interface)).unwrap();
    fs::write(device.join("class"), format!("{class}\n")).unwrap();
    // Links as the kernel makes them: `pci_function` follows one to the device.
    let place = sys.join("devices").join(address);
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(&device, &place).unwrap();
    symlink(&place, &device).unwrap();
    let members = sys.join(format!("kernel/iommu_groups/{group}/devices"));
    fs::create_dir_all(&members).unwrap();
    symlink(&place, members.join(address)).unwrap();
    symlink(
        sys.join(format!("kernel/iommu_groups/{group}")),
        place.join("iommu_group"),
    )
    .unwrap();
    symlink(
        sys.join("bus/pci/drivers").join(driver),
        place.join("driver"),
    )
    .unwrap();
}

struct Machine {
    dir: tempfile::TempDir,
    links: Vec<Link>,
    used: &'static str,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), NIC, "0x020000", 7, "igb", "eth0");
        put(dir.path(), OTHER, "0x020000", 8, "igb", "eth1");
        let links = vec![link(2, "eth0"), link(3, "eth1"), link(4, "eth2")];
        Self {
            dir,
            links,
            used: "",
        }
    }

    fn at(&self, file: &str) -> std::path::PathBuf {
        self.dir.path().join("devices").join(NIC).join(file)
    }

    /// What is said of `address`: why and what to do.
    fn message(&self, address: &str) -> String {
        let pair = [NIC, OTHER].map(str::to_owned);
        let look = Snapshot {
            places: &Places::at(self.dir.path()),
            links: &self.links,
            holders: &VfHolders::default(),
            carries: &|name| name == self.used,
            pair: &pair,
            ports: ["eth2", "eth3"],
        };
        let refusal = look.refusal(address);
        refusal.map_or_else(String::new, |(why, remedy)| format!("{why}; {remedy}"))
    }
}

#[test]
fn nics_that_nobody_uses_may_be_taken() {
    let machine = Machine::new();
    assert_eq!(
        (machine.message(NIC), machine.message(OTHER)),
        Default::default()
    );
}

#[test]
fn what_is_no_nic_is_named_with_those_there_are() {
    let machine = Machine::new();
    put(
        machine.dir.path(),
        "0000:00:1f.0",
        "0x060100",
        1,
        "lpc_ich",
        "",
    );
    assert_eq!(
        machine.message("0000:04:00.0"),
        format!("there is no PCI device 0000:04:00.0; write addresses of NICs: {NIC}, {OTHER}")
    );
    assert_eq!(
        machine.message("0000:00:1f.0"),
        format!(
            "0000:00:1f.0 is not an Ethernet controller (class 0x060100); write addresses of NICs: {NIC}, {OTHER}"
        )
    );
}

#[test]
fn what_the_host_uses_is_left_to_it() {
    let other = "write the address of a NIC that is used for nothing else";
    let mut machine = Machine::new();
    machine.used = "eth0";
    assert_eq!(
        machine.message(NIC),
        format!(
            "{NIC} is eth0, which carries traffic of this machine, and the kernel would lose it; {other}"
        )
    );
    machine.links[2].lower = Some(2);
    assert_eq!(
        machine.message(NIC),
        format!("{NIC} is eth0, on which eth2 is built; {other}")
    );
    machine.links[0].master = Some(3);
    assert_eq!(
        machine.message(NIC),
        format!("{NIC} is eth0, which belongs to eth1; {other}")
    );
    fs::rename(machine.at("net/eth0"), machine.at("net/eth2")).unwrap();
    assert!(
        machine
            .message(NIC)
            .starts_with("eth2 is 0000:03:00.0 itself"),
        "{}",
        machine.message(NIC)
    );
}

#[test]
fn what_goes_with_a_driver_or_is_elsewhere_is_not_taken() {
    let machine = Machine::new();
    fs::write(machine.at("sriov_numvfs"), "0\n").unwrap();
    assert_eq!(machine.message(NIC), "");
    fs::write(machine.at("sriov_numvfs"), "4\n").unwrap();
    let message = machine.message(NIC);
    assert!(
        message.starts_with("0000:03:00.0 has 4 virtual functions, which go with its driver; "),
        "{message}"
    );
    fs::remove_file(machine.at("sriov_numvfs")).unwrap();
    fs::remove_dir(machine.at("net/eth0")).unwrap();
    let message = machine.message(NIC);
    assert!(
        message.starts_with("0000:03:00.0 belongs to igb and has no interface here"),
        "{message}"
    );
    for (driver, free) in [
        ("vfio-pci", true),
        ("uio_pci_generic", true),
        ("mlx5_core", false),
    ] {
        fs::remove_file(machine.at("driver")).unwrap();
        symlink(Path::new("drivers").join(driver), machine.at("driver")).unwrap();
        assert_eq!(machine.message(NIC).is_empty(), free, "{driver}");
    }
}

#[test]
fn the_whole_group_must_be_free() {
    let machine = Machine::new();
    let members = machine.dir.path().join("kernel/iommu_groups/7/devices");
    // The other one of the pair, and a bridge, are no obstacle.
    for (address, driver) in [("0000:03:01.0", "pcieport"), ("0000:03:02.0", "vfio-pci")] {
        put(machine.dir.path(), address, "0x060400", 9, driver, "");
        symlink("/", members.join(address)).unwrap();
    }
    symlink("/", members.join(OTHER)).unwrap();
    assert_eq!(machine.message(NIC), "");
    put(
        machine.dir.path(),
        "0000:03:00.3",
        "0x030000",
        9,
        "i915",
        "",
    );
    symlink("/", members.join("0000:03:00.3")).unwrap();
    let message = machine.message(NIC);
    assert!(
        message.starts_with(
            "the IOMMU cannot keep 0000:03:00.0 apart from 0000:03:00.3 (i915): they are all in its group 7; "
        ),
        "{message}"
    );
    fs::remove_file(machine.at("iommu_group")).unwrap();
    let message = machine.message(NIC);
    assert!(
        message.starts_with(
            "there is no IOMMU for 0000:03:00.0, so DPDK cannot have it by VFIO; boot "
        ),
        "{message}"
    );
}
