//! QEMU's command line, as far as it tells of CPUs and network (qemu(1)).

use nicety_model::facts::VmNic;

/// Options that are kept; all others may hold secrets, paths and addresses.
const KEPT: [&str; 10] = [
    "-name", "-smp", "-m", "-accel", "-machine", "-M", "-netdev", "-nic", "-device", "-net",
];

/// Keys within them that are kept.
const KEYS: [&str; 21] = [
    "guest", "accel", "id", "vhost", "vhostfd", "vhostfds", "queues", "fds", "fd", "ifname",
    "netdev", "mq", "vectors", "host", "cpus", "sockets", "cores", "threads", "model", "driver",
    "type",
];

/// What a command line tells.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Arguments {
    pub(super) name: Option<String>,
    pub(super) kvm: Option<bool>,
    pub(super) nics: Vec<VmNic>,
}

/// The command line with nothing but what [`Arguments`] understands. NULs separate words.
pub(super) fn public(cmdline: &str) -> String {
    let mut words = cmdline.split('\0');
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut kept = vec![program.to_owned()];
    while let Some(word) = words.next() {
        if word == "-enable-kvm" {
            kept.push(word.to_owned());
        } else if KEPT.contains(&word) {
            let value = words.next().unwrap_or_default();
            kept.push(word.to_owned());
            kept.push(public_value(value));
        }
    }
    kept.join("\0")
}

fn public_value(value: &str) -> String {
    if value.starts_with('{') {
        return public_json(value);
    }
    let parts = value.split(',').enumerate().filter(|(index, part)| {
        match part.split_once('=') {
            Some((key, _)) => KEYS.contains(&key),
            // The first word without a key is the kind of thing.
            None => *index == 0,
        }
    });
    parts.map(|(_, part)| part).collect::<Vec<_>>().join(",")
}

/// libvirt writes devices as JSON objects; they become `driver,key=value`.
fn public_json(text: &str) -> String {
    let Ok(serde_json::Value::Object(map)) = serde_json::from_str(text) else {
        return String::new();
    };
    let value = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let kind = ["driver", "type"].iter().find_map(|key| map.get(*key));
    let mut parts: Vec<String> = kind.map(&value).into_iter().collect();
    for (key, option) in &map {
        if KEYS.contains(&key.as_str()) && !["driver", "type"].contains(&key.as_str()) {
            parts.push(format!("{key}={}", value(option).replace(',', ":")));
        }
    }
    parts.join(",")
}

impl Arguments {
    /// Reads what [`public`] leaves.
    pub(super) fn parse(cmdline: &str) -> Self {
        let mut arguments = Self::default();
        let mut models: Vec<(String, String)> = Vec::new();
        let mut backends: Vec<(String, VmNic)> = Vec::new();
        let mut words = cmdline.split('\0').skip(1);
        while let Some(word) = words.next() {
            if word == "-enable-kvm" {
                arguments.kvm = Some(true);
                continue;
            }
            let value = words.next().unwrap_or_default();
            let key = |key: &str| part(value, key);
            let kind = value.split(',').next().unwrap_or_default();
            match word {
                "-name" => arguments.name = key("guest").or_else(|| Some(kind.to_owned())),
                "-accel" => arguments.kvm = Some(kind == "kvm"),
                "-machine" | "-M" => {
                    arguments.kvm = key("accel")
                        .map(|accel| accel.contains("kvm"))
                        .or(arguments.kvm);
                }
                "-netdev" | "-nic" => backends.push((key("id").unwrap_or_default(), nic(value))),
                "-device" if kind.starts_with("vfio-pci") => {
                    arguments.nics.push(VmNic {
                        backend: "vfio".to_owned(),
                        interface: key("host"),
                        ..VmNic::default()
                    });
                }
                "-device" => {
                    if let Some(netdev) = key("netdev") {
                        models.push((netdev, kind.to_owned()));
                    }
                }
                _ => {}
            }
        }
        for (id, mut nic) in backends {
            let model = models.iter().find(|(netdev, _)| *netdev == id);
            nic.model = model.map(|(_, model)| model.clone()).or(nic.model);
            arguments.nics.push(nic);
        }
        arguments
    }
}

fn nic(value: &str) -> VmNic {
    let kind = value.split(',').next().unwrap_or_default();
    let fds = |key: &str| part(value, key).map(|list| list.split(':').count() as u32);
    let vhost = match part(value, "vhost").as_deref() {
        Some(word) => Some(matches!(word, "on" | "true")),
        None if part(value, "vhostfd").is_some() || part(value, "vhostfds").is_some() => Some(true),
        None => (kind == "tap").then_some(false),
    };
    VmNic {
        backend: kind.to_owned(),
        interface: part(value, "ifname"),
        vhost,
        queues: part(value, "queues")
            .and_then(|text| text.parse().ok())
            .or_else(|| fds("fds")),
        model: part(value, "model"),
    }
}

/// Value of `key=` in a comma separated option.
fn part(value: &str, key: &str) -> Option<String> {
    let parts = value.split(',').filter_map(|part| part.split_once('='));
    let mut values = parts.filter(|(name, _)| *name == key);
    values.next().map(|(_, value)| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_keeps_the_network_and_loses_the_rest() {
        let words = [
            "/usr/bin/qemu-system-x86_64",
            "-name",
            "guest=web,debug-threads=on",
            "-object",
            "secret,id=s,data=hunter2",
            "-machine",
            "pc-q35,accel=kvm",
            "-drive",
            "file=/secret/disk",
            "-netdev",
            "{\"type\":\"tap\",\"fds\":\"30:31\",\"vhost\":true,\"vhostfds\":\"32:33\",\"id\":\"n0\"}",
            "-device",
            "{\"driver\":\"virtio-net-pci\",\"mq\":true,\"netdev\":\"n0\",\"mac\":\"52:54:00:00:00:01\"}",
            "-netdev",
            "tap,id=n1,ifname=tap7,vhost=off,script=/etc/x",
            "-device",
            "e1000,netdev=n1,mac=52:54:00:00:00:02",
            "-device",
            "vfio-pci,host=0000:01:10.0",
        ];
        let text = public(&words.join("\0"));
        for secret in ["hunter2", "/secret", "52:54", "/etc/x", "/usr/bin"] {
            assert!(!text.contains(secret), "{text:?}");
        }
        assert_eq!(public(&text), text, "a record of a record is the same");
        let arguments = Arguments::parse(&text);
        assert_eq!(arguments.name.as_deref(), Some("web"));
        assert_eq!(arguments.kvm, Some(true));
        let nic = |backend: &str, vhost, queues, model: Option<&str>| VmNic {
            backend: backend.to_owned(),
            interface: None,
            vhost,
            queues,
            model: model.map(str::to_owned),
        };
        assert_eq!(
            arguments.nics,
            [
                VmNic {
                    interface: Some("0000:01:10.0".to_owned()),
                    ..nic("vfio", None, None, None)
                },
                nic("tap", Some(true), Some(2), Some("virtio-net-pci")),
                VmNic {
                    interface: Some("tap7".to_owned()),
                    ..nic("tap", Some(false), None, Some("e1000"))
                },
            ]
        );
    }
}
