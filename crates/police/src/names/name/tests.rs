use proptest::prelude::*;

use super::*;

#[test]
fn names_are_read_and_written() {
    for text in [
        "libvirt:web01/net0",
        "libvirt:web 01/net12",
        "libvirt:a/b/net0",
        "libvirt:12/52:54:00:00:00:01",
        "libvirt:--all/net0",
        "ovs:vnet3",
        "neutron:4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5b",
        "pve:101/net1",
        "pci:0000:3b:02.1",
        "pci:10000:01:00.0",
        "pod:shop/web-7d4b9.x/eth0",
    ] {
        assert!(Name::is_meant(text));
        let name: Name = text.parse().unwrap();
        assert_eq!(name.to_string(), text);
    }
    let upper: Name = "libvirt:a/52:54:00:AB:CD:EF".parse().unwrap();
    assert_eq!(upper.to_string(), "libvirt:a/52:54:00:ab:cd:ef");
}

#[test]
fn what_is_no_name_is_refused_with_what_to_write() {
    let odd = [
        "libvirt: /net0",
        "libvirt:a\nb/net0",
        "libvirt:a\u{1b}[2J/net0",
    ];
    let wrong = "libvirt:web01 libvirt:/net0 libvirt:a/net libvirt:a/net01 libvirt:a/net-1 libvirt:a/eth0 ovs: ovs:-x \
                 ovs:a/b neutron:1 neutron:4ac5b7d0-1c2d-4e3f-8a9b-0c1d2e3f4a5g pve:101 pve:99/net0 pve:101/net32 \
                 pci:3b:02.1 pci:0000:3b:20.1 pci:0000:3b:02.8 pci:00000:3b:02.1 pod:a/b pod:a/b/eth0/c \
                 pod:A/b/eth0 pod:../b/eth0 vnet3 xen:a/net0";
    for text in wrong.split(' ').chain(odd) {
        let error = text.parse::<Name>().unwrap_err().to_string();
        assert!(
            error.contains("names no port") && error.contains("; "),
            "{error}"
        );
        assert!(!error.contains(char::is_control), "{error:?}");
    }
    let long = format!("libvirt:{}/net0", "x".repeat(400));
    assert!(long.parse::<Name>().unwrap_err().to_string().len() < 300);
}

proptest! {
    #[test]
    fn what_is_read_is_written_and_read_again(text in "(libvirt|ovs|pve|pci|pod|neutron):.{0,40}") {
        if let Ok(name) = text.parse::<Name>() {
            prop_assert_eq!(name.to_string().parse::<Name>().unwrap(), name);
        }
    }
}
