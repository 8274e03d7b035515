//! Published measurements fed in as data come out with their authors' ratios.

use nicety_model::{FrameSize, Run};
use nicety_report::{csv, html, markdown, short};

use crate::common::{self, Asked, rendered, terminal};

/// Driver, host queues, pins, then average, minimum and maximum in one direction and in both
/// together, and the ratios in per cent.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    [f64; 3],
    [f64; 3],
    [u32; 3],
);

/// Internet Week 2011, S9, “Direction”: frames/s over the frame sizes from 64 to 1518 bytes.
#[rustfmt::skip]
const SLIDES: [Row; 18] = [
    ("sriov", "8", "0", [516_623.4, 475_260.0, 578_445.0], [396_494.6, 330_447.0, 424_674.0], [77, 70, 73]),
    ("sriov", "8", "1", [749_841.6, 738_431.0, 772_742.0], [713_379.3, 582_217.0, 748_522.0], [95, 79, 97]),
    ("sriov", "8", "2", [732_844.4, 659_412.0, 759_549.0], [664_425.1, 582_217.0, 694_070.0], [91, 88, 91]),
    ("sriov", "8", "4+6", [757_587.3, 740_076.0, 772_236.0], [680_312.4, 582_217.0, 722_580.0], [90, 79, 94]),
    ("sriov", "8", "5+7", [716_059.6, 659_412.0, 772_236.0], [569_646.4, 513_474.0, 611_478.0], [80, 78, 79]),
    ("vhost-net", "8", "0", [109_045.0, 73_681.0, 121_791.0], [140_815.0, 127_745.0, 154_802.0], [129, 173, 127]),
    ("vhost-net", "8", "1", [88_234.0, 55_063.0, 119_240.0], [140_848.0, 127_745.0, 155_945.0], [160, 232, 131]),
    ("vhost-net", "8", "2", [87_029.0, 66_267.0, 122_424.0], [137_984.0, 127_745.0, 153_395.0], [159, 193, 125]),
    ("vhost-net", "8", "4+6", [94_494.0, 38_505.0, 131_978.0], [126_632.0, 58_500.0, 152_043.0], [134, 152, 115]),
    ("vhost-net", "8", "5+7", [124_747.0, 117_404.0, 132_153.0], [130_516.0, 114_025.0, 143_373.0], [105, 97, 108]),
    ("vhost-net", "4", "0", [176_099.0, 162_549.0, 192_376.0], [174_416.0, 170_608.0, 176_589.0], [99, 105, 92]),
    ("vhost-net", "4", "2", [130_100.0, 122_424.0, 141_090.0], [160_132.0, 153_274.0, 168_517.0], [123, 125, 119]),
    ("vhost-net", "4", "4+6", [154_910.0, 138_548.0, 192_482.0], [150_940.0, 141_087.0, 157_335.0], [97, 102, 82]),
    ("vhost-net", "1", "0", [64_694.0, 62_415.0, 66_557.0], [79_381.0, 75_221.0, 82_798.0], [123, 121, 124]),
    ("vhost-net", "1", "1", [119_916.0, 112_832.0, 126_901.0], [95_552.0, 93_900.0, 97_289.0], [80, 83, 77]),
    ("vhost-net", "1", "2", [108_612.0, 93_402.0, 116_587.0], [95_552.0, 93_900.0, 97_289.0], [88, 101, 83]),
    ("vhost-net", "1", "4+6", [85_316.0, 75_521.0, 92_248.0], [95_552.0, 93_900.0, 97_289.0], [112, 124, 105]),
    ("vhost-net", "1", "5+7", [120_667.0, 113_403.0, 126_901.0], [95_389.0, 93_085.0, 97_289.0], [79, 82, 77]),
];

fn records(page: &str) -> Vec<Vec<String>> {
    let mut reader = ::csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).from_reader(page.as_bytes());
    let rows = reader.records().map(|row| row.expect("a row"));
    rows.map(|row| row.iter().map(str::to_owned).collect())
        .collect()
}

/// The row of a Markdown table that begins with these fields.
fn line<'a>(page: &'a str, begins: &str) -> &'a str {
    let found = page.lines().find(|line| line.starts_with(begins));
    found.unwrap_or_else(|| panic!("{begins} is not in:\n{page}"))
}

fn grouped(value: f64) -> String {
    let whole = format!("{value:.0}");
    let (thousands, rest) = whole.split_at(whole.len() - 3);
    format!("{thousands},{rest}")
}

fn slides() -> Run {
    let cells = SLIDES.iter().flat_map(|(nic, queues, pin, uni, bi, _)| {
        let vcpus = if pin.len() > 1 { "2" } else { "1" };
        let path = vec![
            ("host_queues", *queues),
            ("kind", "vm"),
            ("nic", *nic),
            ("pin", *pin),
            ("vcpus", vcpus),
        ];
        // The tester of the slides adds both directions up, a cell's throughput is of each.
        [
            (path.clone(), "uni", *uni),
            (path, "bi", bi.map(|fps| fps / 2.0)),
        ]
    });
    let cells: Vec<_> = cells.collect();
    let asked: Vec<Asked<'_>> = cells
        .iter()
        .map(|(path, direction, fps)| Asked {
            path,
            size: 64,
            direction,
            flows: 1,
            fps: *fps,
            verdict: "ok",
        })
        .collect();
    common::measured(&asked)
}

#[test]
fn the_slides_ratios_are_ours() {
    let run = slides();
    let page = rendered(|out| markdown(&run, out));
    let rows = records(&rendered(|out| csv::directions::render(&run, out)));
    assert_eq!(rows.len(), 1 + 2 * SLIDES.len());
    for (nic, queues, pin, uni, bi, ratios) in SLIDES {
        let vcpus = if pin.len() > 1 { "2" } else { "1" };
        let path = format!("vm,host_queues={queues},nic={nic}");
        // As Markdown has it.
        let shown = path.replace('_', "\\_");
        let [ave, min, max] = uni.map(short);
        let begins = format!("| {shown} | {vcpus} | {pin} | uni | 64 |");
        assert_eq!(
            line(&page, &begins),
            format!("{begins} {ave} | {min} | {max} | – | – | – |")
        );
        let [ave, min, max] = bi.map(short);
        let [of_ave, of_min, of_max] = ratios;
        let begins = format!("| {shown} | {vcpus} | {pin} | bi | 64 |");
        assert_eq!(
            line(&page, &begins),
            format!("{begins} {ave} | {min} | {max} | {of_ave} % | {of_min} % | {of_max} % |")
        );
        let row = rows
            .iter()
            .find(|row| row[..5] == [&path, vcpus, pin, "1", "bi"])
            .expect("a row");
        let rounded: Vec<u32> = row[10..]
            .iter()
            .map(|ratio| (ratio.parse::<f64>().unwrap() * 100.0).round() as u32)
            .collect();
        assert_eq!(rounded, ratios, "{path} {pin}");
    }
}

/// A blog’s table of Linux bridge and testpmd: bytes, Gbit/s with preamble and gap, Mframes/s.
const BLOG: [(&str, u16, f64, &str); 8] = [
    ("bridge", 64, 2.98, "4.43"),
    ("testpmd", 64, 15.2, "22.6"),
    ("bridge", 128, 5.61, "4.74"),
    ("testpmd", 128, 19.4, "16.4"),
    ("bridge", 256, 9.16, "4.15"),
    ("testpmd", 256, 20.0, "9.06"),
    ("bridge", 512, 16.4, "3.85"),
    ("bridge", 1024, 20.0, "2.39"),
];

fn blog() -> Run {
    let asked: Vec<Asked<'_>> = BLOG
        .iter()
        .map(|(kind, size, gbps, _)| Asked {
            path: match *kind {
                "bridge" => &[("kind", "bridge")],
                _ => &[("kind", "testpmd")],
            },
            size: *size,
            direction: "uni",
            flows: 1,
            fps: [FrameSize::new(*size).unwrap().line_rate(gbps * 1000.0).0; 3],
            verdict: "ok",
        })
        .collect();
    common::measured(&asked)
}

#[test]
fn bits_and_frames_stand_side_by_side_as_in_the_blog() {
    let run = blog();
    let page = rendered(|out| html(&run, out));
    let plain = rendered(|out| markdown(&run, out));
    for (kind, bytes, gbps, mpps) in BLOG {
        let mbps = grouped(gbps * 1000.0);
        let square = format!("{mpps} M<span class=\"sub\">{mbps} Mbit/s</span>");
        assert!(page.contains(&square), "{kind} {bytes}: {square}");
        assert!(plain.contains(&format!(" / {mbps} |")), "{kind} {bytes}");
    }
    let bridge = line(&plain, "| bridge, one direction |");
    assert!(
        bridge.starts_with("| bridge, one direction | 4.43 M / 2,980 |"),
        "{bridge}"
    );
    let testpmd = line(&plain, "| testpmd, one direction |");
    assert!(testpmd.ends_with("| – | – |"), "{testpmd}");
}

#[test]
fn a_page_over_one_size_begins_with_the_order_of_its_paths() {
    let asked = |kind, size, fps, verdict| Asked {
        path: kind,
        size,
        direction: "uni",
        flows: 1,
        fps: [fps; 3],
        verdict,
    };
    let (bridge, routed, ovs) = (
        [("kind", "bridge")],
        [("kind", "routed")],
        [("kind", "ovs")],
    );
    let mut all = vec![
        asked(&bridge[..], 64, 800_000.0, "ok"),
        asked(&routed[..], 64, 900_000.0, "tester-limited"),
        asked(&ovs[..], 64, 20_000.0, "wide"),
    ];
    let page = rendered(|out| html(&common::measured(&all), out));
    assert!(page.contains("<figure id=\"chart-Paths-by-what-they-carry\""));
    assert!(!page.contains("chart-Throughput") && !page.contains("chart-Bit-rate"));
    for told in [
        "routed: ≥ 900 k frames/s, tester-limited",
        "ovs: 20.0 k frames/s, wide",
    ] {
        assert!(page.contains(&format!("<title>{told}</title>")), "{told}");
    }
    let said =
        "Of 3 paths routed carries most, ≥ 900 k frames/s of 64 bytes, and ovs least, 20.0 k.";
    assert!(page.contains(said), "{page}");
    all.push(asked(&[("kind", "macvlan")], 64, 950_000.0, "bound"));
    let page = rendered(|out| html(&common::measured(&all), out));
    all.pop();
    let said = format!("{said} Of 1 more path only a lower bound is known.");
    assert!(page.contains(&said), "{page}");
    // Two sizes are curves, and two paths need no order.
    all.push(asked(&bridge[..], 1518, 700_000.0, "ok"));
    let page = rendered(|out| html(&common::measured(&all), out));
    assert!(page.contains("chart-Throughput") && !page.contains("chart-Paths-by"));
    let page = rendered(|out| html(&common::measured(&all[..2]), out));
    assert!(page.contains("chart-Throughput") && !page.contains("chart-Paths-by"));
    assert!(!page.contains("carries most"));
}

#[test]
fn a_ranking_names_engines_where_they_differ_and_no_layer_between_them() {
    let asked = |path, fps| Asked {
        path,
        size: 64,
        direction: "uni",
        flows: 1,
        fps: [fps; 3],
        verdict: "ok",
    };
    let mut run = common::measured(&[
        asked(&[("kind", "routed")], 800_000.0),
        asked(&[("kind", "routed"), ("rules", "100")], 400_000.0),
    ]);
    let plain = rendered(|out| markdown(&run, out));
    let row = "| 2 | routed,rules=100 | 400 k | 269 | 50 % | 50 % | rules=100 over routed | +1,250 | ok |";
    assert_eq!(line(&plain, row), row, "{plain}");
    assert!(!plain.contains("compare closely only"), "{plain}");
    run.visits[1].engine = "xdp (live frames)".to_owned();
    let plain = rendered(|out| markdown(&run, out));
    let row = "| 2 | routed,rules=100 | 400 k | 269 | 50 % | 50 % | xdp | ok |";
    assert_eq!(line(&plain, row), row, "{plain}");
    assert!(plain.contains("compare closely only"), "{plain}");
}

#[test]
fn paths_are_ranked_with_what_they_cost_against_the_best() {
    let run = blog();
    let plain = rendered(|out| markdown(&run, out));
    for row in [
        "| 1 | testpmd | 22.6 M | 15,200 | 100 % | 0 % | ok |",
        "| 2 | bridge | 4.43 M | 2,980 | 20 % | 80 % | ok |",
    ] {
        assert_eq!(line(&plain, row), row);
    }
    let page = rendered(|out| html(&run, out));
    assert!(page.contains("Ranking of the paths: 64 bytes, one direction"));
    let terminal = terminal(&run, 100);
    assert!(
        terminal.contains("anking of the paths: 64 bytes, one direction\n"),
        "{terminal}"
    );
    let bridge = line(&terminal, "    2  bridge").split_whitespace();
    let bridge: Vec<&str> = bridge.collect();
    let row = "2 bridge 4.43 M 2,980 20 % 80 % ok";
    assert_eq!(bridge.join(" "), row, "{terminal}");
    // Frame sizes that one path only was measured with are no ranking.
    let rows = records(&rendered(|out| csv::ranking::render(&run, out)));
    let sizes: Vec<&str> = rows[1..].iter().map(|row| row[0].as_str()).collect();
    assert_eq!(sizes, ["64", "64", "128", "128", "256", "256"]);
    assert_eq!(rows[2][3..5], ["2", "bridge"]);
    assert!(rows[2][12].starts_with("0.80"), "{:?}", rows[2]);
}

/// One path only: nothing to rank.
#[test]
fn a_run_of_one_path_has_no_ranking() {
    let mut run = blog();
    run.visits.retain(|cell| cell.key.kind() == "bridge");
    run.cells.retain(|cell| cell.cell.starts_with("bridge"));
    let mut every = terminal(&run, 100);
    every.push_str(&rendered(|out| markdown(&run, out)));
    every.push_str(&rendered(|out| html(&run, out)));
    assert!(!every.to_lowercase().contains("ranking of"));
    assert_eq!(
        records(&rendered(|out| csv::ranking::render(&run, out))).len(),
        1
    );
}

#[test]
fn averages_are_of_the_sizes_measured_both_ways_and_doubt_goes_with_them() {
    let cell = |size, direction, fps: f64, verdict| Asked {
        path: &[("kind", "bridge")],
        size,
        direction,
        flows: 1,
        fps: [fps, fps - 10.0, fps + 10.0],
        verdict,
    };
    let run = common::measured(&[
        cell(64, "uni", 100.0, "ok"),
        cell(128, "uni", 900.0, "noisy"),
        cell(512, "uni", 300.0, "ok"),
        cell(64, "bi", 60.0, "late"),
        cell(512, "bi", 140.0, "ok"),
    ]);
    let rows = records(&rendered(|out| csv::directions::render(&run, out)));
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[1].join(","), "bridge,,,1,uni,64 512,200,90,310,,,,");
    assert_eq!(
        rows[2].join(","),
        "bridge,,,1,bi,64 512,200,100,300,late,1,1.1111111111111112,0.967741935483871"
    );
    let page = rendered(|out| markdown(&run, out));
    let row =
        "| bridge | bi | 64, 512 | 200\\* | 100\\* | 300\\* | 100 %\\* | 111 %\\* | 97 %\\* |";
    assert_eq!(line(&page, row), row);
    let page = rendered(|out| html(&run, out));
    assert!(page.contains("100 %<abbr title=\"late\">*</abbr>"));
}

/// The fastest in one direction is no measure for both directions or for many flows.
#[test]
fn the_best_is_that_of_the_same_direction_and_flows() {
    let cell = |direction, flows, size, fps: f64| Asked {
        path: &[("kind", "bridge")],
        size,
        direction,
        flows,
        fps: [fps; 3],
        verdict: "ok",
    };
    let run = common::measured(&[
        cell("uni", 1, 64, 1000.0),
        cell("uni", 1, 128, 1000.0),
        cell("bi", 1, 64, 400.0),
        cell("uni", 64, 64, 300.0),
    ]);
    let page = rendered(|out| html(&run, out));
    assert_eq!(page.matches("<span class=\"sub\">100 %</span>").count(), 4);
    assert!(!page.contains("<span class=\"sub\">40 %</span>"));
}
