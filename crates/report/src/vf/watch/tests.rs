use nicety_model::BitRate;
use nicety_model::vf::{HostPort, PhysicalFunction, Shared, VirtualFunction};

use super::*;
use crate::live::drawn::{ASCII_LOOK, text};
use crate::live::keys::Key as Pressed;

const LOOK: Look = Look {
    colour: true,
    unicode: true,
};

fn counters(tx: f64, rx: f64, dropped: u64) -> Option<PortCounters> {
    Some(PortCounters {
        source: "driver".to_owned(),
        tx_bps: Some(tx),
        rx_bps: Some(rx),
        tx_dropped: Some(dropped),
        ..PortCounters::default()
    })
}

/// A NIC with 64 functions and a tap, at sample `n`.
fn report(n: u32) -> VfReport {
    let function = |vf: u32| VirtualFunction {
        vf,
        max_mbit: Some(if vf == 3 { 500 } else { 0 }),
        holder: if vf.is_multiple_of(7) {
            "nobody"
        } else {
            "vfio"
        }
        .to_owned(),
        shared: (vf == 3).then(|| Shared {
            tenant: "web".to_owned(),
            hard_bps: 5e8,
            soft_bps: None,
        }),
        counters: match vf {
            3 => counters(4.98e8, 1e7, 10 * u64::from(n)),
            5 => None,
            _ => counters(f64::from(vf * (n % 5)) * 1e6, 2e6, 0),
        },
        ..VirtualFunction::default()
    };
    VfReport {
        nics: vec![PhysicalFunction {
            interface: "eth0".to_owned(),
            driver: Some("mlx5_core".to_owned()),
            link_mbit: Some(25_000),
            total: Some(64),
            enabled: 64,
            functions: (0..64).map(function).collect(),
            ..PhysicalFunction::default()
        }],
        ports: vec![HostPort {
            interface: "tap0".to_owned(),
            kind: "tap".to_owned(),
            limit: Some(BitRate(200_000_000)),
            counters: counters(1e6, 0.0, 0),
            ..HostPort::default()
        }],
        ..VfReport::default()
    }
}

fn drawn(view: &mut View, look: Look, (width, height): (u16, u16)) -> String {
    let mut history = History::default();
    for n in 0..50 {
        history.take(&report(n));
    }
    let report = report(49);
    let watch = Watch {
        host: "node7",
        report: &report,
        history: &history,
        look,
        keys: true,
    };
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    screen(watch, view, &mut buf);
    text(&buf)
}

#[test]
fn screens() {
    for (width, height) in [(80, 24), (160, 50), (40, 10)] {
        let name = format!("watch-{width}x{height}");
        let mut view = View {
            sort: 1,
            ..View::default()
        };
        insta::assert_snapshot!(name, drawn(&mut view, LOOK, (width, height)));
    }
    let mut view = View::default();
    insta::assert_snapshot!("watch-ascii", drawn(&mut view, ASCII_LOOK, (120, 16)));
}

#[test]
fn the_last_of_many_functions_can_be_reached() {
    let mut view = View::default();
    let first = drawn(&mut view, ASCII_LOOK, (80, 24));
    assert!(
        first.contains("eth0/vf0 ") && !first.contains("tap0"),
        "{first}"
    );
    view.press(Pressed::End);
    let last = drawn(&mut view, ASCII_LOOK, (80, 24));
    assert!(
        last.contains("tap0") && !last.contains("eth0/vf0 "),
        "{last}"
    );
    assert!(last.contains(" of 65"), "{last}");
}

#[test]
fn drops_count_from_the_first_sample() {
    let mut history = History::default();
    let take = |history: &mut History, dropped| {
        let mut report = report(1);
        report.ports[0].counters = counters(0.0, 0.0, dropped);
        history.take(&report);
        history.dropped("tap0")
    };
    assert_eq!(take(&mut history, 1000), Some(0));
    assert_eq!(take(&mut history, 1007), Some(7));
    // A new driver counts from 0.
    assert_eq!(take(&mut history, 2), Some(9));
    assert_eq!(history.dropped("eth0/vf5"), None);
}

#[test]
fn what_is_gone_is_forgotten() {
    let mut history = History::default();
    history.take(&report(3));
    assert!(history.highest() > 0.0);
    history.take(&VfReport::default());
    assert_eq!(history.highest(), 0.0);
}

#[test]
fn no_size_breaks_it() {
    for width in (0..130).step_by(5) {
        for height in [0, 1, 2, 3, 5, 24] {
            let mut view = View {
                help: true,
                top: 9,
                ..View::default()
            };
            drawn(&mut view, LOOK, (width, height));
        }
    }
}
