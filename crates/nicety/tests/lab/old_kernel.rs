//! The program, which is static, on the oldest kernel it is for: Debian 11's Linux 5.10, with no file
//! beside it that a distribution would bring. `make lab-kernels` runs it on those of Debian 12 and 13 too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nicety_guests::initramfs::{Archive, segments};
use nicety_guests::{Accelerator, Bundle, Machine, MachineSpec};
use serde_json::Value;

use crate::harness::{NICETY, is_static, open_dir, skip};
use crate::leftovers::Before;
use crate::{cache, can_boot, machines};

const FETCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/old-kernel.sh");
const INIT: &str = include_str!("old-kernel-init.sh");
/// In the order in which they load.
const MODULES: [&str; 4] = [
    "net/llc/llc.ko",
    "net/802/stp.ko",
    "net/bridge/bridge.ko",
    "drivers/net/veth.ko",
];

/// A kernel of Debian.
struct Old {
    /// The version of Debian that has it.
    debian: &'static str,
    /// Its series.
    series: &'static str,
    /// What a run there looks for beside throughput and latency.
    fate: &'static str,
    /// Arguments of the run.
    bench: &'static str,
}

const OLDEST: Old = Old {
    debian: "bullseye",
    series: "5.10",
    // Refused where the kernel does not take the programs.
    fate: "drops",
    bench: "--for 3m",
};
const PLAN: &str = r#"
name = "old-kernel"
[traffic]
frame_sizes = [1518]
[search]
preset = "quick"
loss_ratio = 0.3
confirm = "1s"
fate = "FATE"
[[path]]
kind = "bridge"
"#;
/// Everything that is run there takes half a minute of an emulated machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The directory with the kernel; says `SKIP` and why when it cannot be had.
fn kernel(old: &Old) -> Option<PathBuf> {
    let dir = cache().join(format!("linux-{}", old.series));
    let mut fetch = Command::new("sh");
    fetch.arg(FETCH).arg(&dir).args([old.debian, old.series]);
    let out = fetch.output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    if out.status.code() == Some(3) {
        skip(said.lines().last().unwrap_or_default());
        return None;
    }
    assert!(out.status.success(), "{said}");
    Some(dir)
}

/// A file of a package: newer ones have all below `usr`, and their modules compressed.
fn file(root: &Path, name: &str) -> Vec<u8> {
    for dir in [root.to_owned(), root.join("usr")] {
        let plain = dir.join(name);
        if plain.exists() {
            return fs::read(plain).unwrap();
        }
        let packed = dir.join(format!("{name}.xz"));
        if packed.exists() {
            let out = Command::new("xz").arg("-dc").arg(packed).output().unwrap();
            assert!(out.status.success());
            return out.stdout;
        }
    }
    panic!("there is no {name} in {}", root.display())
}

/// Modules, shell, program and what the guest does.
fn initramfs(old: &Old, kernel: &Path, release: &str) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.device("/dev/console", 0o600, 5, 1);
    let root = kernel.join("root");
    for (number, module) in MODULES.iter().enumerate() {
        let bytes = file(&root, &format!("lib/modules/{release}/kernel/{module}"));
        archive.file(&format!("/modules/{number}.ko"), 0o644, &bytes);
    }
    archive.file("/bin/busybox", 0o755, &file(&root, "bin/busybox"));
    let program = fs::read(NICETY).unwrap();
    archive.file("/bin/nicety", 0o755, segments(&program));
    let plan = PLAN.replace("FATE", old.fate);
    archive.file("/plan.toml", 0o644, plan.as_bytes());
    archive.file("/arguments", 0o644, old.bench.as_bytes());
    archive.file("/init", 0o755, INIT.as_bytes());
    archive.finish()
}

/// What a command of the guest printed, and its exit code, which the seconds since boot follow.
fn ended<'a>(said: &'a str, name: &str) -> (&'a str, i32) {
    let begin = format!("<<{name}\n");
    let from = said
        .split_once(&begin)
        .unwrap_or_else(|| panic!("no {name}: {said}"))
        .1;
    let end = format!(">>{name} ");
    let (text, rest) = from
        .split_once(&end)
        .unwrap_or_else(|| panic!("no end: {said}"));
    (
        text,
        rest.split_whitespace().next().unwrap().parse().unwrap(),
    )
}

#[test]
fn a_static_binary_on_linux_5_10() {
    if let Some((said, release)) = boot(&OLDEST) {
        check(&said, &release);
    }
}

/// Reasons since 5.17; most of them came later.
#[test]
#[ignore = "boots another kernel for two minutes: make lab-kernels"]
fn fates_on_linux_6_1() {
    fates("bookworm", "6.1");
}

/// The tracepoint has another argument since 6.11.
#[test]
#[ignore = "boots another kernel for two minutes: make lab-kernels"]
fn fates_on_linux_6_12() {
    fates("trixie", "6.12");
}

/// Drops are told by function and reason, sockets' packets are followed, and frames tell how long they are where.
fn fates(debian: &'static str, series: &'static str) {
    let old = Old {
        debian,
        series,
        fate: "hops",
        bench: "--engine af_packet --for 90s",
    };
    let Some((said, _)) = boot(&old) else {
        return;
    };
    let (run, code) = ended(&said, "bench");
    assert!([0, 1].contains(&code), "{run}");
    let run: Value = serde_json::from_str(run).unwrap();
    let place = no_socket(&said);
    assert_eq!(place["reason"], "NO_SOCKET");
    let (packet, code) = ended(&said, "follow");
    let packet: Value = serde_json::from_str(packet.lines().last().unwrap()).unwrap();
    assert_eq!(code, 0);
    assert_eq!(packet["end"]["cause"]["reason"], "NO_SOCKET", "{packet}");
    let hops = of_fates(&run, |fate| fate["hops"].clone());
    // An emulated machine sends few.
    let many = |hops: &&Value| hops["frames"].as_u64() > Some(10);
    let hops = hops.iter().find(many).unwrap_or_else(|| panic!("{run}"));
    let [frames, summed] = ["frames", "summed"].map(|of| hops[of].as_u64().unwrap());
    assert!(summed * 100 >= frames * 99, "{hops}");
}

/// Something of every trial of fates.
fn of_fates(run: &Value, what: impl Fn(&Value) -> Value) -> Vec<Value> {
    let cells = run["visits"].as_array().into_iter().flatten();
    let fates = cells.flat_map(|cell| cell["fates"].as_array().into_iter().flatten());
    fates.map(what).collect()
}

/// The place where packets are dropped for which there is no socket.
fn no_socket(said: &str) -> Value {
    let (drops, code) = ended(said, "drops");
    assert_eq!(code, 0, "{drops}");
    let drops: Value = serde_json::from_str(drops).unwrap();
    let owners = drops["owners"].as_array().into_iter().flatten();
    let mut places = owners.flat_map(|owner| owner["places"].as_array().into_iter().flatten());
    let place = places.find(|place| place["function"] == "tcp_v4_rcv");
    place.unwrap_or_else(|| panic!("{drops}")).clone()
}

/// What the commands in the guest print, and the kernel's release; says `SKIP` and why where there is none.
fn boot(old: &Old) -> Option<(String, String)> {
    if !is_static() || !can_boot() {
        return None;
    }
    let kernel = kernel(old)?;
    let dir = open_dir();
    let before = Before::now(dir.path());
    let release = fs::read_to_string(kernel.join("release")).unwrap();
    let release = release.trim();
    let (archive, report) = (dir.path().join("initramfs"), dir.path().join("said"));
    fs::write(&archive, initramfs(old, &kernel, release)).unwrap();
    let image = kernel.join("root/boot").join(format!("vmlinuz-{release}"));
    let bundle = Bundle::cached(&cache()).unwrap().unwrap();
    let words = [
        "-machine",
        "q35",
        "-bios",
        "qboot.rom",
        "-m",
        "768",
        "-smp",
        "2",
    ];
    let mut arguments: Vec<_> = Accelerator::Tcg(None).arguments().map(Into::into).to_vec();
    arguments.extend(words.map(Into::into));
    for (option, file) in [("-kernel", &image), ("-initrd", &archive)] {
        arguments.extend([option.into(), file.clone().into_os_string()]);
    }
    arguments.extend(["-append", "console=ttyS0 loglevel=4 panic=-1"].map(Into::into));
    // The second serial port carries what the commands print, apart from the kernel's words.
    let port = format!("file:{}", report.display());
    arguments.extend(["-serial", &port].map(Into::into));
    let name = format!("Linux {}", old.series);
    let spec = MachineSpec {
        name: name.clone(),
        arguments,
        inherit: Vec::new(),
        left_in: None,
        ns: None,
    };
    let mut machine = Machine::start(&bundle.emulator, spec).unwrap();
    let end = Instant::now() + LIMIT;
    while machine.ended().unwrap().is_none() {
        let console = machine.console();
        assert!(Instant::now() < end, "still running: {console:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    machine.finish_console();
    let said = fs::read_to_string(&report).unwrap().replace('\r', "");
    println!("{said}");
    before.check();
    assert_eq!(machines(&name, std::process::id() as i32), [0; 0]);
    Some((said, release.to_owned()))
}

fn check(said: &str, release: &str) {
    let json = |name: &str, codes: &[i32]| -> Value {
        let (text, code) = ended(said, name);
        assert!(codes.contains(&code), "{name} ended with {code}: {text}");
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
    };
    let version = concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(ended(said, "version"), (version, 0));
    // How fast an emulated machine is, and so what its self-checks come to, is not asked.
    let probe = json("probe", &[0, 1]);
    let abilities = probe["abilities"].as_array().unwrap();
    let of = |name: &str| abilities.iter().find(|one| one["name"] == name).unwrap();
    for path in ["bridge", "vlan-bridge, filtering"] {
        assert_eq!(of(path)["answer"], "yes", "{probe}");
    }
    let sent = of("af_packet")["finding"].as_str().unwrap();
    assert!(sent.contains("frames"), "{probe}");
    let finding = of("xdp")["finding"].as_str().unwrap();
    assert!(finding.contains("Linux 5.18"), "{probe}");
    let facts = json("inspect", &[0]);
    assert!(facts.to_string().contains(release), "{facts}");
    json("plan", &[0, 1]);
    let run = json("bench", &[0, 1]);
    assert_eq!(run["run"]["host"]["kernel"], release);
    let of_bridge = |cell: &Value| cell["path"]["kind"] == "bridge";
    assert!(
        run["visits"].as_array().unwrap().iter().any(of_bridge),
        "{run}"
    );
    // This kernel tells places and no reasons.
    let place = no_socket(said);
    assert!(place["reason"].is_null(), "{place}");
    let (why, code) = ended(said, "follow");
    assert!(
        code == 3 && why.contains("run Linux 5.12 or later"),
        "{why}"
    );
    let (carried, code) = ended(said, "carried");
    assert!(
        code == 0 && carried.trim().parse::<u32>().unwrap() > 0,
        "{carried}"
    );
}
