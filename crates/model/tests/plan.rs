//! Plans that are fine: what they mean, how they are written back, and the ready ones.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![allow(clippy::disallowed_methods, reason = "the ready plans are files")]

use std::collections::BTreeSet;
use std::time::Duration;

use nicety_model::plan::Preset;
use nicety_model::{Direction, Plan};
use proptest::prelude::*;

/// The message for a plan, without its file name.
fn message(text: &str) -> String {
    let error = Plan::parse("p.toml", text).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "one line: {error}");
    error.strip_prefix("p.toml:").unwrap().to_owned()
}

fn parse(text: &str) -> Plan {
    Plan::parse("runs/p.toml", text).unwrap()
}

#[test]
fn what_is_left_out_is_the_default() {
    let mut plan = parse("[[path]]\nkind = \"bridge\"");
    assert_eq!(plan.name, "p");
    plan.name = "bridge".to_owned();
    assert_eq!(plan, Plan::default_bridge());
}

#[test]
fn search_is_read() {
    let plan = parse(
        "[search]\npreset = \"csit\"\nloss_ratio = 0\nrepeats = 3\nconfirm = \"1.5m\"\n[[path]]\nkind = \"bridge\"",
    );
    assert_eq!(plan.search.preset, Some(Preset::Csit));
    assert_eq!(plan.search.loss_ratio, Some(0.0));
    assert_eq!(plan.search.repeats, 3);
    assert_eq!(plan.search.confirm, Some(Duration::from_secs(90)));
}

#[test]
fn interfaces_of_a_path_are_named() {
    let plan = parse(
        "[[path]]\nkind = \"testpmd\"\nb = \"eth3\"\na = \"eth2\"\npci = [[\"0000:03:00.0\", \"3B:00.1\"]]",
    );
    assert_eq!(plan.paths[0].interfaces(), Some(["eth2", "eth3"]));
    assert_eq!(Plan::default_bridge().paths[0].interfaces(), None);
}

#[test]
fn exactly_the_most_cells_are_accepted() {
    let sizes: Vec<String> = (64..9018).take(500).map(|n| n.to_string()).collect();
    let flows: Vec<String> = (1..=100).map(|n| n.to_string()).collect();
    let plan = parse(&format!(
        "[traffic]\nframe_sizes = [{}]\ndirections = [\"uni\", \"bi\"]\nflows = [{}]\n[[path]]\nkind = \"bridge\"",
        sizes.join(","),
        flows.join(",")
    ));
    assert_eq!(plan.cell_count(), 100_000);
    assert_eq!(plan.cells().count(), 100_000);
    assert_eq!(
        plan.cells().last().unwrap().name(),
        "bridge/563/bi/flows=100"
    );
}

#[test]
fn too_many_cells_are_counted_not_built() {
    let flows: Vec<String> = (1..=14_286).map(|n| n.to_string()).collect();
    let text = format!(
        "[[path]]\nkind = \"bridge\"\n[traffic]\ndirections = \"uni\"\nflows = [{}]\n",
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

#[test]
fn ready_plans_mean_what_they_say() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
    let mut seen = BTreeSet::new();
    for (name, cells, buildable) in [
        ("bridge-default", 7, 7),
        ("bridge-vs-sizes-bidirectional", 14, 14),
        ("bridge-ovs-vlan", 30, 30),
        // 7 paths x 5 sizes x 3 ranges of flows.
        ("bridge-vs-dpdk", 105, 105),
        ("linux-bridge-blog", 10, 10),
        // (4 drivers with 3 counts of the host's queues + functions) x (3 placements of one CPU + 2
        // of two) x 7 sizes x 2 directions.
        ("internet-week-2011", 910, 910),
        // 75 paths x 7 sizes x 2 directions.
        ("guest-drivers", 1050, 1050),
        ("vnic-backends", 54, 54),
        ("thirty-paths", 30, 30),
        // One guest, eight that differ in one thing or two.
        ("virtio-options", 9, 9),
        // Sockets only: no cells.
        ("vnic-latency-rate-throughput", 0, 0),
        ("noisy-neighbours", 0, 0),
    ] {
        let file = format!("{name}.toml");
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        let plan = Plan::parse(&file, &text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(plan.cell_count(), cells, "{name}");
        assert_eq!(plan.buildable_cells().count(), buildable, "{name}");
        let again = Plan::parse("plan.toml", &plan.to_toml().unwrap()).unwrap();
        assert_eq!(again, plan, "{name}");
        seen.insert(file);
    }
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(there, seen, "every plan of the folder is in this table");
    let text = std::fs::read_to_string(format!("{folder}/bridge-default.toml")).unwrap();
    assert_eq!(Plan::parse("x", &text).unwrap(), Plan::default_bridge());
}

#[test]
fn the_default_plan_is_written_in_plain_toml() {
    let text = Plan::default_bridge().to_toml().unwrap();
    assert_eq!(
        text,
        "name = \"bridge\"\n\n[traffic]\nframe_sizes = [64, 128, 256, 512, 1024, 1280, 1518]\ndirections = \"uni\"\nflows = 1\n\n[search]\nrepeats = 1\n\n[[path]]\nkind = \"bridge\"\n"
    );
}

/// Pieces of plans, to get deeper than arbitrary characters would.
fn plan_like() -> impl Strategy<Value = String> {
    let words = "[traffic] [search] [[path]] [path] [[sockets]] name frame_sizes directions flows preset loss_ratio \
                 repeats confirm kind pin nic vcpus a b = [ ] { } , \" ''' \"vm\" \"ports\" \"bridge\" \"30s\" 64 9018 -1 \
                 0x40 0.5 nan 1e400 99999999999999999999999 2026-01-01 true # \u{e9} \u{0}";
    let words = words.split(' ').chain(["\n", " ", "[[0], [4, 6]]"]);
    let piece = prop::sample::select(words.collect::<Vec<_>>());
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn any_plan() -> impl Strategy<Value = Plan> {
    let paths = prop::sample::subsequence(
        vec![
            "kind = \"bridge\"",
            "kind = \"ports\"\na = \"x\"\nb = \"y\"",
            "kind = \"ovs\"\ndatapath = [\"kernel\", \"userspace\"]",
            "kind = \"vlan-bridge\"\ntagging = [\"filtering\", \"sub-interface\"]",
            "kind = \"testpmd\"\nvdev = \"af_xdp\"\ncores = [1, 2]\nqueues = 2",
            "kind = \"testpmd\"\na = \"x\"\nb = \"y\"\npci = [[\"03:00.0\", \"03:00.1\"]]",
            "kind = \"vm\"\nnic = [\"e1000\", \"sriov\"]\npf = \"eth0\"\npin = [[0], [4, 6]]\nhost_queues = [1, 8]\nqueues = 4",
        ],
        1..=7,
    );
    let preset = prop::option::of(prop::sample::select(Preset::ALL.to_vec()));
    let loss = prop::option::of(0.0..1.0_f64);
    let confirm = prop::option::of(0..604_800_000_u64);
    (
        "[^\\p{C}]{1,20}[a-z]",
        paths,
        preset,
        loss,
        1..=1000_u32,
        confirm,
    )
        .prop_map(|(name, paths, preset, loss_ratio, repeats, confirm)| {
            let text: Vec<String> = paths
                .iter()
                .map(|path| format!("[[path]]\n{path}\n"))
                .collect();
            let mut plan = parse(&text.concat());
            plan.name = name;
            plan.traffic.directions = vec![Direction::Bi];
            plan.search.preset = preset;
            plan.search.loss_ratio = loss_ratio;
            plan.search.repeats = repeats;
            plan.search.confirm = confirm.map(Duration::from_millis);
            plan.search.bursts = repeats % 2 == 0;
            plan.search.recovery = Duration::from_secs(u64::from(repeats % 601));
            plan.search.reset = repeats % 3 == 0;
            plan
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn plan_like_text_is_answered_in_one_line(text in plan_like()) {
        if let Err(error) = Plan::parse("p.toml", &text) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
            prop_assert!(error.line <= text.lines().count().max(1) + 1);
        }
    }

    #[test]
    fn what_is_written_is_read_back(plan in any_plan()) {
        let text = plan.to_toml().unwrap();
        prop_assert_eq!(Plan::parse("plan.toml", &text).unwrap(), plan);
    }
}

#[test]
fn names_of_files_become_names_of_plans() {
    let name = |file: &str| {
        Plan::parse(file, "[[path]]\nkind = \"bridge\"")
            .unwrap()
            .name
    };
    assert_eq!(name("plans/guest-drivers.toml"), "guest-drivers");
    assert_eq!(name("odd"), "odd");
    assert_eq!(name(".toml"), "plan");
    assert_eq!(name(&"x".repeat(200)), "x".repeat(64));
}

/// Results and seeds of older runs depend on it: of these lists the last one turns fastest, in
/// whatever order a plan has them.
#[test]
fn the_order_of_lists_stays() {
    #[rustfmt::skip]
    let vm: [(&str, &str, [&str; 2]); 14] = [
        ("guest", r#"["vm", "netns"]"#, ["vm", "netns"]),
        ("nic", r#"["sriov", "e1000"]"#, ["sriov", "e1000"]),
        ("pf", r#"["eth1", "eth0"]"#, ["eth1", "eth0"]),
        ("switch", r#"["ovs", "bridge"]"#, ["ovs", "bridge"]),
        ("host_queues", "[1, 4]", ["1", "4"]),
        ("vcpus", "[2, 1]", ["2", "1"]),
        ("pin", "[[4, 6], [0]]", ["4+6", "0"]),
        ("queues", "[1, 2]", ["1", "2"]),
        ("ring", "[512, 256]", ["512", "256"]),
        ("vms", "[1, 2]", ["1", "2"]),
        ("tagging", r#"["filtering", "sub-interface"]"#, ["filtering", "sub-interface"]),
        ("vdev", r#"["af_xdp", "af_packet"]"#, ["af_xdp", "af_packet"]),
        ("cores", "[1, 2]", ["1", "2"]),
        ("accel", r#"["tcg", "kvm"]"#, ["tcg", "kvm"]),
    ];
    let testpmd = [vm[7], vm[11], vm[12]];
    for (kind, lists) in [("vm", &vm[..]), ("testpmd", &testpmd)] {
        // Written the other way round.
        let keys = lists.iter().rev();
        let keys: String = keys
            .map(|(key, list, _)| format!("{key} = {list}\n"))
            .collect();
        let text = format!("[traffic]\nframe_sizes = 64\n[[path]]\nkind = \"{kind}\"\n{keys}");
        let plan = parse(&text);
        assert_eq!(plan.cells().count(), 1 << lists.len());
        for (index, cell) in plan.cells().enumerate() {
            let words = cell.path.words();
            assert_eq!(words.len(), lists.len() + 1);
            for (place, (key, _, values)) in lists.iter().rev().enumerate() {
                assert_eq!(words[key], values[(index >> place) & 1], "{index}: {key}");
            }
        }
    }
}
