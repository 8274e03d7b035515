//! The other ways to hand nicety out: a container and an image for systemd-sysext.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::exports::has;
use crate::harness::{NICETY, root, static_binary};
use crate::package::{REPOSITORY, run};

/// Built of the static program alone, without a network, and started.
#[test]
fn a_container_of_the_static_program_starts() {
    let test = "a_container_of_the_static_program_starts";
    if !root() || !has("buildah") {
        println!("SKIP {test}: it needs root and buildah; on Debian: apt-get install buildah");
        return;
    }
    let Some(program) = static_binary(test) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let context = dir.path().join("context");
    fs::create_dir(&context).unwrap();
    fs::copy(program, context.join("nicety")).unwrap();
    // Whatever else is kept on this machine stays as it is.
    let buildah = |words: &[&str]| {
        let mut buildah = Command::new("buildah");
        buildah.args(["--storage-driver", "vfs", "--root"]);
        buildah.arg(dir.path().join("root"));
        buildah.arg("--runroot").arg(dir.path().join("run"));
        run(buildah.args(words))
    };
    let recipe = format!("{REPOSITORY}/packaging/Containerfile");
    let context = context.to_str().unwrap();
    let image = "localhost/nicety";
    buildah(&[
        "bud",
        "--isolation",
        "chroot",
        "-t",
        image,
        "-f",
        &recipe,
        context,
    ]);
    let container = buildah(&["from", image]);
    let command = [
        "run",
        "--isolation",
        "chroot",
        container.trim(),
        "--",
        "/usr/bin/nicety",
        "--version",
    ];
    let said = buildah(&command);
    assert_eq!(said, concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n"));
    buildah(&["rm", container.trim()]);
}

/// What answers for the program when it is packed: a whole one takes half a minute to compress.
const EMULATOR: &str =
    "#!/bin/sh\ncase $2 in\nman) echo page >\"$3/nicety.1\" ;;\n*) echo \"$@\" ;;\nesac\n";

/// The header of an ELF file for arm64 without any part (elf(5)), and what starts it.
fn stand_in(dir: &Path) -> [PathBuf; 2] {
    let mut header = [0; 64];
    header[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    // ET_EXEC, EM_AARCH64, EV_CURRENT; sizes of the header and of entries.
    for (at, value) in [(16, 2), (18, 183), (20, 1), (52, 64), (54, 56), (58, 64)] {
        header[at] = value;
    }
    let files = ["nicety", "emulator"].map(|name| dir.join(name));
    fs::write(&files[0], header).unwrap();
    fs::write(&files[1], EMULATOR).unwrap();
    fs::set_permissions(&files[1], fs::Permissions::from_mode(0o755)).unwrap();
    files
}

#[test]
fn a_package_of_a_static_program_asks_for_no_library() {
    let test = "a_package_of_a_static_program_asks_for_no_library";
    if !has("dpkg-deb") || !has("readelf") {
        println!("SKIP {test}: no dpkg-deb or readelf; on Debian: apt-get install dpkg binutils");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut deb = Command::new(format!("{REPOSITORY}/scripts/deb.sh"));
    let [program, emulator] = stand_in(dir.path());
    deb.args(["--architecture", "arm64", "--binary"])
        .arg(program);
    deb.arg("--emulator").arg(emulator);
    deb.arg("--out").arg(dir.path());
    let package = run(&mut deb);
    let field = |name| run(Command::new("dpkg-deb").args(["--field", package.trim_end(), name]));
    assert_eq!(field("Architecture").trim(), "arm64");
    assert_eq!(field("Depends").trim(), "");
}

#[test]
fn an_image_for_systemd_sysext_has_everything_below_usr() {
    let test = "an_image_for_systemd_sysext_has_everything_below_usr";
    if !has("mksquashfs") {
        println!("SKIP {test}: no mksquashfs here; on Debian: apt-get install squashfs-tools");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let [program, emulator] = stand_in(dir.path());
    let sysext = || {
        let mut sysext = Command::new(format!("{REPOSITORY}/scripts/sysext.sh"));
        sysext.arg("--out").arg(dir.path());
        sysext
    };
    let image = run(sysext()
        .args(["--machine", "aarch64", "--binary"])
        .arg(program)
        .arg("--emulator")
        .arg(emulator));
    assert!(image.trim_end().ends_with("nicety-arm64.raw"), "{image}");
    let listed = run(Command::new("unsquashfs")
        .args(["-l", "-d", ""])
        .arg(image.trim_end()));
    for path in [
        "/usr/bin/nicety",
        "/usr/lib/systemd/system/nicety-police.service",
        "/usr/lib/extension-release.d/extension-release.nicety",
        "/usr/share/nicety/alerts/nicety.rules.yml",
    ] {
        assert!(listed.lines().any(|line| line == path), "{path}: {listed}");
    }
    // systemd-sysext refuses an image that has anything elsewhere.
    let elsewhere = listed
        .lines()
        .find(|line| !line.is_empty() && !line.starts_with("/usr"));
    assert_eq!(elsewhere, None, "{listed}");
    let release = "usr/lib/extension-release.d/extension-release.nicety";
    let release = run(Command::new("unsquashfs").args(["-cat", image.trim_end(), release]));
    assert_eq!(release, "ID=_any\nARCHITECTURE=arm64\n");

    // A program that needs a loader does not run on every host.
    let refused = sysext().args(["--binary", NICETY]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("make static"), "{said}");
}
