//! QEMU's command line, as far as it tells of CPUs and network (qemu(1)).

use nicety_model::facts::VmNic;

use super::qemu_options::Options;
use super::qemu_setting::Setting;

/// Options that are kept, each with the key its first value may go without and the keys that are
/// kept; all others may hold secrets, paths and addresses.
const KEPT: [(&str, &str, &[&str]); 10] = [
    ("-name", "guest", &["guest"]),
    ("-smp", "cpus", &["cpus", "sockets", "cores", "threads"]),
    ("-m", "size", &["size"]),
    ("-accel", "accel", &["accel"]),
    ("-machine", "type", &["type", "accel"]),
    ("-M", "type", &["type", "accel"]),
    ("-netdev", "type", NETDEV),
    ("-nic", "type", NETDEV),
    ("-net", "type", NETDEV),
    ("-device", "driver", DEVICE),
];
pub(super) const NETDEV: &[&str] = &[
    "type",
    "id",
    "ifname",
    "fd",
    "fds",
    "vhost",
    "vhostfd",
    "vhostfds",
    "vhostforce",
    "queues",
    "br",
    "vnet_hdr",
    "model",
    "netdev",
    "vectors",
];
pub(super) const DEVICE: &[&str] = &[
    "driver",
    "id",
    "netdev",
    "mq",
    "vectors",
    "host",
    "sysfsdev",
    "rx_queue_size",
    "tx_queue_size",
    "packed",
    "iommu_platform",
];
/// Properties of virtio-net that offer offloads (hw/net/virtio-net.c, `virtio_net_properties`).
pub(super) const OFFLOADS: [&str; 16] = [
    "csum",
    "gso",
    "guest_csum",
    "guest_tso4",
    "guest_tso6",
    "guest_ecn",
    "guest_ufo",
    "guest_uso4",
    "guest_uso6",
    "guest_rsc_ext",
    "host_tso4",
    "host_tso6",
    "host_ecn",
    "host_ufo",
    "host_uso",
    "mrg_rxbuf",
];
/// The bridge of `-netdev bridge` (net/net.c, `DEFAULT_BRIDGE_INTERFACE`).
const BRIDGE: &str = "br0";

/// What a command line tells.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Arguments {
    pub(super) name: Option<String>,
    pub(super) kvm: Option<bool>,
    pub(super) nics: Vec<Nic>,
}

/// A NIC, and the open files of its tap.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Nic {
    pub(super) facts: VmNic,
    pub(super) files: Vec<u32>,
}

/// The command line with nothing but what [`Arguments`] understands. NULs separate words.
pub(super) fn public(cmdline: &str) -> String {
    let mut words = cmdline.split('\0');
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut kept = vec![program.to_owned()];
    while let Some(word) = words.next() {
        let option = plain(word);
        if option == "-enable-kvm" {
            kept.push(option.to_owned());
        } else if let Some((_, implied, keys)) = known(option) {
            let value = Options::parse(words.next().unwrap_or_default(), implied);
            let value = value.filtered(|key, value| public_value(option, keys, key, value));
            kept.extend([option.to_owned(), value.text(implied)]);
        } else if let Some(set) = Setting::read(option, || words.next()) {
            kept.extend([option.to_owned(), set.text()]);
        }
    }
    kept.join("\0")
}

/// Options have one dash or two (softmmu/vl.c, `lookup_opt`).
fn plain(word: &str) -> &str {
    word.strip_prefix('-')
        .filter(|rest| rest.starts_with('-'))
        .unwrap_or(word)
}

fn known(option: &str) -> Option<(&'static str, &'static str, &'static [&'static str])> {
    KEPT.into_iter().find(|(name, _, _)| *name == option)
}

fn public_value(option: &str, keys: &[&str], key: &str, value: &str) -> Option<String> {
    let offload = option == "-device" && OFFLOADS.contains(&key);
    match key {
        // Of another device these are names and addresses of something else.
        "host" | "sysfsdev" if keys.contains(&key) => pci_address(value),
        _ => (offload || keys.contains(&key)).then(|| value.to_owned()),
    }
}

/// `0000:01:10.0`, of an address without its domain and of a path in sysfs too.
pub(super) fn pci_address(text: &str) -> Option<String> {
    let name = text.trim_end_matches('/').rsplit('/').next()?;
    let (bus, function) = name.rsplit_once('.')?;
    let mut parts = bus.rsplit(':');
    let (device, bus) = (parts.next()?, parts.next()?);
    let domain = parts.next().unwrap_or("0000");
    let hex = |text: &str, most| {
        (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let whole = parts.next().is_none()
        && hex(domain, 8)
        && hex(bus, 2)
        && hex(device, 2)
        && hex(function, 1);
    whole.then(|| format!("{domain:0>4}:{bus:0>2}:{device:0>2}.{function}").to_ascii_lowercase())
}

impl Arguments {
    /// Reads what [`public`] leaves.
    pub(super) fn parse(cmdline: &str) -> Self {
        let line = Line::parse(cmdline);
        let mut arguments = Self {
            kvm: line.kvm,
            ..Self::default()
        };
        for (_, options) in line.of(&["-name"]) {
            arguments.name = options.get("guest").map(str::to_owned);
        }
        arguments.nics = line.nics();
        arguments
    }
}

/// The options of a command line, in order.
#[derive(Debug, Default)]
struct Line {
    options: Vec<(&'static str, Options)>,
    settings: Vec<Setting>,
    kvm: Option<bool>,
}

impl Line {
    fn parse(cmdline: &str) -> Self {
        let mut line = Self::default();
        let mut words = cmdline.split('\0');
        let program = words.next().unwrap_or_default();
        while let Some(word) = words.next() {
            let option = plain(word);
            if option == "-enable-kvm" {
                line.kvm = Some(true);
            } else if let Some((name, implied, _)) = known(option) {
                let value = words.next().unwrap_or_default();
                line.options.push((name, Options::parse(value, implied)));
            } else {
                line.settings.extend(Setting::read(option, || words.next()));
            }
        }
        // The first of several counts; without any the program's name does (softmmu/vl.c,
        // `configure_accelerators`).
        let chosen = line
            .of(&["-accel", "-machine", "-M"])
            .find_map(|(_, options)| options.get("accel"))
            .map(|accel| accel.starts_with("kvm"));
        let by_name = program.ends_with("kvm").then_some(true);
        line.kvm = line.kvm.or(chosen).or(by_name);
        line
    }

    fn of(&self, names: &'static [&str]) -> impl Iterator<Item = &(&'static str, Options)> {
        let options = self.options.iter();
        options.filter(move |(name, _)| names.contains(name))
    }

    /// An option as settings elsewhere on the line leave it.
    fn set(&self, group: &str, options: &Options) -> Options {
        let mut options = options.clone();
        for setting in &self.settings {
            setting.apply(group, &mut options);
        }
        options
    }

    fn nics(&self) -> Vec<Nic> {
        let devices: Vec<Options> = self.of(&["-device"]).map(|(_, o)| o.clone()).collect();
        // `-net nic,netdev=ID` is a device too.
        let (cards, hub): (Vec<_>, Vec<_>) = self
            .of(&["-net"])
            .map(|(_, options)| options.clone())
            .partition(|options| options.get("type") == Some("nic"));
        let (cards, on_hub): (Vec<_>, Vec<_>) = cards
            .into_iter()
            .partition(|card| card.get("netdev").is_some());
        let devices: Vec<Options> = devices.into_iter().chain(cards).collect();
        let mut nics: Vec<Nic> = devices.iter().filter_map(passed_through).collect();
        for (option, options) in self.of(&["-netdev", "-nic"]) {
            let options = self.set("netdev", options);
            let mut nic = backend(&options);
            let id = options.get("id");
            let own = devices
                .iter()
                .find(|device| id.is_some() && device.get("netdev") == id);
            if let Some(device) = own.or((*option == "-nic").then_some(&options)) {
                front(&mut nic.facts, &self.set("device", device));
            }
            nics.push(nic);
        }
        nics.extend(hub.iter().map(|options| on_a_hub(options, &on_hub)));
        nics.retain(|nic| !["", "none", "help"].contains(&nic.facts.backend.as_str()));
        nics
    }
}

/// A function of a NIC, or of anything else, that the guest drives.
fn passed_through(device: &Options) -> Option<Nic> {
    let driver = device.get("driver")?;
    let address = device.get("host").or(device.get("sysfsdev"))?;
    let facts = VmNic {
        backend: "vfio".to_owned(),
        interface: Some(pci_address(address)?),
        ..VmNic::default()
    };
    let files = Vec::new();
    driver
        .starts_with("vfio-pci")
        .then_some(Nic { facts, files })
}

/// `-net tap` and `-net nic` meet on a hub, which vhost cannot pass (hw/net/vhost_net.c,
/// `get_vhost_net`).
fn on_a_hub(options: &Options, cards: &[Options]) -> Nic {
    let mut nic = backend(options);
    nic.facts.vhost = nic.facts.vhost.map(|_| false);
    nic.facts.queues = None;
    if let [card] = cards {
        front(&mut nic.facts, card);
    }
    nic
}

/// The host's side.
fn backend(options: &Options) -> Nic {
    let kind = options.get("type").unwrap_or_default();
    let list = options.get("fds").or(options.get("fd"));
    let files = list.into_iter().flat_map(|list| list.split(':'));
    let fds = options
        .get("fds")
        .map(|list| list.split(':').count() as u32);
    let bridge = match kind {
        "bridge" => options.get("br").or(Some(BRIDGE)),
        _ => options.get("br"),
    };
    // `tap%d` is a pattern: the kernel gave the name.
    let interface = options.get("ifname").filter(|name| !name.contains('%'));
    Nic {
        files: files.filter_map(|fd| fd.parse().ok()).collect(),
        facts: VmNic {
            backend: kind.to_owned(),
            interface: interface.map(str::to_owned),
            bridge: bridge.map(str::to_owned),
            vhost: vhost(kind, options),
            queues: options.number("queues").or(fds),
            offloads_off: off(&["vnet_hdr"], options),
            ..VmNic::default()
        },
    }
}

/// Whether the kernel moves the frames of a tap (net/tap.c, `net_init_tap_one`).
fn vhost(kind: &str, options: &Options) -> Option<bool> {
    let given = ["vhostfd", "vhostfds"]
        .iter()
        .any(|key| options.get(key).is_some());
    match kind {
        "tap" => Some(
            options
                .on("vhost")
                .unwrap_or(given || options.on("vhostforce") == Some(true)),
        ),
        "bridge" => Some(false),
        _ => options.on("vhost"),
    }
}

/// The guest's side.
fn front(nic: &mut VmNic, device: &Options) {
    let model = device.get("driver").or(device.get("model"));
    nic.model = model.map(|model| match model {
        // Other names of it (system/qdev-monitor.c, `qdev_alias_table`; net/net.c).
        "virtio" | "virtio-net" => "virtio-net-pci".to_owned(),
        model => model.to_owned(),
    });
    nic.vectors = device.number("vectors");
    if nic.is_virtio() == Some(true) {
        nic.mq = Some(device.on("mq").unwrap_or(false));
        nic.rx_queue_size = device.number("rx_queue_size");
        nic.tx_queue_size = device.number("tx_queue_size");
        nic.packed = device.on("packed");
        nic.iommu_platform = device.on("iommu_platform");
        nic.offloads_off.extend(off(&OFFLOADS, device));
    }
}

/// Which of these switches are off.
fn off(names: &[&str], options: &Options) -> Vec<String> {
    let names = names.iter().filter(|name| options.on(name) == Some(false));
    names.map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
#[path = "vm_args/tests.rs"]
mod tests;
