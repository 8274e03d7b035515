//! What `make static` builds runs without any other file.

use std::fs;
use std::path::Path;
use std::process::Command;

use nicety_port::xdp::object;
use serde_json::Value;

use crate::harness::{LONG, alone, call, lines, once, open_dir, root, static_binary};
use crate::leftovers::Before;

const PLAN: &str = r#"
name = "static"
[traffic]
frame_sizes = [512]
[search]
preset = "quick"
loss_ratio = 0.05
confirm = "1s"
[[path]]
kind = "bridge"
"#;

/// `PT_INTERP` of elf(5): the program wants a loader.
const INTERPRETER: u32 = 3;

/// Kinds of a 64-bit little-endian ELF file's program headers.
fn segments(file: &[u8]) -> Vec<u32> {
    let half = |at: usize| usize::from(u16::from_le_bytes(file[at..at + 2].try_into().unwrap()));
    let table = u64::from_le_bytes(file[32..40].try_into().unwrap()) as usize;
    let kind = |n: usize| {
        let at = table + n * half(54);
        u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
    };
    (0..half(56)).map(kind).collect()
}

#[test]
fn it_runs_alone() {
    let Some(program) = static_binary("it_runs_alone") else {
        return;
    };
    let bytes = fs::read(&program).unwrap();
    assert_eq!(bytes[..6], *b"\x7fELF\x02\x01");
    assert!(!segments(&bytes).contains(&INTERPRETER));
    if let Ok(ldd) = Command::new("ldd").arg(&program).output() {
        let told = String::from_utf8([ldd.stdout, ldd.stderr].concat()).unwrap();
        let none = ["statically linked", "not a dynamic executable"];
        assert!(none.iter().any(|words| told.contains(words)), "{told}");
    }
    // For an ordinary user, wherever the target directory lies.
    let dir = open_dir();
    fs::copy(&program, dir.path().join("nicety")).unwrap();
    let version = concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n");
    if root() {
        // Nothing else is there: no library, no /proc.
        let ended = call(Path::new("/nicety"), ["--version"])
            .below(["chroot".as_ref(), dir.path()])
            .run();
        assert_eq!(ended.assert_code(0).stdout, version);
    }
    let program = dir.path().join("nicety");
    let ended = call(&program, ["--version"]).run();
    assert_eq!(ended.assert_code(0).stdout, version);
}

#[test]
fn it_probes_and_measures() {
    let _alone = alone();
    if !once("it_probes_and_measures") {
        return;
    }
    let Some(program) = static_binary("it_probes_and_measures") else {
        return;
    };
    let dir = open_dir();
    let copy = dir.path().join("nicety");
    fs::copy(&program, &copy).unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let before = Before::now(dir.path());
    let ended = call(&copy, ["probe", "--json"]).run();
    let probe: Value = serde_json::from_str(&ended.assert_code(0).stdout).unwrap();
    let abilities = probe["abilities"].as_array().unwrap();
    let of = |name: &str| abilities.iter().find(|one| one["name"] == name).unwrap();
    assert_eq!(of("bridge")["answer"], "yes", "{probe}");
    // The BPF programs are inside, as they are in the program under test.
    let finding = of("xdp")["finding"].as_str().unwrap();
    let inside = !finding.contains("not built in");
    assert_eq!(inside, object::missing().is_none(), "{finding}");

    let words = ["bench", "plan.toml", "--time-box", "40s", "--out", "run"];
    let ended = call(&copy, words).dir(dir.path()).limit(LONG).run();
    assert!(matches!(ended.code(), 0 | 1), "{ended:?}");
    assert!(dir.path().join("run/report.html").is_file());
    let trials = lines(&dir.path().join("run/trials.jsonl"));
    let received = |trial: &Value| trial["frames"]["received"].as_u64();
    assert!(
        trials.iter().any(|trial| received(trial) > Some(0)),
        "{ended:?}"
    );
    before.check();
}
