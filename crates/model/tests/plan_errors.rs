//! Every mistake in a plan, with the exact line it is answered with.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use nicety_model::Plan;

const PATH: &str = "[[path]]\nkind = \"bridge\"\n";

/// The message for a plan, without its file name.
fn message(text: &str) -> String {
    match Plan::parse("p.toml", text) {
        Ok(plan) => panic!("accepted: {text}\n{plan:?}"),
        Err(error) => {
            let text = error.to_string();
            assert_eq!(text.lines().count(), 1, "one line: {text}");
            text.strip_prefix("p.toml:").unwrap().to_owned()
        }
    }
}

/// Each line stands alone below its table; the message is about that line, the second.
fn in_table(table: &str, cases: &[(&str, &str)]) {
    for (line, wanted) in cases {
        let text = format!("[{table}]\n{line}\n{PATH}");
        assert_eq!(message(&text), format!("2: {wanted}"), "{line}");
    }
}

#[test]
fn traffic() {
    in_table(
        "traffic",
        &[
            (
                "frame_size = 64",
                r#"unknown key frame_size in [traffic]; did you mean "frame_sizes"?"#,
            ),
            (
                "direction = \"uni\"",
                r#"unknown key direction in [traffic]; did you mean "directions"?"#,
            ),
            (
                "\"x\\ny\" = 1",
                r#"unknown key "x\\ny" in [traffic]; write one of frame_sizes, directions, flows"#,
            ),
            (
                "colour = 1",
                "unknown key colour in [traffic]; write one of frame_sizes, directions, flows",
            ),
            (
                "frame_sizes = []",
                "frame_sizes is an empty list; give it at least one value or remove it",
            ),
            (
                "frame_sizes = 63",
                "frame_sizes = 63 is outside 64 to 9018; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]",
            ),
            (
                "frame_sizes = [64, 9019]",
                "frame_sizes = 9019 is outside 64 to 9018; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]",
            ),
            (
                "frame_sizes = [-64]",
                "frame_sizes = -64 is outside 64 to 9018; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]",
            ),
            (
                "frame_sizes = 99999999999999999999",
                "frame_sizes = 99999999999999999999 is outside 64 to 9018; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]",
            ),
            (
                "frame_sizes = [\"64\"]",
                r#"frame_sizes = "64" is a string; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]"#,
            ),
            (
                "frame_sizes = 64.5",
                "frame_sizes = 64.5 is a fraction; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]",
            ),
            (
                "frame_sizes = [[64]]",
                "frame_sizes = [64] is a list; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]",
            ),
            (
                "frame_sizes = { min = 64 }",
                "frame_sizes = { min = 64 } is a table; write bytes of the Ethernet frame with FCS, as in frame_sizes = [64, 1518]",
            ),
            (
                "frame_sizes = [64, 128, 64]",
                "frame_sizes has 64 twice; remove one of them",
            ),
            (
                "frame_sizes = [64, 0x40]",
                "frame_sizes has 0x40 twice; remove one of them",
            ),
            (
                "directions = []",
                "directions is an empty list; give it at least one value or remove it",
            ),
            (
                "directions = \"both\"",
                r#"unknown directions "both"; write one of uni, bi"#,
            ),
            (
                "directions = [\"uni\", \"uni\"]",
                r#"directions has "uni" twice; remove one of them"#,
            ),
            (
                "directions = true",
                "directions = true is a boolean; write one of uni, bi in quotes",
            ),
            (
                "flows = 0",
                "flows = 0 is outside 1 to 1048576; write whole numbers of flows, as in flows = 1",
            ),
            (
                "flows = 1_048_577",
                "flows = 1_048_577 is outside 1 to 1048576; write whole numbers of flows, as in flows = 1",
            ),
            (
                "flows = 1e3",
                "flows = 1e3 is a fraction; write whole numbers of flows, as in flows = 1",
            ),
            (
                "flows = 2026-01-01",
                "flows = 2026-01-01 is a date; write whole numbers of flows, as in flows = 1",
            ),
        ],
    );
}

#[test]
fn search() {
    in_table(
        "search",
        &[
            (
                "repeat = 3",
                r#"unknown key repeat in [search]; did you mean "repeats"?"#,
            ),
            (
                "preset = \"fast\"",
                r#"unknown preset "fast"; write one of quick, robust, binary, std, csit, rfc2544"#,
            ),
            (
                "preset = \"quik\"",
                r#"unknown preset "quik"; did you mean "quick"?"#,
            ),
            (
                "preset = \"RFC2544\"",
                r#"unknown preset "RFC2544"; write one of quick, robust, binary, std, csit, rfc2544"#,
            ),
            (
                "preset = 1",
                "preset = 1 is a whole number; write one of quick, robust, binary, std, csit, rfc2544 in quotes",
            ),
            (
                "preset = [\"std\", \"csit\"]",
                r#"preset = ["std", "csit"] is a list; write one of quick, robust, binary, std, csit, rfc2544 in quotes"#,
            ),
            (
                "loss_ratio = 2",
                "loss_ratio = 2 is not between 0 and 1; write the share of frames that may be lost, 0.0001 for 0.01 %",
            ),
            (
                "loss_ratio = 1.0",
                "loss_ratio = 1.0 is not between 0 and 1; write the share of frames that may be lost, 0.0001 for 0.01 %",
            ),
            (
                "loss_ratio = -0.1",
                "loss_ratio = -0.1 is not between 0 and 1; write the share of frames that may be lost, 0.0001 for 0.01 %",
            ),
            (
                "loss_ratio = nan",
                "loss_ratio = nan is not between 0 and 1; write the share of frames that may be lost, 0.0001 for 0.01 %",
            ),
            (
                "loss_ratio = \"0.01 %\"",
                r#"loss_ratio = "0.01 %" is a string; write the share of frames that may be lost as a number, 0.0001 for 0.01 %"#,
            ),
            (
                "repeats = 0",
                "repeats = 0 is outside 1 to 1000; write how often to measure every cell, as in repeats = 3",
            ),
            (
                "repeats = 1001",
                "repeats = 1001 is outside 1 to 1000; write how often to measure every cell, as in repeats = 3",
            ),
            (
                "repeats = [3]",
                "repeats = [3] is a list; write how often to measure every cell, as in repeats = 3",
            ),
            (
                "confirm = 30",
                r#"confirm = 30 has no unit; write a duration in quotes, as in confirm = "30s""#,
            ),
            (
                "confirm = 1.5",
                r#"confirm = 1.5 has no unit; write a duration in quotes, as in confirm = "1.5s""#,
            ),
            (
                "confirm = \"30\"",
                r#"confirm = "30" has no unit; write "30s" for seconds (ms, s, m or h)"#,
            ),
            (
                "confirm = \"30 sec\"",
                r#"confirm = "30 sec" is no duration; write a number and ms, s, m or h, as in "30s""#,
            ),
            (
                "confirm = \"1us\"",
                r#"confirm = "1us" is no duration; write a number and ms, s, m or h, as in "30s""#,
            ),
            (
                "confirm = \"0.1ms\"",
                r#"confirm = "0.1ms" is finer than a millisecond; write whole milliseconds, as in "500ms""#,
            ),
            (
                "confirm = \"9999h\"",
                r#"confirm = "9999h" is longer than 168h; write a shorter duration"#,
            ),
            (
                "confirm = true",
                r#"confirm = true is a boolean; write a duration in quotes, as in confirm = "30s""#,
            ),
        ],
    );
}

#[test]
fn path() {
    in_table(
        "[path]",
        &[
            (
                "kind = \"brige\"",
                r#"unknown kind "brige"; did you mean "bridge"?"#,
            ),
            (
                "kind = \"frobnicator\"",
                r#"unknown kind "frobnicator"; write one of bridge, ports, vlan-bridge, ovs, ovs-dpdk, testpmd, vm"#,
            ),
            (
                "kind = 1",
                "kind = 1 is a whole number; write one of bridge, ports, vlan-bridge, ovs, ovs-dpdk, testpmd, vm in quotes",
            ),
            (
                "kind = [\"bridge\"]",
                r#"kind = ["bridge"] is a list; write one of bridge, ports, vlan-bridge, ovs, ovs-dpdk, testpmd, vm in quotes"#,
            ),
        ],
    );
    for (lines, wanted) in [
        (
            "kind = \"bridge\"\nnic = \"e1000\"",
            "3: unknown key nic in [[path]]; remove it, a path of this kind has no parameters",
        ),
        (
            "kind = \"ports\"\na = \"eth1\"",
            r#"1: kind = "ports" without b; name both interfaces, as in a = "eth1" and b = "eth2""#,
        ),
        (
            "kind = \"ports\"\nb = \"eth1\"",
            r#"1: kind = "ports" without a; name both interfaces, as in a = "eth1" and b = "eth2""#,
        ),
        (
            "kind = \"ports\"\na = \"e\"\nb = \"e\"",
            r#"4: a and b are both "e"; name two different interfaces"#,
        ),
        (
            "kind = \"ports\"\na = 1\nb = \"e\"",
            r#"3: a = 1 is a whole number; write an interface name in quotes, as in "eth1""#,
        ),
        (
            "kind = \"ports\"\na = \"a-name-of-16-byt\"\nb = \"e\"",
            r#"3: interface name "a-name-of-16-byt" has 16 bytes, the kernel allows 15; write the name `ip link` shows"#,
        ),
        (
            "kind = \"ports\"\na = \"eth/1\"\nb = \"e\"",
            r#"3: "eth/1" cannot be an interface name, the kernel refuses '/', ':', spaces, "." and ".."; write the name `ip link` shows"#,
        ),
        (
            "kind = \"ports\"\na = \"\"\nb = \"e\"",
            "3: the interface name is empty; write the name `ip link` shows",
        ),
        (
            "kind = \"vm\"\nnics = \"e1000\"",
            r#"3: unknown key nics in [[path]]; did you mean "nic"?"#,
        ),
        (
            "kind = \"vm\"\nnic = \"virtio\"",
            r#"3: unknown nic "virtio"; did you mean "virtio-net"?"#,
        ),
        (
            "kind = \"vm\"\nnic = []",
            "3: nic is an empty list; give it at least one value or remove it",
        ),
        (
            "kind = \"vm\"\nswitch = \"hub\"",
            r#"3: unknown switch "hub"; write one of bridge, vlan-bridge, ovs, ovs-bridge, ovs-dpdk, testpmd"#,
        ),
        (
            "kind = \"vlan-bridge\"\nvlan = 7",
            "3: unknown key vlan in [[path]]; write one of kind, tagging",
        ),
        (
            "kind = \"vlan-bridge\"\ntagging = \"filter\"",
            r#"3: unknown tagging "filter"; did you mean "filtering"?"#,
        ),
        (
            "kind = \"ovs\"\nqueues = 2",
            "3: unknown key queues in [[path]]; write one of kind, datapath, tagging",
        ),
        (
            "kind = \"ovs\"\ntagging = \"sub-interface\"",
            r#"3: unknown tagging "sub-interface"; write one of filtering"#,
        ),
        (
            "kind = \"ovs\"\ndatapath = \"dpdk\"",
            r#"3: unknown datapath "dpdk"; write one of kernel, userspace"#,
        ),
        (
            "kind = \"testpmd\"\nvdev = \"afxdp\"",
            r#"3: unknown vdev "afxdp"; did you mean "af_xdp"?"#,
        ),
        (
            "kind = \"testpmd\"\npci = \"0000:03:00.0\"",
            r#"3: pci holds "0000:03:00.0", not two addresses; write a list of two addresses per path, as in pci = [["0000:03:00.0", "0000:03:00.1"]]"#,
        ),
        (
            "kind = \"testpmd\"\npci = [[\"0000:03:00.0\"]]",
            r#"3: pci has one address in a list: what comes in at one port goes out at another; write a list of two addresses per path, as in pci = [["0000:03:00.0", "0000:03:00.1"]]"#,
        ),
        (
            "kind = \"testpmd\"\npci = [[\"03:00.0\", \"03:00.1\", \"03:00.2\"]]",
            r#"3: pci has more than two addresses in a list: a path has two ports; write a list of two addresses per path, as in pci = [["0000:03:00.0", "0000:03:00.1"]]"#,
        ),
        (
            "kind = \"testpmd\"\npci = [[\"03:00.0\", \"0000:03:00.0\"]]",
            r#"3: pci has "0000:03:00.0" twice; remove one of them"#,
        ),
        (
            "kind = \"testpmd\"\npci = [[\"eth0\", \"eth1\"]]",
            r#"3: "eth0" is no PCI address; write what lspci -D shows, as in "0000:03:00.0""#,
        ),
        (
            "kind = \"testpmd\"\na = \"eth2\"\npci = [[\"03:00.0\", \"03:00.1\"]]",
            r#"1: pci without b; name both interfaces, as in a = "eth1" and b = "eth2""#,
        ),
        (
            "kind = \"testpmd\"\npci = [[\"03:00.0\", \"03:00.1\"]]\na = \"eth2\"\nb = \"eth3\"\nvdev = \"af_xdp\"",
            "6: vdev beside pci: through it DPDK gets at interfaces that the kernel drives; leave one of them out, or write a [[path]] for each",
        ),
        (
            "kind = \"testpmd\"\na = \"eth2\"",
            "3: a without pci: this path has interfaces of its own; leave it out, or name the switch's NICs with pci",
        ),
        (
            "kind = \"ovs-dpdk\"\npci = [[\"03:00.0\", \"03:00.1\"]]",
            "3: unknown key pci in [[path]]; write one of kind, vdev, cores, queues",
        ),
        (
            "kind = \"ovs-dpdk\"\ncores = 0",
            "3: cores = 0 is outside 1 to 1024; write polling threads, as in cores = [1, 2]",
        ),
        (
            "kind = \"vm\"\nvcpus = 0",
            "3: vcpus = 0 is outside 1 to 1024; write virtual CPUs of a guest, as in vcpus = [1, 2]",
        ),
        (
            "kind = \"vm\"\nqueues = \"4\"",
            r#"3: queues = "4" is a string; write queues of an interface, as in queues = [1, 4]"#,
        ),
        (
            "kind = \"vm\"\nring = 65537",
            "3: ring = 65537 is outside 1 to 65536; write descriptors in a ring, as in ring = [256]",
        ),
        (
            "kind = \"vm\"\nvms = [1, 1]",
            "3: vms has 1 twice; remove one of them",
        ),
        (
            "kind = \"vm\"\npin = [4, 6]",
            "3: pin holds 4, not a list of CPUs; write a list per placement, as in pin = [[0], [4, 6]]",
        ),
        (
            "kind = \"vm\"\npin = 4",
            "3: pin holds 4, not a list of CPUs; write a list per placement, as in pin = [[0], [4, 6]]",
        ),
        (
            "kind = \"vm\"\npin = [[0], []]",
            "3: pin is an empty list; give it at least one value or remove it",
        ),
        (
            "kind = \"vm\"\npin = [[0],\n[-1]]",
            "4: pin = -1 is outside 0 to 8191; write CPU numbers, as in pin = [[0], [4, 6]]",
        ),
        (
            "kind = \"vm\"\npin = [[0], [0]]",
            "3: pin has [0] twice; remove one of them",
        ),
        (
            "kind = \"bridge\"\n[[path]]\nkind = \"bridge\"",
            "3: path bridge is in the plan twice; remove one of them",
        ),
        (
            "kind = \"vm\"\nvcpus = [1, 2]\n[[path]]\nkind = \"vm\"\nvcpus = [2, 3]",
            "4: path vm,vcpus=2 is in the plan twice; remove one of them",
        ),
    ] {
        assert_eq!(message(&format!("[[path]]\n{lines}\n")), wanted, "{lines}");
    }
}

#[test]
fn the_first_mistake_of_the_file_is_told() {
    for (text, wanted) in [
        (
            "[search]\nrepeats = 0\npreset = \"x\"\n[[path]]\nkind = \"brige\"\nnics = 1",
            "2: repeats = 0 is outside 1 to 1000; write how often to measure every cell, as in repeats = 3",
        ),
        (
            "[[path]]\nkind = \"brige\"\naccel = 1",
            r#"2: unknown kind "brige"; did you mean "bridge"?"#,
        ),
        (
            "[[path]]\nkind = \"vm\"\ntagging = [\n\"filtering\",\n\"filter\"]\na = \"eth1\"",
            r#"5: unknown tagging "filter"; did you mean "filtering"?"#,
        ),
        (
            "[[path]]\nkind = \"vm\"\na = \"eth1\"\nvcpus = [1,\n1]",
            "3: unknown key a in [[path]]; write one of kind, guest, nic, pf, switch, tagging, vdev, cores, host_queues, vcpus, pin, queues, ring, vms, accel",
        ),
        (
            "[[path]]\nkind = \"ovs\"\ntagging = [\"filtering\",\n\"sub-interface\"]\n[[path]]",
            r#"4: unknown tagging "sub-interface"; write one of filtering"#,
        ),
        (
            "[[path]]\nkind = \"bridge\"\n[[sockets]]\ntest = \"tcp_rr\"\ntime = 5",
            r#"5: time = 5 has no unit; write a duration in quotes, as in time = "5s""#,
        ),
        (
            "[traffic]\nflows = 1e400\n[[path]]\nkind = \"bridge\"",
            "2: flows = 1e400 is too large; write a smaller number",
        ),
        (
            "[[path]]\nkind = \"bridge\"\n[[sockets]]\ntest = \"tcp_rr\"\nsaturate = 1",
            "5: saturate = 1 is a whole number; write true or false",
        ),
    ] {
        assert_eq!(message(text), wanted, "{text}");
    }
}

#[test]
fn whole_plan() {
    let no_path = "the plan has no path; add a line [[path]] and below it kind = \"bridge\"";
    for (text, wanted) in [
        ("", format!("1: {no_path}")),
        ("name = \"x\"\npath = []", format!("2: {no_path}")),
        ("\n[path]\nkind = \"bridge\"", "2: [path] is a single table; write [[path]] in double brackets".to_owned()),
        ("path = 1", "1: path = 1 is a whole number; write [[path]] with kind = \"bridge\" below it".to_owned()),
        ("path = [1]", "1: path = 1 is a whole number; write [[path]] with kind = \"bridge\" below it".to_owned()),
        ("[[path]]\n", "1: a [[path]] without kind; add kind = \"bridge\" or another kind".to_owned()),
        ("traffic = 1", "1: traffic = 1 is a whole number; write a table, as in [traffic]".to_owned()),
        ("[[traffic]]\nflows = 1", "1: traffic = [[traffic]] is a list; write a table, as in [traffic]".to_owned()),
        ("search = \"std\"", "1: search = \"std\" is a string; write a table, as in [search]".to_owned()),
        ("\n[paths]\n", "2: unknown key paths in the plan; did you mean \"path\"?".to_owned()),
        ("[[path]]\nkind = \"bridge\"\n[[sockets]]\ntests = \"tcp_rr\"", "4: unknown key tests in [[sockets]]; did you mean \"test\"?".to_owned()),
        ("name = 1", "1: name = 1 is a whole number; write a name in quotes, as in name = \"guest-drivers\"".to_owned()),
        ("name = \" \"", "1: name is empty; write a name or remove the line".to_owned()),
        ("name = \"a\\nb\"", "1: name = \"a\\\\nb\" is too long or has control characters; write at most 64 printable characters".to_owned()),
        ("name = \"x\"\n[[path]]\nkind = bridge", "3: string values must be quoted, expected literal string; correct the TOML syntax on this line".to_owned()),
        ("name = \"x", "1: invalid basic string, expected `\"`; correct the TOML syntax on this line".to_owned()),
        ("name = \"x\"\nname = \"y\"", "2: duplicate key; correct the TOML syntax on this line".to_owned()),
        ("[traffic]\nframe_sizes = [64,,128]", "2: extra comma in array, expected value; correct the TOML syntax on this line".to_owned()),
        ("[traffic\n", "1: unclosed table, expected `]`; correct the TOML syntax on this line".to_owned()),
        ("a.b.c", "1: key with no value, expected `=`; correct the TOML syntax on this line".to_owned()),
    ] {
        assert_eq!(message(text), wanted, "{text}");
    }
}

#[test]
fn too_many_cells_are_counted_not_built() {
    let flows: Vec<String> = (1..=14_286).map(|n| n.to_string()).collect();
    let text = format!(
        "{PATH}[traffic]\ndirections = \"uni\"\nflows = [{}]\n",
        flows.join(",")
    );
    assert_eq!(
        message(&text),
        "5: the plan has 100,002 cells (1 path setting x 7 frame sizes x 1 direction x 14,286 flow counts), more than 100,000; shorten a list or split the plan"
    );
    // Far more than could ever be built: four lists of a thousand and a guest driver.
    let list: Vec<String> = (1..=1000).map(|n| n.to_string()).collect();
    let list = list.join(",");
    let text = format!(
        "[[path]]\nkind = \"vm\"\nvcpus = [{list}]\nqueues = [{list}]\nring = [{list}]\nvms = [{list}]\n"
    );
    let count = "7,000,000,000,000 cells (1,000,000,000,000 path settings x 7 frame sizes x 1 direction x 1 flow count)";
    assert!(message(&text).contains(count), "{}", message(&text));
}
