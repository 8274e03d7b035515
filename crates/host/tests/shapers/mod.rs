//! Limits of ports against the running kernel.

use std::process::Command;
use std::time::Duration;

use nicety_host::net_error::NetError;
use nicety_host::privilege::Privilege;
use nicety_host::shaper::{BURST, Found, Shape, Shapers};
use nicety_model::BitRate;

use crate::pair;

fn shape(mbit: u64, wire: bool) -> Shape {
    Shape {
        rate: BitRate::from_mbit(mbit),
        wire,
    }
}

/// Whether the first limit could be set; says why not where the kernel lacks a part.
fn limited(shapers: &Shapers, shape: Shape) -> bool {
    match shapers.set("x", shape, BURST) {
        Ok(()) => true,
        Err(error) if error.is_unsupported() || error.is_not_found() => {
            println!(
                "SKIP limits of ports: this kernel lacks ifb, sch_ingress, cls_u32 or act_mirred: {error}"
            );
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn names(links: &nicety_host::link::Links) -> Vec<String> {
    links
        .list()
        .unwrap()
        .into_iter()
        .map(|link| link.name)
        .collect()
}

pub(crate) fn port_limits(_: Privilege) {
    let pair = pair(1);
    let shapers = Shapers::open(&pair.near).unwrap();
    assert_eq!(shapers.read("x").unwrap(), Found::Open);
    let before = names(&pair.near_links);
    if !limited(&shapers, shape(100, true)) {
        return;
    }
    assert_eq!(shapers.read("x").unwrap(), Found::Limited(shape(100, true)));
    // Once more, another rate; above 4 GB/s the kernel tells it in another field.
    for next in [shape(7, false), shape(40_000, true), shape(88, true)] {
        shapers.set("x", next, Duration::from_millis(10)).unwrap();
        assert_eq!(shapers.read("x").unwrap(), Found::Limited(next));
    }
    let survey = shapers.survey().unwrap();
    let link = survey.face("x").unwrap();
    let bucket = shapers.bucket_of(link, &survey).unwrap();
    assert_eq!((bucket.shape, bucket.backlog), (shape(88, true), 0));
    shapers.remove("x").unwrap();
    shapers.remove("x").unwrap();
    assert_eq!(shapers.read("x").unwrap(), Found::Open);
    assert_eq!(names(&pair.near_links), before);

    // A port that goes leaves its helper, which the next sweep takes.
    shapers.set("x", shape(5, false), BURST).unwrap();
    assert_eq!(shapers.sweep().unwrap(), 0);
    pair.near_links.delete("x").unwrap();
    assert!(matches!(shapers.read("x"), Err(NetError::NotFound { .. })));
    assert_eq!(shapers.sweep().unwrap(), 1);
    assert_eq!(names(&pair.near_links), ["lo"]);
}

pub(crate) fn foreign_limits(_: Privilege) {
    let pair = pair(1);
    let shapers = Shapers::open(&pair.near).unwrap();
    if !limited(&shapers, shape(100, true)) {
        return;
    }
    shapers.remove("x").unwrap();
    let tc = |words: &str| {
        let run = || {
            let status = Command::new("tc").args(words.split(' ')).status().unwrap();
            assert!(status.success(), "tc {words}");
        };
        pair.near.run(run).unwrap();
    };
    tc("qdisc add dev x handle ffff: ingress");
    assert_eq!(
        shapers.read("x").unwrap(),
        Found::Foreign("ingress".to_owned())
    );
    let error = shapers.set("x", shape(5, false), BURST).unwrap_err();
    assert!(
        error.to_string().contains("ingress qdisc of somebody else"),
        "{error}"
    );
    shapers.remove("x").unwrap();
    assert_eq!(names(&pair.near_links), ["lo", "x"]);
    tc("qdisc del dev x ingress");

    // Somebody takes a part of ours away: found, and made whole again.
    shapers.set("x", shape(9, false), BURST).unwrap();
    tc("qdisc del dev x ingress");
    assert_eq!(shapers.read("x").unwrap(), Found::Open);
    shapers.set("x", shape(9, false), BURST).unwrap();
    tc("filter del dev x parent ffff:");
    assert_eq!(shapers.read("x").unwrap(), Found::Open);
    shapers.set("x", shape(9, false), BURST).unwrap();
    assert_eq!(shapers.read("x").unwrap(), Found::Limited(shape(9, false)));

    // And only hardware-like ends are refused.
    let lo = shapers.set("lo", shape(9, false), BURST).unwrap_err();
    assert!(lo.is_unsupported(), "{lo}");
}
