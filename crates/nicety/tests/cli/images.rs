//! The other ways to hand nicety out: a container, and a package of a static program.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{NICETY, has, is_static, root, skip, words};
use crate::package::{REPOSITORY, run};

/// Built of the static program alone, without a network, and started.
#[test]
fn a_container_of_the_static_program_starts() {
    if !root() || !has("buildah") {
        skip("it needs root and buildah; on Debian: apt-get install buildah");
        return;
    }
    if !is_static() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let context = dir.path().join("context");
    fs::create_dir(&context).unwrap();
    fs::copy(NICETY, context.join("nicety")).unwrap();
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
    let bud = format!("bud --isolation chroot -t {image} -f {recipe} {context}");
    buildah(&words(&bud));
    let container = buildah(&["from", image]);
    let container = container.trim();
    // `buildah run` raises limits that a root without CAP_SYS_RESOURCE may not.
    let mounted = buildah(&["mount", container]);
    let mut chroot = Command::new("chroot");
    let said = run(chroot.args([mounted.trim(), "/usr/bin/nicety", "--version"]));
    assert_eq!(said, concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n"));
    buildah(&["rm", container]);
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
    if !has("dpkg-deb") || !has("readelf") {
        skip("no dpkg-deb or readelf; on Debian: apt-get install dpkg binutils");
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
