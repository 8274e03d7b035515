//! How bonds spread frames: sysfs, and in trees copied without it what /proc/net/bonding says.

use nicety_model::facts::{BondFacts, LinkFacts};

use super::source::Source;

/// Modes as /proc/net/bonding words them (drivers/net/bonding/bond_main.c, `bond_mode_name`).
const MODES: [(&str, &str); 7] = [
    ("load balancing (round-robin)", "balance-rr"),
    ("fault-tolerance (active-backup)", "active-backup"),
    ("load balancing (xor)", "balance-xor"),
    ("fault-tolerance (broadcast)", "broadcast"),
    ("IEEE 802.3ad Dynamic link aggregation", "802.3ad"),
    ("transmit load balancing", "balance-tlb"),
    ("adaptive load balancing", "balance-alb"),
];

/// What is read in /proc/net/bonding; the rest tells addresses, which no record should have.
const KEYS: [&str; 3] = ["Bonding Mode", "Transmit Hash Policy", "Number of ports"];

/// None where the interface is no bond.
pub(super) fn read(source: &Source, link: &LinkFacts) -> Option<BondFacts> {
    if link.kind != "bond" {
        return None;
    }
    let sys = &source.roots.sys;
    let first = |file: &str| {
        let text = sys.text(format!("class/net/{}/bonding/{file}", link.name))?;
        // Word and number: `802.3ad 4`.
        text.split_whitespace().next().map(str::to_owned)
    };
    if let Some(mode) = first("mode") {
        return Some(BondFacts {
            mode,
            xmit_hash_policy: first("xmit_hash_policy"),
            ad_num_ports: first("ad_num_ports").and_then(|ports| ports.parse().ok()),
        });
    }
    let file = format!("net/bonding/{}", link.name);
    parse(&source.roots.proc.text_as(file, public)?)
}

/// The lines that are read.
fn public(text: &str) -> String {
    let is_read = |line: &&str| KEYS.iter().any(|key| line.trim_start().starts_with(key));
    let lines: Vec<&str> = text.lines().filter(is_read).collect();
    lines.join("\n")
}

/// The text of /proc/net/bonding/BOND (drivers/net/bonding/bond_procfs.c, `bond_info_show_master`).
fn parse(text: &str) -> Option<BondFacts> {
    let value = |key: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(str::trim))
    };
    let [mode, policy, ports] = KEYS;
    let said = value(mode)?;
    // `fault-tolerance (active-backup) (fail_over_mac active)`.
    let mode = MODES.iter().find(|(words, _)| said.starts_with(words));
    let policy = value(policy).and_then(|text| text.split_whitespace().next());
    Some(BondFacts {
        mode: mode.map_or(said, |(_, mode)| mode).to_owned(),
        xmit_hash_policy: policy.map(str::to_owned),
        ad_num_ports: value(ports).and_then(|ports| ports.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bond_is_read_from_proc() {
        let lacp = "Ethernet Channel Bonding Driver: v6.1.0\n\n\
            Bonding Mode: IEEE 802.3ad Dynamic link aggregation\n\
            Transmit Hash Policy: layer2 (0)\nMII Status: up\n\n802.3ad info\n\
            Active Aggregator Info:\n\tAggregator ID: 1\n\tNumber of ports: 2\n";
        let lacp = format!("{lacp}\tPartner Mac Address: 02:00:00:00:00:01\n");
        assert!(!public(&lacp).contains("02:00") && public(&lacp).lines().count() == 3);
        let bond = parse(&public(&lacp)).unwrap();
        assert_eq!(
            (bond.mode.as_str(), bond.ad_num_ports),
            ("802.3ad", Some(2))
        );
        assert_eq!(bond.xmit_hash_policy.as_deref(), Some("layer2"));
        let backup = "Bonding Mode: fault-tolerance (active-backup) (fail_over_mac active)\n";
        let bond = parse(backup).unwrap();
        assert_eq!(
            (bond.mode.as_str(), bond.xmit_hash_policy),
            ("active-backup", None)
        );
        assert_eq!(parse("no bond"), None);
    }

    #[test]
    fn sysfs_is_believed_first() {
        let dir = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let read = || {
            let link = LinkFacts {
                name: "bond0".to_owned(),
                kind: "bond".to_owned(),
                ..LinkFacts::default()
            };
            super::read(&Source::under(dir.path()), &link)
        };
        assert_eq!(read(), None);
        write(
            "proc/net/bonding/bond0",
            "Bonding Mode: load balancing (xor)\n",
        );
        assert_eq!(read().unwrap().mode, "balance-xor");
        write("sys/class/net/bond0/bonding/mode", "802.3ad 4\n");
        write(
            "sys/class/net/bond0/bonding/xmit_hash_policy",
            "layer3+4 1\n",
        );
        write("sys/class/net/bond0/bonding/ad_num_ports", "\n");
        let bond = read().unwrap();
        assert_eq!((bond.mode.as_str(), bond.ad_num_ports), ("802.3ad", None));
        assert_eq!(bond.xmit_hash_policy.as_deref(), Some("layer3+4"));
    }
}
