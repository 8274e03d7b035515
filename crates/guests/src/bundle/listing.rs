//! What `apt-get --print-uris` and its status lines say.

use serde::{Deserialize, Serialize};

/// A Debian package of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Size of the download in bytes.
    pub bytes: u64,
}

/// The packages that `apt-get --print-uris install` lists, one line each:
/// `'URI' NAME_VERSION_ARCHITECTURE.deb BYTES HASH`. None when a line is something else.
pub fn parse(text: &str) -> Option<Vec<Package>> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(parse_line)
        .collect()
}

fn parse_line(line: &str) -> Option<Package> {
    let rest = line.strip_prefix('\'')?.split_once("' ")?.1;
    let mut words = rest.split(' ');
    let mut parts = words.next()?.strip_suffix(".deb")?.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    Some(Package {
        name: name.to_owned(),
        // A colon cannot stand in every file name; apt quotes nothing else in a version.
        version: version.replace("%3a", ":"),
        bytes: words.next()?.parse().ok()?,
    })
}

/// The package with a kernel's image among those that `linux-image-amd64` brings.
pub fn kernel(packages: &[Package]) -> Option<&Package> {
    packages.iter().find(|package| {
        package
            .name
            .strip_prefix("linux-image-")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// Share done, of a line of `APT::Status-Fd`: `dlstatus:NUMBER:PERCENT:TEXT`.
pub fn downloaded(line: &str) -> Option<f64> {
    let percent = line.strip_prefix("dlstatus:")?.split(':').nth(1)?;
    let ratio = percent.parse::<f64>().ok()? / 100.0;
    (0.0..=1.0).contains(&ratio).then_some(ratio)
}

/// The line of apt's complaints that says most: the first error, else the first warning.
pub fn complaint(text: &str) -> Option<&str> {
    ["E: ", "W: "]
        .iter()
        .find_map(|mark| text.lines().find_map(|line| line.strip_prefix(mark)))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    // `apt-get -qq --print-uris install linux-image-amd64` of apt 2.6.
    const LISTED: &str = "\
'http://deb.debian.org/debian/pool/main/g/glibc/libc6_2.36-9%2bdeb12u14_amd64.deb' libc6_2.36-9+deb12u14_amd64.deb 2759320 SHA256:00ff
'http://deb.debian.org/debian/pool/main/q/qemu/x.deb' qemu-system-x86_1%3a10.0.2+ds-2+deb13u1~bpo12+1_amd64.deb 10176912 SHA256:00ff
'http://deb.debian.org/debian/pool/main/l/linux-signed-amd64/x.deb' linux-image-amd64_6.12.95-1~bpo12+1_amd64.deb 1484 SHA256:00ff
'http://deb.debian.org/debian/pool/main/l/linux-signed-amd64/x.deb' linux-image-6.12.95+deb12-amd64_6.12.95-1~bpo12+1_amd64.deb 106422608 SHA256:00ff
";

    #[test]
    fn packages_of_a_listing() {
        let packages = parse(LISTED).unwrap();
        assert_eq!(packages.len(), 4);
        assert_eq!(packages[0].version, "2.36-9+deb12u14");
        assert_eq!(
            packages[1],
            Package {
                name: "qemu-system-x86".into(),
                version: "1:10.0.2+ds-2+deb13u1~bpo12+1".into(),
                bytes: 10_176_912,
            }
        );
        assert_eq!(
            kernel(&packages).unwrap().name,
            "linux-image-6.12.95+deb12-amd64"
        );
        assert_eq!(kernel(&packages[..3]), None);
    }

    #[test]
    fn other_lines_are_no_packages() {
        for line in [
            "Reading package lists...",
            "'http://x/y' y_1",
            "'http://x/y' y_1_all.deb many X:1",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
        assert_eq!(parse("\n"), Some(Vec::new()));
    }

    #[test]
    fn progress_of_a_download() {
        assert_eq!(
            downloaded("dlstatus:86:50.0:Retrieving file 86 of 87"),
            Some(0.5)
        );
        for line in [
            "dlstatus:1",
            "pmstatus:x:50:y",
            "dlstatus:1:nan:x",
            "dlstatus:1:200:x",
        ] {
            assert_eq!(downloaded(line), None, "{line}");
        }
    }

    #[test]
    fn the_error_comes_before_warnings() {
        let text = "W: old\nE: Failed to fetch http://x\nE: Some index files failed\n";
        assert_eq!(complaint(text), Some("Failed to fetch http://x"));
        assert_eq!(complaint("W: old\n"), Some("old"));
        assert_eq!(complaint("fine\n"), None);
    }
}
