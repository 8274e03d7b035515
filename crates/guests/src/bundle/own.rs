//! A kernel that somebody built, in place of Debian's.

use std::fs;
use std::path::{Path, PathBuf};

use super::Kernel;
use crate::error::QemuError;

/// Where modules are below the directory: as the kernel's own build leaves them, and as packages of today have them.
const MODULES: [&str; 2] = ["lib/modules", "usr/lib/modules"];
const IMAGE: &str = "vmlinuz-";

impl Kernel {
    /// The only kernel below `dir`: its image in `boot/vmlinuz-RELEASE` and its modules in `lib/modules/RELEASE`, as
    /// `make INSTALL_MOD_PATH=DIR modules_install` leaves the latter, or an unpacked package both.
    ///
    /// # Errors
    /// [`QemuError::NoKernel`] for none, for several, and for one without an index of its modules.
    pub fn below(dir: &Path) -> Result<Self, QemuError> {
        let no = |why: String| QemuError::NoKernel {
            path: dir.to_owned(),
            why,
        };
        // Programs of the lab read the modules wherever they are started.
        let dir = std::path::absolute(dir).map_err(|e| QemuError::io("find directory", dir, e))?;
        let entries = fs::read_dir(dir.join("boot"));
        let entries = entries.map_err(|error| no(format!("boot: {error}")))?;
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut releases: Vec<String> = names
            .filter_map(|name| Some(name.strip_prefix(IMAGE)?.to_owned()))
            .collect();
        releases.sort();
        let release = match releases.as_slice() {
            [one] => one.clone(),
            [] => return Err(no(format!("boot has no {IMAGE}RELEASE"))),
            several => {
                let several = several.join(", ");
                return Err(no(format!(
                    "boot has {IMAGE} of {several}, and one is booted"
                )));
            }
        };
        let places = MODULES.map(|place| dir.join(place).join(&release));
        let indexed = |place: &&PathBuf| place.join("modules.dep").is_file();
        let modules = places.iter().find(indexed).cloned();
        let modules = modules.ok_or_else(|| {
            no(format!(
                "lib/modules/{release} has no modules.dep, which depmod makes"
            ))
        })?;
        Ok(Self {
            image: dir.join("boot").join(format!("{IMAGE}{release}")),
            modules,
            release,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_kernel_of_a_directory_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let why = || Kernel::below(dir.path()).unwrap_err().to_string();
        assert!(why().contains("boot: "), "{}", why());
        fs::create_dir_all(dir.path().join("boot")).unwrap();
        assert!(why().contains("has no vmlinuz-RELEASE"), "{}", why());
        let image = |release: &str| dir.path().join("boot").join(format!("vmlinuz-{release}"));
        fs::write(image("6.1.0-test"), "").unwrap();
        assert!(why().contains("depmod"), "{}", why());
        for place in MODULES {
            let modules = dir.path().join(place).join("6.1.0-test");
            fs::create_dir_all(&modules).unwrap();
            fs::write(modules.join("modules.dep"), "").unwrap();
            let kernel = Kernel::below(dir.path()).unwrap();
            assert_eq!(kernel.release, "6.1.0-test");
            assert_eq!(
                (kernel.image, kernel.modules.clone()),
                (image("6.1.0-test"), modules)
            );
            fs::remove_file(kernel.modules.join("modules.dep")).unwrap();
        }
        fs::write(image("6.12.0-test"), "").unwrap();
        assert!(
            why().contains("6.1.0-test, 6.12.0-test, and one is booted"),
            "{}",
            why()
        );
    }
}
