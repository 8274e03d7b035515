//! Interfaces as sysfs tells them: all there is of a tree copied without netlink's answers.

use nicety_model::facts::{LinkFacts, QueuesFacts};

use crate::roots::SysRoot;

/// IFF_UP of include/uapi/linux/if.h.
const IFF_UP: u32 = 1;

/// All interfaces of the tree.
pub(super) fn read(sys: &SysRoot) -> Vec<LinkFacts> {
    let mut links: Vec<LinkFacts> = sys
        .entries("class/net")
        .iter()
        .filter_map(|name| one(sys, name))
        .collect();
    links.sort_by_key(|link| link.index);
    links
}

fn one(sys: &SysRoot, name: &str) -> Option<LinkFacts> {
    let text = |file: &str| sys.text(format!("class/net/{name}/{file}"));
    let number = |file: &str| text(file)?.parse::<u32>().ok();
    let flags =
        text("flags").and_then(|t| u32::from_str_radix(t.trim_start_matches("0x"), 16).ok());
    // Files such as class/net/bonding_masters are no interfaces.
    let index = number("ifindex")?;
    let queues = sys.entries(format!("class/net/{name}/queues"));
    let count = |prefix: &str| queues.iter().filter(|q| q.starts_with(prefix)).count() as u32;
    let kind = text("uevent").and_then(|uevent| {
        let line = uevent
            .lines()
            .find_map(|line| line.strip_prefix("DEVTYPE="));
        line.map(str::to_owned)
    });
    let driver = sys.link_name(format!("class/net/{name}/device/driver"));
    Some(LinkFacts {
        name: name.to_owned(),
        index,
        kind: kind.unwrap_or_default(),
        up: flags.is_some_and(|flags| flags & IFF_UP != 0),
        carrier: number("carrier") == Some(1),
        mtu: number("mtu").unwrap_or(0),
        master: sys.link_name(format!("class/net/{name}/master")),
        speed_mbps: number("speed").filter(|_| driver.is_some()),
        driver,
        queues: QueuesFacts {
            rx: count("rx-"),
            tx: count("tx-"),
            ..QueuesFacts::default()
        },
        counters: sys
            .entries(format!("class/net/{name}/statistics"))
            .into_iter()
            .filter_map(|counter| {
                let value: u64 = text(&format!("statistics/{counter}"))?.parse().ok()?;
                (value > 0).then_some((counter, value))
            })
            .collect(),
        ..LinkFacts::default()
    })
}
