//! Kernels by their version: those that this host has installed, and those that were fetched for guests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::manifest::{MODULES, Manifest};
use super::{KERNEL_ONLY, Kernel, WITH_QEMU};
use crate::error::QemuError;

/// Where a host keeps its kernels. A link leads from the first to the second where both are there.
const INSTALLED: [&str; 2] = ["lib/modules", "usr/lib/modules"];

/// A kernel that somebody asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelWish {
    /// The only one below a directory.
    Below(PathBuf),
    /// One that is there already: its release, or the beginning of it.
    Version(String),
}

impl KernelWish {
    /// A directory where there is one, or where it can be nothing else; a version begins with a digit.
    pub fn read(text: &str) -> Self {
        Self::of(text, Path::new(text).is_dir())
    }

    fn of(text: &str, is_directory: bool) -> Self {
        let version = text.starts_with(|first: char| first.is_ascii_digit());
        if version && !is_directory && !text.contains('/') {
            Self::Version(text.to_owned())
        } else {
            Self::Below(text.into())
        }
    }

    /// The kernel itself; `cache` is where those that were fetched are.
    ///
    /// # Errors
    /// [`QemuError::NoKernel`] for a directory without one, [`QemuError::NoRelease`] for a version that is not there.
    pub fn get(&self, cache: &Path) -> Result<Kernel, QemuError> {
        match self {
            Self::Below(dir) => Kernel::below(dir),
            Self::Version(wanted) => {
                let mut found = fetched(cache);
                found.extend(installed(Path::new("/")));
                choose(wanted, &found)
                    .cloned()
                    .map_err(|why| QemuError::NoRelease {
                        wanted: wanted.clone(),
                        why,
                    })
            }
        }
    }
}

/// A kernel that is there, and what it lacks to be booted.
#[derive(Debug, Clone)]
struct Found {
    kernel: Kernel,
    lacks: Option<String>,
}

impl Found {
    fn said(&self) -> String {
        let release = &self.kernel.release;
        match &self.lacks {
            None => release.clone(),
            Some(why) => format!("{release} ({why})"),
        }
    }
}

/// The one with this release, else the only one whose release begins so: `6.12` is `6.12.9-amd64` and not `6.120`.
/// Where a release is there twice, the first that can be booted counts. The error says what there is.
fn choose<'f>(wanted: &str, found: &'f [Found]) -> Result<&'f Kernel, String> {
    let begins = |release: &str| {
        let rest = release.strip_prefix(wanted);
        rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
    };
    let mut fitting = alike(found, |release| release == wanted);
    if fitting.is_empty() {
        fitting = alike(found, begins);
    }
    match fitting.as_slice() {
        [one] => match &one.lacks {
            None => Ok(&one.kernel),
            Some(why) => Err(why.clone()),
        },
        [] if found.is_empty() => Err("no kernel is installed or fetched".to_owned()),
        [] => Err(format!("there are {}", list(&alike(found, |_| true)))),
        several => Err(format!("it may be {}", list(several))),
    }
}

/// Those whose release is meant, each release once and in order.
fn alike(found: &[Found], meant: impl Fn(&str) -> bool) -> Vec<&Found> {
    let all = found.iter().filter(|one| meant(&one.kernel.release));
    let mut all: Vec<&Found> = all.collect();
    // The sort is stable: of the same release those that can be booted first, else as they were found.
    all.sort_by(|a, b| {
        let lacks = a.lacks.is_some().cmp(&b.lacks.is_some());
        a.kernel.release.cmp(&b.kernel.release).then(lacks)
    });
    all.dedup_by(|a, b| a.kernel.release == b.kernel.release);
    all
}

fn list(all: &[&Found]) -> String {
    let all: Vec<String> = all.iter().map(|one| one.said()).collect();
    all.join(", ")
}

/// Those of the bundles in the cache: their modules are unpacked and indexed.
fn fetched(cache: &Path) -> Vec<Found> {
    let bundles = [WITH_QEMU, KERNEL_ONLY].map(|name| cache.join(name));
    let read = |dir: PathBuf| {
        let release = Manifest::read(&dir)?.release;
        let below = dir.join("kernel");
        Some(found(
            release.clone(),
            below.join("boot"),
            &below.join(MODULES).join(&release),
        ))
    };
    bundles.into_iter().filter_map(read).collect()
}

/// Those with a directory of modules below `root`.
fn installed(root: &Path) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for place in INSTALLED {
        let entries = fs::read_dir(root.join(place))
            .into_iter()
            .flatten()
            .flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        for release in names {
            if all.iter().all(|known| known.kernel.release != release) {
                let modules = root.join(place).join(&release);
                all.push(found(release, root.join("boot"), &modules));
            }
        }
    }
    all
}

fn found(release: String, boot: PathBuf, modules: &Path) -> Found {
    let image = boot.join(format!("vmlinuz-{release}"));
    let lacks = if let Err(error) = File::open(&image) {
        Some(format!("{}: {error}", image.display()))
    } else if !modules.join("modules.dep").is_file() {
        Some(format!(
            "{} has no modules.dep, which depmod makes",
            modules.display()
        ))
    } else {
        None
    };
    Found {
        kernel: Kernel {
            release,
            image,
            modules: modules.to_owned(),
        },
        lacks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(release: &str, from: &str, lacks: Option<&str>) -> Found {
        Found {
            kernel: Kernel {
                release: release.to_owned(),
                image: from.into(),
                modules: from.into(),
            },
            lacks: lacks.map(str::to_owned),
        }
    }

    #[test]
    fn a_version_begins_with_a_digit_and_is_no_directory() {
        let version = |text: &str| KernelWish::Version(text.to_owned());
        let below = |text: &str| KernelWish::Below(text.into());
        assert_eq!(KernelWish::of("6.12", false), version("6.12"));
        assert_eq!(
            KernelWish::of("6.1.0-40-amd64", false),
            version("6.1.0-40-amd64")
        );
        assert_eq!(KernelWish::of("6.12", true), below("6.12"));
        assert_eq!(KernelWish::of("6.12/out", false), below("6.12/out"));
        assert_eq!(KernelWish::of("./6.12", false), below("./6.12"));
        assert_eq!(KernelWish::of("old", false), below("old"));
    }

    #[test]
    fn a_release_is_found_by_its_name_or_its_beginning() {
        let found = [
            there("6.12.9+deb13-amd64", "cache", None),
            there("6.1.0-40-amd64", "boot", None),
            there("6.1.0-4-amd64", "boot", None),
            there("6.12.9+deb13-amd64", "boot", None),
        ];
        let release = |wanted| choose(wanted, &found).map(|kernel| kernel.release.clone());
        assert_eq!(release("6.12").unwrap(), "6.12.9+deb13-amd64");
        assert_eq!(release("6.12.9").unwrap(), "6.12.9+deb13-amd64");
        assert_eq!(release("6.1.0-4-amd64").unwrap(), "6.1.0-4-amd64");
        // Not 6.1.0-40.
        assert_eq!(release("6.1.0-4").unwrap(), "6.1.0-4-amd64");
        assert_eq!(
            release("6.1").unwrap_err(),
            "it may be 6.1.0-4-amd64, 6.1.0-40-amd64"
        );
        let all = "there are 6.1.0-4-amd64, 6.1.0-40-amd64, 6.12.9+deb13-amd64";
        for wanted in ["6", "5.10", "6.1.0-400", ""] {
            match wanted {
                "6" | "" => assert!(release(wanted).is_err(), "{wanted}"),
                _ => assert_eq!(release(wanted).unwrap_err(), all, "{wanted}"),
            }
        }
        // The first of two is taken.
        let image = &choose("6.12", &found).unwrap().image;
        assert_eq!(image, Path::new("cache"));
    }

    #[test]
    fn what_cannot_be_booted_is_named_with_the_reason() {
        let half = [
            there("6.9.1", "boot", Some("no image")),
            there("6.8.2", "boot", None),
        ];
        let why = |wanted| choose(wanted, &half).unwrap_err();
        assert_eq!(why("6.9"), "no image");
        assert_eq!(why("7"), "there are 6.8.2, 6.9.1 (no image)");
        // One that can be booted is taken before one that cannot.
        let both = [
            there("6.9.1", "boot", Some("no image")),
            there("6.9.1", "cache", None),
        ];
        assert_eq!(choose("6.9", &both).unwrap().image, Path::new("cache"));
        let none = choose("6.9", &[]).unwrap_err();
        assert_eq!(none, "no kernel is installed or fetched");
    }

    #[test]
    fn installed_kernels_have_an_image_and_an_index() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert!(installed(root).is_empty());
        let modules = |release: &str| {
            let dir = root.join("usr/lib/modules").join(release);
            fs::create_dir_all(&dir).unwrap();
            dir
        };
        fs::write(modules("6.1.0-1-amd64").join("modules.dep"), "").unwrap();
        modules("6.9.0");
        fs::create_dir_all(root.join("boot")).unwrap();
        fs::write(root.join("boot/vmlinuz-6.1.0-1-amd64"), "").unwrap();
        let found = installed(root);
        assert_eq!(found.len(), 2);
        let kernel = choose("6.1", &found).unwrap();
        assert_eq!(kernel.image, root.join("boot/vmlinuz-6.1.0-1-amd64"));
        assert_eq!(kernel.modules, root.join("usr/lib/modules/6.1.0-1-amd64"));
        assert!(
            choose("6.9", &found)
                .unwrap_err()
                .contains("vmlinuz-6.9.0: ")
        );
        fs::write(root.join("boot/vmlinuz-6.9.0"), "").unwrap();
        let why = choose("6.9", &installed(root)).unwrap_err();
        assert!(why.contains("depmod"), "{why}");
    }

    #[test]
    fn what_was_fetched_is_found_by_its_version() {
        let cache = tempfile::tempdir().unwrap();
        let cache = cache.path();
        assert!(fetched(cache).is_empty());
        let bundle = cache.join(KERNEL_ONLY);
        let modules = bundle.join("kernel").join(MODULES).join("6.12.9");
        fs::create_dir_all(&modules).unwrap();
        fs::create_dir_all(bundle.join("kernel/boot")).unwrap();
        fs::write(modules.join("modules.dep"), "").unwrap();
        fs::write(bundle.join("kernel/boot/vmlinuz-6.12.9"), "").unwrap();
        let manifest = Manifest {
            schema: super::super::manifest::SCHEMA,
            release: "6.12.9".to_owned(),
            packages: Vec::new(),
        };
        let text = serde_json::to_string(&manifest).unwrap();
        fs::write(bundle.join(super::super::manifest::MANIFEST), text).unwrap();
        let kernel = KernelWish::Version("6.12".to_owned()).get(cache).unwrap();
        assert_eq!(kernel.modules, modules);
        let error = KernelWish::Version("2.6".to_owned())
            .get(cache)
            .unwrap_err();
        assert!(error.to_string().contains("6.12.9"), "{error}");
    }
}
