//! What `make static` builds, on the oldest kernel it is for: Debian 11's Linux 5.10, with no file
//! beside it that a distribution would bring.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use nicety_guests::initramfs::{Archive, segments};
use nicety_guests::{Accelerator, Bundle, Machine, MachineSpec};
use serde_json::Value;

use crate::harness::{alone, once, open_dir, static_binary};
use crate::{cache, can_boot, machine_state, machines};

const FETCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lab/old-kernel.sh");
const INIT: &str = include_str!("old-kernel-init.sh");
/// In the order in which they load.
const MODULES: [&str; 4] = [
    "net/llc/llc.ko",
    "net/802/stp.ko",
    "net/bridge/bridge.ko",
    "drivers/net/veth.ko",
];
const PLAN: &str = r#"
name = "old-kernel"
[traffic]
frame_sizes = [1518]
[search]
preset = "quick"
loss_ratio = 0.3
confirm = "1s"
[[path]]
kind = "bridge"
"#;
/// Everything that is run there takes half a minute of an emulated machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The directory with the kernel; says `SKIP` and why when it cannot be had.
fn kernel(test: &str) -> Option<PathBuf> {
    let dir = cache().join("linux-5.10");
    let out = Command::new("sh").arg(FETCH).arg(&dir).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    if out.status.code() == Some(3) {
        println!("SKIP {test}: {}", said.lines().last().unwrap_or_default());
        return None;
    }
    assert!(out.status.success(), "{said}");
    Some(dir)
}

/// Modules, shell, program and what the guest does.
fn initramfs(kernel: &Path, release: &str, program: &Path) -> Vec<u8> {
    let mut archive = Archive::default();
    archive.device("/dev/console", 0o600, 5, 1);
    let root = kernel.join("root");
    let modules = root.join("lib/modules").join(release).join("kernel");
    for (number, module) in MODULES.iter().enumerate() {
        let bytes = fs::read(modules.join(module)).unwrap();
        archive.file(&format!("/modules/{number}.ko"), 0o644, &bytes);
    }
    let shell = fs::read(root.join("bin/busybox")).unwrap();
    archive.file("/bin/busybox", 0o755, &shell);
    let program = fs::read(program).unwrap();
    archive.file("/bin/nicety", 0o755, segments(&program));
    archive.file("/plan.toml", 0o644, PLAN.as_bytes());
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
    let _alone = alone();
    let test = "a_static_binary_on_linux_5_10";
    if !once(test) {
        return;
    }
    let Some(program) = static_binary(test) else {
        return;
    };
    if !can_boot(test) {
        return;
    }
    let Some(kernel) = kernel(test) else {
        return;
    };
    let before = machine_state();
    let dir = open_dir();
    let release = fs::read_to_string(kernel.join("release")).unwrap();
    let release = release.trim();
    let (archive, report) = (dir.path().join("initramfs"), dir.path().join("said"));
    fs::write(&archive, initramfs(&kernel, release, &program)).unwrap();
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
    let spec = MachineSpec {
        name: "Linux 5.10".into(),
        arguments,
        inherit: Vec::new(),
        left_in: None,
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
    check(&said, release);
    assert_eq!(machine_state(), before);
    assert_eq!(machines("Linux 5.10", std::process::id() as i32), [0; 0]);
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
        run["cells"].as_array().unwrap().iter().any(of_bridge),
        "{run}"
    );
    let (carried, code) = ended(said, "carried");
    assert!(
        code == 0 && carried.trim().parse::<u32>().unwrap() > 0,
        "{carried}"
    );
}
