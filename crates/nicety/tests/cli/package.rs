//! The Debian package: built of the binary under test, installed, run and removed in a root of
//! its own.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{NICETY, skip};

pub const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Runs a program to its end, which must be a good one.
pub fn run(command: &mut Command) -> String {
    let out = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&out.stdout).into_owned();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{command:?}: {told}{said}");
    told
}

/// Everything below a directory.
fn below(dir: &Path) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            all.extend(below(&path));
        }
        all.insert(path);
    }
    all
}

/// `dpkg` for a root without anything in it, also as an ordinary user.
fn dpkg(root: &Path, words: &[&str]) -> String {
    let mut command = Command::new("dpkg");
    command
        .arg(format!("--root={}", root.display()))
        .args([
            "--force-not-root",
            "--force-script-chrootless",
            "--force-depends",
            "--force-bad-path",
        ])
        .arg("--log=/dev/null")
        .args(words);
    run(&mut command)
}

#[test]
fn the_package_installs_runs_and_goes() {
    let tools = ["dpkg-deb", "readelf", "strip", "gzip"];
    let missing = tools
        .iter()
        .find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        skip(format_args!(
            "no {tool} here; on Debian: apt-get install dpkg binutils gzip"
        ));
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = format!("{REPOSITORY}/scripts/deb.sh");
    let out = dir.path().to_str().unwrap();
    let mut deb = Command::new(script);
    deb.args(["--binary", NICETY, "--out", out]);
    // How small it gets is not what is tried.
    deb.env("DPKG_DEB_COMPRESSOR_LEVEL", "0");
    let package = run(&mut deb);
    let package = package.trim_end();
    assert!(package.ends_with(".deb"), "{package}");

    let root = dir.path().join("root");
    fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
    fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    fs::write(root.join("var/lib/dpkg/available"), "").unwrap();
    let before = below(&root);
    dpkg(&root, &["--install", package]);

    let program = root.join("usr/bin/nicety");
    let version = run(Command::new(&program).arg("--version"));
    assert_eq!(version, concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n"));
    let share = root.join("usr/share");
    for file in [
        "man/man1/nicety.1.gz",
        "man/man1/nicety-bench.1.gz",
        "man/man1/nicety-police-run.1.gz",
        "bash-completion/completions/nicety",
        "zsh/vendor-completions/_nicety",
        "fish/vendor_completions.d/nicety.fish",
        "doc/nicety/plans/bridge-default.toml",
        "doc/nicety/copyright",
        "doc/nicety/guide/monitor.md",
        "nicety/alerts/nicety.rules.yml",
        "nicety/alerts/alertmanager.yml",
        "nicety/dashboards/police.json",
        "nicety/libvirt/qemu.d/nicety",
        "doc/nicety/kubernetes/nicety-police.yaml",
    ] {
        assert!(share.join(file).is_file(), "{file}");
    }
    assert!(
        root.join("usr/lib/systemd/system/nicety-police.service")
            .is_file()
    );
    let hook = root.join("etc/libvirt/hooks/qemu.d/nicety");
    let mode = fs::metadata(&hook).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    // No page of what is hidden.
    assert!(!share.join("man/man1/nicety-guest-init.1.gz").exists());

    dpkg(&root, &["--purge", "nicety"]);
    let own = |path: &PathBuf| !path.starts_with(root.join("var/lib/dpkg"));
    let left: Vec<PathBuf> = below(&root)
        .difference(&before)
        .filter(|path| own(path))
        .cloned()
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn manual_pages_and_completions_are_those_of_the_commands() {
    let dir = tempfile::tempdir().unwrap();
    let pages = dir.path().join("man");
    run(Command::new(NICETY).arg("man").arg(&pages));
    let page = fs::read_to_string(pages.join("nicety-runs-trend.1")).unwrap();
    assert!(page.contains("nicety runs trend"), "{page}");
    assert!(page.contains("\\-\\-metric"), "{page}");
    for (shell, word) in [
        ("bash", "_nicety"),
        ("zsh", "#compdef nicety"),
        ("fish", "complete -c nicety"),
    ] {
        let text = run(Command::new(NICETY).args(["completions", shell]));
        assert!(text.contains(word), "{shell}");
        assert!(text.contains("bench") && text.contains("probe"), "{shell}");
    }
    // A shell accepts what is written for it.
    let bash = dir.path().join("completions");
    fs::write(
        &bash,
        run(Command::new(NICETY).args(["completions", "bash"])),
    )
    .unwrap();
    run(Command::new("bash").arg("-n").arg(&bash));
}

#[test]
fn the_unit_the_package_and_the_playbook_name_one_policy() {
    let text = |path: &str| {
        let path = Path::new(REPOSITORY).join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let unit = text("packaging/nicety-police.service");
    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart=/usr/bin/nicety police run "))
        .unwrap();
    let policy = start.split(' ').next().unwrap();
    assert_eq!(policy, "/etc/nicety/policy.toml");
    for (path, part) in [
        (
            "packaging/ansible/plugins/modules/nicety_police.py",
            format!("default: {policy}\n"),
        ),
        (
            "packaging/ansible/plugins/modules/nicety_police.py",
            format!("\"default\": \"{policy}\"}}"),
        ),
        (
            "packaging/examples/policy.toml",
            format!("copy it to {policy}."),
        ),
        (
            "packaging/kubernetes/nicety-police.yaml",
            format!("- {policy}\n"),
        ),
        (
            "docs/guide/fleet.md",
            format!("`{policy}`, which the unit reads"),
        ),
    ] {
        assert!(text(path).contains(&part), "{path} lacks {part:?}");
    }
    // No page, playbook or package names another one.
    for dir in ["packaging", "docs"] {
        for path in below(&Path::new(REPOSITORY).join(dir)) {
            let named = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                !named.contains("/etc/nicety/police.toml"),
                "{}",
                path.display()
            );
        }
    }
}

/// A capability of a program is one of all who can run it.
#[test]
fn capabilities_go_to_copies_that_a_group_alone_can_run() {
    for name in below(&Path::new(REPOSITORY).join("docs")) {
        let page = fs::read_to_string(&name).unwrap_or_default();
        let lines: Vec<&str> = page.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(words) = line.strip_prefix("$ setcap ") else {
                continue;
            };
            let copy = words.rsplit(' ').next().unwrap();
            let made = at.checked_sub(1).map_or("", |before| lines[before]);
            let is_closed = made.starts_with("$ install -o root -g ") && made.contains(" -m 0750 ");
            assert!(
                is_closed && made.ends_with(copy),
                "{}: {line}",
                name.display()
            );
        }
    }
    let drops = include_str!("../../src/drops.rs");
    assert!(!drops.contains("setcap"), "drops advises setcap");
}
