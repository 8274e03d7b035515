//! Who sets what at boot: sysctl.d(5), tuned, systemd.link(5), modprobe.d(5).

use std::collections::BTreeMap;

use nicety_model::facts::{Owner, OwnerKind};

use super::source::Source;
use super::tuned;

/// Keys of sysctl files that are told; others belong to nobody here.
const PREFIXES: [&str; 3] = ["net.", "kernel.numa", "vm.nr_hugepages"];

pub(super) fn read(source: &Source) -> Vec<Owner> {
    let mut owners = sysctl_files(source);
    owners.extend(tuned::read(source));
    owners.extend(links(source));
    owners.extend(modprobe(source));
    owners
}

/// Files of one kind in the order they are read: by name, of equal names only the one in the
/// folder of higher rank (sysctl.d(5), systemd.link(5), modprobe.d(5)).
fn files(source: &Source, folders: &[&str], suffix: &str) -> Vec<(String, String)> {
    let mut by_name: BTreeMap<String, String> = BTreeMap::new();
    for folder in folders {
        let names = source
            .top
            .entries_where(folder, |name| name.ends_with(suffix));
        for name in names {
            let path = format!("{folder}/{name}");
            by_name.entry(name).or_insert(path);
        }
    }
    by_name
        .into_values()
        .filter_map(|path| Some((format!("/{path}"), source.top.text(&path)?)))
        .collect()
}

fn sysctl_files(source: &Source) -> Vec<Owner> {
    let folders = [
        "etc/sysctl.d",
        "run/sysctl.d",
        "usr/local/lib/sysctl.d",
        "usr/lib/sysctl.d",
    ];
    let mut files = files(source, &folders, ".conf");
    if let Some(text) = source.top.text("etc/sysctl.conf") {
        files.push(("/etc/sysctl.conf".to_owned(), text));
    }
    let mut owners = Vec::new();
    for (file, text) in files {
        for (key, value) in assignments(&text) {
            // Slashes may separate as well, and a leading dash only means "ignore errors".
            let key = key.trim_start_matches('-').replace('/', ".");
            if PREFIXES.iter().any(|prefix| key.starts_with(prefix)) {
                owners.push(owner(OwnerKind::Sysctl, &file, &key, value));
            }
        }
    }
    owners
}

fn links(source: &Source) -> Vec<Owner> {
    let folders = [
        "etc/systemd/network",
        "run/systemd/network",
        "usr/lib/systemd/network",
    ];
    let mut owners = Vec::new();
    for (file, text) in files(source, &folders, ".link") {
        for (section, key, value) in sectioned(&text) {
            owners.push(owner(
                OwnerKind::Link,
                &file,
                &format!("{section}.{key}"),
                value,
            ));
        }
    }
    owners
}

fn modprobe(source: &Source) -> Vec<Owner> {
    let folders = ["etc/modprobe.d", "run/modprobe.d", "usr/lib/modprobe.d"];
    let mut owners = Vec::new();
    for (file, text) in files(source, &folders, ".conf") {
        for line in text
            .lines()
            .filter_map(|line| line.strip_prefix("options "))
        {
            let mut words = line.split_ascii_whitespace();
            let module = words.next().unwrap_or_default();
            for (key, value) in words.filter_map(|word| word.split_once('=')) {
                let key = format!("{module}.{key}");
                owners.push(owner(OwnerKind::Modprobe, &file, &key, value));
            }
        }
    }
    owners
}

pub(super) fn owner(kind: OwnerKind, file: &str, key: &str, value: &str) -> Owner {
    Owner {
        kind,
        file: file.to_owned(),
        key: key.to_owned(),
        value: value.split_ascii_whitespace().collect::<Vec<_>>().join(" "),
    }
}

/// `key = value` lines without comments.
fn assignments(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with(['#', ';']))
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
}

/// `key = value` lines with the section each stands in.
pub(super) fn sectioned(text: &str) -> Vec<(&str, &str, &str)> {
    let mut section = "";
    let mut settings = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name;
        } else if let Some((key, value)) = assignments(line).next() {
            settings.push((section, key, value));
        }
    }
    settings
}
