//! Facts of a host that somebody recorded.

use std::io::Write;

use nicety_advisor::fleet::{Fleet, HostRecord, profile};
use nicety_advisor::{Wishes, advise};
use nicety_host::facts::{self, Capturing, Source};
use nicety_model::HostFacts;
use nicety_model::finding::Goal;

use crate::{Target, cases};

pub(crate) const FACTS: Target = Target {
    name: "facts",
    run: |bytes| {
        if let Ok(facts) = serde_json::from_slice::<HostFacts>(bytes) {
            for goal in [Goal::Throughput, Goal::Latency] {
                let _ = advise(&facts, goal, Wishes::default());
            }
            let _ = nicety_advisor::picture(&facts);
            beside_another(&facts);
        }
    },
    seeds: |root| {
        // The smallest of them: a fuzzer is quicker with these.
        let mut all = cases(root, "advice", "host.json");
        all.sort_by_key(Vec::len);
        all.truncate(2);
        all
    },
};

pub(crate) const CAPTURE: Target = Target {
    name: "capture",
    run: |bytes| {
        let Ok(mut file) = tempfile::NamedTempFile::new() else {
            return;
        };
        if file.write_all(bytes).is_err() {
            return;
        }
        if let Ok(source) = Source::captured(file.path()) {
            let _ = source.identity();
            beside_another(&facts::read_after(&source, None));
        }
    },
    seeds: |_| captured().into_iter().collect(),
};

/// The host in a fleet with one of which nothing is known.
fn beside_another(facts: &HostFacts) {
    let mut fleet = Fleet::default();
    for (name, facts) in [("a", facts), ("b", &HostFacts::default())] {
        fleet.add(HostRecord {
            name: name.to_owned(),
            file: name.to_owned(),
            captured: None,
            profile: profile(facts),
            advice: advise(facts, Goal::Throughput, Wishes::default()),
        });
    }
    let _ = fleet.report(Goal::Throughput, &[]);
}

/// A capture of a small host.
fn captured() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().ok()?;
    for (name, text) in [
        ("proc/sys/kernel/osrelease", "6.1.0\n"),
        ("proc/sys/net/core/rmem_max", "212992\n"),
        ("proc/meminfo", "MemTotal: 1048576 kB\n"),
        ("sys/class/net/eth0/mtu", "1500\n"),
        ("sys/class/net/eth0/address", "02:00:00:00:00:01\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
    ] {
        let path = folder.path().join("host").join(name);
        std::fs::create_dir_all(path.parent()?).ok()?;
        std::fs::write(path, text).ok()?;
    }
    let (capturing, source) = Capturing::begin(Source::under(&folder.path().join("host"))).ok()?;
    let _ = facts::read_after(&source, None);
    let file = folder.path().join("captured.json");
    capturing.write(&file).ok()?;
    std::fs::read(file).ok()
}
