use nicety_model::facts::VmNic;

use super::{Arguments, pci_address, public};

/// The NICs of a command line, read by way of its record.
fn nics(words: &[&str]) -> Vec<VmNic> {
    let line: Vec<&str> = ["/usr/bin/qemu-system-x86_64"]
        .iter()
        .chain(words)
        .copied()
        .collect();
    let text = public(&line.join("\0"));
    assert_eq!(public(&text), text, "a record of a record is the same");
    let nics = Arguments::parse(&text).nics.into_iter();
    nics.map(|nic| nic.facts).collect()
}

#[track_caller]
fn one(words: &[&str]) -> VmNic {
    let mut nics = nics(words);
    assert_eq!(nics.len(), 1, "{nics:#?}");
    nics.remove(0)
}

fn tap(interface: Option<&str>, vhost: bool, queues: Option<u32>) -> VmNic {
    VmNic {
        backend: "tap".to_owned(),
        interface: interface.map(str::to_owned),
        vhost: Some(vhost),
        queues,
        ..VmNic::default()
    }
}

fn virtio(nic: VmNic, mq: bool) -> VmNic {
    VmNic {
        model: Some("virtio-net-pci".to_owned()),
        mq: Some(mq),
        ..nic
    }
}

#[test]
fn a_command_line_keeps_the_network_and_loses_the_rest() {
    let words = [
        "/usr/bin/qemu-system-x86_64",
        "-name",
        "guest=web,debug-threads=on",
        "-object",
        "secret,id=s,data=hunter2",
        "-machine",
        "pc-q35,accel=kvm",
        "-drive",
        "file=/secret/disk",
        "-netdev",
        "{\"type\":\"tap\",\"fds\":\"30:31\",\"vhost\":true,\"vhostfds\":\"32:33\",\"id\":\"n0\"}",
        "-device",
        "{\"driver\":\"virtio-net-pci\",\"mq\":true,\"netdev\":\"n0\",\"mac\":\"52:54:00:00:00:01\"}",
        "-netdev",
        "tap,id=n1,ifname=tap7,vhost=off,script=/etc/x",
        "-device",
        "e1000,netdev=n1,mac=52:54:00:00:00:02",
        "-netdev",
        "user,id=n2,host=10.9.8.7,hostfwd=tcp::2222-:22,smb=/secret/share",
        "-global",
        "virtio-net-pci.romfile=/secret/rom",
        "-device",
        "vfio-pci,sysfsdev=/sys/bus/mdev/devices/83b8f4f2-509f-382f-3c1e-e6bfe0fa1001",
        "-device",
        "vfio-pci,host=0000:01:10.0",
    ];
    let text = public(&words.join("\0"));
    for secret in [
        "hunter2", "/secret", "52:54", "/etc/x", "/usr/bin", "10.9", "2222", "83b8",
    ] {
        assert!(!text.contains(secret), "{secret}: {text:?}");
    }
    assert_eq!(public(&text), text, "a record of a record is the same");
    let arguments = Arguments::parse(&text);
    assert_eq!(arguments.name.as_deref(), Some("web"));
    assert_eq!(arguments.kvm, Some(true));
    let [vfio, by_fds, by_name, user] = arguments.nics.as_slice() else {
        panic!("{arguments:#?}");
    };
    assert_eq!(vfio.facts.interface.as_deref(), Some("0000:01:10.0"));
    assert_eq!(by_fds.facts, virtio(tap(None, true, Some(2)), true));
    assert_eq!(by_fds.files, [30, 31]);
    let e1000 = VmNic {
        model: Some("e1000".to_owned()),
        ..tap(Some("tap7"), false, None)
    };
    assert_eq!(by_name.facts, e1000);
    assert_eq!(
        (user.facts.backend.as_str(), user.facts.vhost),
        ("user", None)
    );
}

#[test]
fn libvirt_passes_open_files() {
    // 9 to 12 write both options as JSON; one queue has `fd` and `vhostfd`.
    let nic = one(&[
        "-netdev",
        r#"{"type":"tap","fd":"29","vhost":true,"vhostfd":"31","id":"hostnet0"}"#,
        "-device",
        r#"{"driver":"virtio-net-pci","rx_queue_size":1024,"tx_queue_size":256,"packed":true,"iommu_platform":true,"csum":false,"host_tso4":false,"guest_tso4":false,"netdev":"hostnet0","id":"net0","mac":"52:54:00:00:00:01","bus":"pci.1","addr":"0x0"}"#,
    ]);
    assert_eq!(
        nic,
        VmNic {
            rx_queue_size: Some(1024),
            tx_queue_size: Some(256),
            packed: Some(true),
            iommu_platform: Some(true),
            offloads_off: ["csum", "guest_tso4", "host_tso4"]
                .map(str::to_owned)
                .into(),
            ..virtio(tap(None, true, None), false)
        }
    );
    // Before 7.9 the device was no JSON yet.
    let nic = one(&[
        "-netdev",
        "tap,fds=27:29,id=hostnet0,vhost=on,vhostfds=30:31",
        "-device",
        "virtio-net-pci,mq=on,vectors=6,netdev=hostnet0,id=net0,mac=52:54:00:00:00:01,bus=pci.1,addr=0x0",
    ]);
    let wanted = virtio(tap(None, true, Some(2)), true);
    assert_eq!(
        nic,
        VmNic {
            vectors: Some(6),
            ..wanted
        }
    );
    // An old record of the same.
    assert_eq!(
        one(&[
            "-netdev",
            "tap,fd=29,id=n0,vhost=true,vhostfd=31",
            "-device",
            "virtio-net-pci,netdev=n0"
        ]),
        virtio(tap(None, true, None), false)
    );
}

#[test]
fn proxmox_names_the_type() {
    let netdev = "type=tap,id=net0,ifname=tap101i0,script=/usr/libexec/qemu-server/pve-bridge,downscript=/usr/libexec/qemu-server/pve-bridgedown";
    let device = "virtio-net-pci,mac=BC:24:11:00:00:01,netdev=net0,bus=pci.0,addr=0x12,id=net0,rx_queue_size=1024,tx_queue_size=256,bootindex=102,host_mtu=1500";
    let sized = |nic| VmNic {
        rx_queue_size: Some(1024),
        tx_queue_size: Some(256),
        ..virtio(nic, false)
    };
    let with = format!("{netdev},vhost=on");
    let nic = one(&["-netdev", &with, "-device", device]);
    assert_eq!(nic, sized(tap(Some("tap101i0"), true, None)));
    let nic = one(&["-netdev", netdev, "-device", device]);
    assert_eq!(nic, sized(tap(Some("tap101i0"), false, None)));
    let four = format!("{with},queues=4");
    let device = format!("{device},packed=on,vectors=10,mq=on");
    let nic = one(&["-netdev", &four, "-device", &device]);
    assert_eq!(
        (nic.queues, nic.mq, nic.vectors),
        (Some(4), Some(true), Some(10))
    );
}

#[test]
fn others_write_it_by_hand() {
    // Incus configures it in JSON; Kata and scripts by ifname.
    let nic = one(&[
        "-netdev",
        "tap,id=n0,vhost=y,ifname=tap0,script=no,downscript=no,queues=4",
        "-device",
        "virtio-net-pci,netdev=n0,mq,nopacked",
    ]);
    let wanted = virtio(tap(Some("tap0"), true, Some(4)), true);
    assert_eq!(
        nic,
        VmNic {
            packed: Some(false),
            ..wanted
        }
    );
    let nic = one(&["-nic", "tap,ifname=tap0,script=no,model=virtio,vhost=on"]);
    assert_eq!(nic, virtio(tap(Some("tap0"), true, None), false));
    assert_eq!(
        one(&["--nic", "tap,model=e1000,br=br7"]).model.as_deref(),
        Some("e1000")
    );
    assert_eq!(one(&["-nic", "user"]).model, None);
    assert_eq!(nics(&["-nic", "none", "-net", "none", "-net", "nic"]), []);
    let bridge = one(&["-netdev", "bridge,id=n", "-device", "virtio-net,netdev=n"]);
    assert_eq!(
        (bridge.bridge.as_deref(), bridge.vhost),
        (Some("br0"), Some(false))
    );
    let pattern = one(&[
        "-netdev",
        "tap,id=n,ifname=tap%d,vhostforce=on,vnet_hdr=off",
    ]);
    assert_eq!((pattern.interface, pattern.vhost), (None, Some(true)));
    assert_eq!(pattern.offloads_off, ["vnet_hdr"]);
    // Frames pass a hub, and vhost does not.
    let hub = one(&[
        "-net",
        "nic,model=virtio,macaddr=52:54:00:00:00:01",
        "-net",
        "tap,ifname=tap0,vhost=on",
    ]);
    assert_eq!(hub, virtio(tap(Some("tap0"), false, None), false));
    let card = one(&[
        "-netdev",
        "tap,id=n,ifname=tap0,vhost=on",
        "-net",
        "nic,netdev=n,model=e1000",
    ]);
    assert_eq!(
        (card.vhost, card.model.as_deref()),
        (Some(true), Some("e1000"))
    );
}

#[test]
fn properties_may_be_set_elsewhere_on_the_line() {
    let line = [
        "-netdev",
        "tap,id=n0,ifname=t,vhost=on,queues=2",
        "-device",
        "virtio-net-pci,netdev=n0,id=net0",
    ];
    let mq = |more: [&str; 2]| one(&[&line[..], &more].concat()).mq;
    assert_eq!(mq(["-global", "virtio-net-pci.mq=on"]), Some(true));
    assert_eq!(
        mq(["-global", "driver=virtio-net-pci,property=mq,value=on"]),
        Some(true)
    );
    assert_eq!(mq(["-set", "device.net0.mq=on"]), Some(true));
    assert_eq!(mq(["-set", "device.net1.mq=on"]), Some(false));
    assert_eq!(mq(["-global", "virtio-blk-pci.mq=on"]), Some(false));
}

#[test]
fn the_accelerator_is_the_first_one() {
    let kvm = |program: &str, words: &[&str]| {
        let line: Vec<&str> = [program].iter().chain(words).copied().collect();
        Arguments::parse(&public(&line.join("\0"))).kvm
    };
    let qemu = "/usr/bin/qemu-system-x86_64";
    assert_eq!(kvm(qemu, &["-accel", "kvm", "-accel", "tcg"]), Some(true));
    assert_eq!(kvm(qemu, &["-machine", "q35,accel=kvm:tcg"]), Some(true));
    assert_eq!(
        kvm(qemu, &["-machine", "type=q35", "-accel", "accel=tcg"]),
        Some(false)
    );
    assert_eq!(kvm(qemu, &["-M", "q35"]), None);
    assert_eq!(kvm("/usr/bin/kvm", &["-machine", "type=pc"]), Some(true));
    assert_eq!(kvm("/usr/libexec/qemu-kvm", &["-enable-kvm"]), Some(true));
}

#[test]
fn functions_have_one_spelling() {
    for (text, address) in [
        ("0000:01:10.2", Some("0000:01:10.2")),
        ("01:10.2", Some("0000:01:10.2")),
        ("0000:3B:0a.1", Some("0000:3b:0a.1")),
        ("/sys/bus/pci/devices/0000:01:10.2/", Some("0000:01:10.2")),
        ("10000:e1:00.0", Some("10000:e1:00.0")),
        ("10.2.3.4", None),
        ("host", None),
        ("a:b:c:d.1", None),
    ] {
        assert_eq!(pci_address(text).as_deref(), address, "{text}");
    }
    let by_path = one(&[
        "-device",
        "vfio-pci,sysfsdev=/sys/bus/pci/devices/0000:01:10.2",
    ]);
    assert_eq!(by_path.interface.as_deref(), Some("0000:01:10.2"));
}
