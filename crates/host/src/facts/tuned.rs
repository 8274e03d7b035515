//! What tuned sets: its active profiles with all that they include, as its daemon merges them.

use std::collections::BTreeMap;

use nicety_model::facts::{Owner, OwnerKind};
use nicety_model::kept::{TUNED_PROFILES, TUNED_SYSTEM_PROFILES};

use super::owner::{owner, sectioned};
use super::source::Source;

/// Sections beside those of sysctls that are told.
const SECTIONS: [&str; 4] = ["net", "cpu", "irqbalance", "vm"];
/// Options of every section that set nothing themselves (tuned/profiles/unit.py).
const OF_UNITS: [&str; 10] = [
    "priority",
    "prepend",
    "devices",
    "devices_udev_regex",
    "cpuinfo_regex",
    "uname_regex",
    "script_pre",
    "script_post",
    "type",
    "enabled",
];
/// Begins what only tuned can tell: a variable or a function.
const VARIABLE: &str = "${";

/// A section of all profiles together.
#[derive(Debug, Default)]
struct Unit {
    kind: String,
    disabled: bool,
    /// Value and file by key.
    settings: BTreeMap<String, (String, String)>,
}

pub(super) fn read(source: &Source) -> Vec<Owner> {
    let etc = &source.roots.etc;
    let Some(active) = etc.text("tuned/active_profile") else {
        return Vec::new();
    };
    // Comes after the others (tuned/daemon/daemon.py).
    let last = etc.text("tuned/post_loaded_profile").unwrap_or_default();
    let names = active.split_ascii_whitespace();
    let mut profiles = Profiles {
        source,
        folders: folders(etc.text("tuned/tuned-main.conf")),
        read: Vec::new(),
        units: BTreeMap::new(),
    };
    names
        .chain(last.split_ascii_whitespace())
        .for_each(|name| profiles.load(name));
    profiles
        .units
        .iter()
        .flat_map(|(name, unit)| owners(name, unit))
        .collect()
}

/// Folders of profiles, the first that has one wins: tuned's own, or those of `profile_dirs`.
fn folders(main: Option<String>) -> Vec<String> {
    let main = main.unwrap_or_default();
    let dirs = sectioned(&main)
        .into_iter()
        .find_map(|(_, key, value)| (key == "profile_dirs" && !value.is_empty()).then_some(value));
    let Some(dirs) = dirs else {
        let all = TUNED_PROFILES.iter().chain(&TUNED_SYSTEM_PROFILES);
        return all.map(|&folder| folder.to_owned()).collect();
    };
    let dirs = dirs.split([',', ';']).rev();
    dirs.map(|dir| dir.trim().trim_matches('/').to_owned())
        .collect()
}

/// Profiles as they are loaded.
struct Profiles<'a> {
    source: &'a Source,
    folders: Vec<String>,
    /// Files that were read: none is read twice, so that includes end.
    read: Vec<String>,
    units: BTreeMap<String, Unit>,
}

impl Profiles<'_> {
    /// Loads what a profile includes, then the profile, which overrides it (tuned/profiles/loader.py).
    fn load(&mut self, name: &str) {
        // A leading dash only means that it may be missing.
        let name = name.trim_start_matches('-');
        if name.is_empty() || name.contains('/') || name.contains(VARIABLE) {
            return;
        }
        let files = self
            .folders
            .iter()
            .map(|of| format!("{of}/{name}/tuned.conf"));
        let found = files
            .filter(|file| !self.read.contains(file))
            .find_map(|file| Some((self.source.top.text(&file)?, file)));
        let Some((text, file)) = found else {
            return;
        };
        self.read.push(file.clone());
        let settings: Vec<(&str, &str, &str)> = sectioned(&text)
            .into_iter()
            .map(|(section, key, value)| (section, key, value_of(value)))
            .collect();
        for (_, _, names) in settings
            .iter()
            .filter(|(section, key, _)| (*section, *key) == ("main", "include"))
        {
            names
                .split([',', ';'])
                .for_each(|name| self.load(name.trim()));
        }
        self.merge(&settings, &file);
    }

    /// Puts a profile over those before it (tuned/profiles/merger.py).
    fn merge(&mut self, settings: &[(&str, &str, &str)], file: &str) {
        let word = |section: &str, wanted: &str| {
            let mut all = settings.iter().rev();
            all.find(|(of, key, _)| *of == section && *key == wanted)
                .map(|(_, _, value)| *value)
        };
        let mut sections: Vec<&str> = settings.iter().map(|(section, _, _)| *section).collect();
        sections.dedup();
        for section in sections.into_iter().filter(|section| *section != "main") {
            let unit = self.units.entry(section.to_owned()).or_default();
            word(section, "type")
                .unwrap_or(section)
                .clone_into(&mut unit.kind);
            unit.disabled = word(section, "enabled").is_some_and(|word| !is_true(word));
            if word(section, "replace").is_some_and(is_true) {
                unit.settings.clear();
            }
            let dropped = word(section, "drop").unwrap_or_default().split([',', ';']);
            dropped.for_each(|key| {
                unit.settings.remove(key.trim());
            });
            let own = settings.iter().filter(|(of, key, _)| {
                *of == section && !OF_UNITS.contains(key) && !["replace", "drop"].contains(key)
            });
            for (_, key, value) in own {
                let value = ((*value).to_owned(), file.to_owned());
                unit.settings.insert((*key).to_owned(), value);
            }
        }
    }
}

fn is_true(word: &str) -> bool {
    matches!(word, "1" | "True" | "true")
}

/// A value without a comment behind it, and without its quotes (`unquote`, tuned/utils/commands.py).
fn value_of(value: &str) -> &str {
    let comment = value.match_indices('#').map(|(at, _)| at);
    let mut comment = comment.filter(|&at| value[..at].ends_with(char::is_whitespace));
    let value = comment.next().map_or(value, |at| value[..at].trim_end());
    let quoted = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    quoted.unwrap_or(value)
}

/// What a unit sets; what a variable or a function says is unknown.
fn owners(name: &str, unit: &Unit) -> Vec<Owner> {
    if unit.disabled {
        return Vec::new();
    }
    let known = unit
        .settings
        .iter()
        .filter(|(_, (value, _))| !value.contains(VARIABLE));
    known
        .filter_map(|(key, (value, file))| {
            let key = match unit.kind.as_str() {
                "sysctl" => key.replace('/', "."),
                _ if SECTIONS.contains(&name) => format!("{name}.{key}"),
                _ => return None,
            };
            Some(owner(OwnerKind::Tuned, &format!("/{file}"), &key, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `key = value` of each owner, and the last folder of its file.
    fn told(active: &str, profiles: &[(&str, &str)]) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("etc/tuned/active_profile", active);
        for (folder, text) in profiles {
            write(&format!("{folder}/tuned.conf"), text);
        }
        let owners = read(&Source::under(dir.path()));
        let line = |owner: &Owner| {
            let profile = owner.file.strip_suffix("/tuned.conf").unwrap();
            let profile = profile.rsplit('/').next().unwrap();
            format!("{} = {} by {profile}", owner.key, owner.value)
        };
        owners.iter().map(line).collect()
    }

    #[test]
    fn a_profile_overrides_what_it_includes() {
        let base = "[sysctl]\nnet.core.rmem_max=1\nnet.core.wmem_max=2\n";
        let mine = "[main]\ninclude = -gone, base ; more\n[sysctl]\nnet.core.rmem_max = 3\n";
        let more = "[main]\ninclude=mine\n[net]\nchannels=combined 4\n[disk]\nreadahead=1\n";
        let all = [
            ("usr/lib/tuned/base", base),
            ("etc/tuned/profiles/mine", mine),
            ("usr/lib/tuned/profiles/more", more),
            ("usr/lib/tuned/mine", "[sysctl]\nnet.core.rmem_max=9\n"),
        ];
        // more includes mine once more: that of the package is left, and loses.
        let wanted = [
            "net.channels = combined 4 by more",
            "net.core.rmem_max = 3 by mine",
            "net.core.wmem_max = 2 by base",
        ];
        assert_eq!(told("mine\n", &all), wanted);
        // Of several active ones the last wins.
        let wanted = [
            "net.core.rmem_max = 1 by base",
            "net.core.wmem_max = 2 by base",
        ];
        let other = ("etc/tuned/other", "[sysctl]\nnet.core.rmem_max=7\n");
        assert_eq!(told("other base", &[all[0], other]), wanted);
        assert!(told("gone", &all).is_empty());
    }

    #[test]
    fn values_are_read_as_tuned_reads_them() {
        let text = "[variables]\nsize=5\n[sysctl]\nnet.ipv4.tcp_rmem=\"4096 131072 16777216\"\n\
                    net.core.rmem_max=>16777216 # at least\nnet.core.wmem_max=<7\n\
                    net.core.somaxconn=${size}\n#net.core.x=1\n\
                    [more]\ntype=sysctl\nnet/core/optmem_max = 8\n\
                    [off]\ntype=sysctl\nenabled=0\nnet.core.y=1\n";
        let wanted = [
            "net.core.optmem_max = 8 by a",
            "net.core.rmem_max = >16777216 by a",
            "net.core.wmem_max = <7 by a",
            "net.ipv4.tcp_rmem = 4096 131072 16777216 by a",
        ];
        assert_eq!(told("a", &[("etc/tuned/a", text)]), wanted);
    }

    #[test]
    fn a_child_may_drop_what_it_includes() {
        let base = "[sysctl]\na=1\nb=2\nc=3\n";
        let child = |options: &str| format!("[main]\ninclude=base\n[sysctl]\n{options}\nb=9\n");
        let told = |options: &str| {
            let child = child(options);
            told(
                "child",
                &[("etc/tuned/base", base), ("etc/tuned/child", &child)],
            )
        };
        assert_eq!(told("drop=a, c"), ["b = 9 by child"]);
        assert_eq!(told("replace=1"), ["b = 9 by child"]);
        assert_eq!(told("c=${x}"), ["a = 1 by base", "b = 9 by child"]);
    }

    #[test]
    fn folders_may_be_others() {
        let set = "# profile_dirs = /a\nprofile_dirs = /usr/lib/x,/etc/y/\n".to_owned();
        assert_eq!(folders(Some(set)), ["etc/y", "usr/lib/x"]);
        assert_eq!(folders(None)[0], TUNED_PROFILES[0]);
        assert_eq!(folders(None).len(), 4);
    }
}
