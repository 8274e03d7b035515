//! The first process of the guest: mounts the host's root, becomes it, and keeps the house.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use rustix::mount::MountFlags;
use rustix::process::WaitOptions;

use crate::spec::{CONFIG, GuestConfig, ROOT_TAG};
use nicety_guests::files::{make_dir, mount, write};
use nicety_guests::initramfs::PROGRAM_DIR;
use nicety_guests::{QemuError, modules};

/// Where the program and `modprobe` are in the guest.
pub const BIN: &str = "/run/nicety/bin";
const NEW: &str = "/new";
/// The host's files do not change for the guest's short life, so they are cached without asking.
const NINE_P: &str = "trans=virtio,version=9p2000.L,msize=512000";

/// Runs as the first process. Returns only when it cannot go on; the machine is then switched
/// off by [`nicety_guests::init::power_off`].
///
/// # Errors
/// The step that failed.
pub fn run() -> Result<Infallible, QemuError> {
    let nothing = MountFlags::empty();
    mount("proc", "/proc", "proc", nothing, "")?;
    mount("dev", "/dev", "devtmpfs", nothing, "")?;
    let config = read_config(CONFIG)?;
    modules::load_first()?;
    mount(
        ROOT_TAG,
        "/lower",
        "9p",
        MountFlags::RDONLY,
        &format!("{NINE_P},cache=loose"),
    )?;
    mount("upper", "/upper", "tmpfs", nothing, "mode=0755")?;
    make_dir("/upper/files")?;
    make_dir("/upper/work")?;
    mount(
        "nicety-lab",
        NEW,
        "overlay",
        nothing,
        "lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work",
    )?;
    below_new()?;
    change_root()?;
    settle(&config)?;
    load_host_modules(&config);
    let mut agent = Command::new(Path::new(BIN).join("nicety"));
    agent.args(["guest-init", "agent"]).env_clear();
    let agent = agent
        .spawn()
        .map_err(|e| QemuError::io("start", "the guest's agent", e))?;
    reap(agent.id())
}

/// What the host says about the lab.
fn read_config(path: &str) -> Result<GuestConfig, QemuError> {
    let text = fs::read_to_string(path).map_err(|e| QemuError::io("read", path, e))?;
    serde_json::from_str(&text).map_err(|_| QemuError::Answer {
        what: path.to_owned(),
        text,
    })
}

/// A module that does not load is missed by who needs it, and named on the console.
fn load_host_modules(config: &GuestConfig) {
    let dir = Path::new(&config.modules);
    let load = |list: &[String]| {
        for file in list {
            if let Err(error) = modules::load(&dir.join(file)) {
                note(&error.to_string());
            }
        }
    };
    // Loading waits for all CPUs to pass a quiet state again and again; hurried, it takes half
    // the time. A kernel without the switch loads them as well.
    let hurry = |value: &str| drop(write("/sys/kernel/rcu_expedited", value));
    hurry("1");
    std::thread::scope(|scope| {
        for list in &config.load {
            scope.spawn(move || load(list));
        }
    });
    hurry("0");
}

/// A line on the console.
pub(crate) fn note(line: &str) {
    // Without a console nobody would read it.
    let _ = write("/dev/console", format!("nicety: {line}\n"));
}

/// The file systems that every host has, and the program.
fn below_new() -> Result<(), QemuError> {
    let nothing = MountFlags::empty();
    for (kind, path, options) in [
        ("proc", "proc", ""),
        ("sysfs", "sys", ""),
        ("devtmpfs", "dev", ""),
        ("devpts", "dev/pts", "mode=0620,ptmxmode=0666"),
        ("tmpfs", "dev/shm", "mode=1777"),
        ("tmpfs", "run", "mode=0755"),
        ("cgroup2", "sys/fs/cgroup", ""),
        ("bpf", "sys/fs/bpf", ""),
        ("debugfs", "sys/kernel/debug", ""),
        ("tracefs", "sys/kernel/tracing", ""),
    ] {
        mount(kind, format!("{NEW}/{path}"), kind, nothing, options)?;
    }
    let bin = format!("{NEW}{BIN}");
    make_dir(&bin)?;
    rustix::mount::mount_bind(PROGRAM_DIR, &bin).map_err(|e| QemuError::io("mount", bin, e))
}

/// As switch_root(8): the initramfs cannot be pivoted away from, only covered.
fn change_root() -> Result<(), QemuError> {
    let error = |e| QemuError::io("change root to", NEW, e);
    rustix::process::chdir(NEW).map_err(error)?;
    rustix::mount::mount_move(".", "/").map_err(error)?;
    rustix::process::chroot(".").map_err(error)?;
    rustix::process::chdir("/").map_err(error)
}

/// What a host has beside file systems.
fn settle(config: &GuestConfig) -> Result<(), QemuError> {
    for share in &config.shares {
        mount(
            &share.tag,
            &share.path,
            "9p",
            MountFlags::empty(),
            &format!("{NINE_P},cache=mmap"),
        )?;
    }
    let modules = Path::new("/lib/modules");
    make_dir(modules)?;
    let link = modules.join(&config.release);
    if !link.exists() {
        symlink(&config.modules, &link).map_err(|e| QemuError::io("link", &link, e))?;
    }
    // The host may have no modprobe, or one that cannot decompress. The program directory is
    // part of the initramfs, so this is written to memory.
    let modprobe = format!("{BIN}/modprobe");
    write(&modprobe, modprobe_script(config))?;
    let mode = rustix::fs::Mode::from_raw_mode(0o755);
    rustix::fs::chmod(&modprobe, mode)
        .map_err(|e| QemuError::io("change mode of", &modprobe, e))?;
    write("/proc/sys/kernel/modprobe", &modprobe)?;
    rustix::system::sethostname(b"nicety-lab").map_err(|e| QemuError::io("set", "host name", e))?;
    Ok(())
}

fn modprobe_script(config: &GuestConfig) -> String {
    let quoted =
        |word: &std::ffi::OsString| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"));
    let mut loader = config.loader.iter().map(quoted);
    let first = loader.next().unwrap_or_default();
    let rest: Vec<String> = loader.collect();
    format!(
        "#!/bin/sh\nexec {first} --argv0 modprobe {} {} \"$@\"\n",
        rest.join(" "),
        quoted(&config.kmod)
    )
}

/// Waits for whatever process ends, until the agent does.
fn reap(agent: u32) -> Result<Infallible, QemuError> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().unsigned_abs() == agent => {
                return Err(QemuError::Answer {
                    what: "the end of the guest's agent".into(),
                    text: format!("{status:?}"),
                });
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(QemuError::io("wait for", "the guest's agent", e)),
        }
    }
}
