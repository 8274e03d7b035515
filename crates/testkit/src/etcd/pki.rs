//! Certificates of the test's own: an authority, a server, a client, and some that must be refused.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Failure, address};
use crate::certificates::Authority;

/// Files of certificates and keys.
#[derive(Debug, Clone)]
pub struct Pki(PathBuf);

impl Pki {
    pub(super) fn make(dir: &Path) -> Result<Self, Failure> {
        let files = Self(dir.to_owned());
        for (ca, names) in [
            ("ca", &["server", "client", "expired"][..]),
            ("other", &["stranger"][..]),
        ] {
            let authority = Authority::new(ca);
            std::fs::write(files.path(ca, "crt"), &authority.certificate)?;
            for name in names {
                files.issue(name, &authority)?;
            }
        }
        Ok(files)
    }

    fn path(&self, name: &str, what: &str) -> PathBuf {
        self.0.join(format!("{name}.{what}"))
    }

    fn pair(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.path(name, "crt"), self.path(name, "key"))
    }

    fn issue(&self, name: &str, authority: &Authority) -> Result<(), Failure> {
        let hosts: Vec<String> = (1..10).map(|number| address(number).to_string()).collect();
        let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
        let pair = authority.sign(name, &hosts, name == "expired");
        let (certificate, key) = self.pair(name);
        std::fs::write(certificate, pair.certificate)?;
        std::fs::write(&key, pair.key)?;
        std::fs::set_permissions(&key, Permissions::from_mode(0o600))?;
        Ok(())
    }

    /// The authority of server and client.
    pub fn ca(&self) -> PathBuf {
        self.path("ca", "crt")
    }

    /// An authority that signed neither.
    pub fn other_ca(&self) -> PathBuf {
        self.path("other", "crt")
    }

    /// Certificate and key of every member.
    pub fn server(&self) -> (PathBuf, PathBuf) {
        self.pair("server")
    }

    /// Certificate and key that every member takes.
    pub fn client(&self) -> (PathBuf, PathBuf) {
        self.pair("client")
    }

    /// The same, out of date for long.
    pub fn expired(&self) -> (PathBuf, PathBuf) {
        self.pair("expired")
    }

    /// Of the other authority.
    pub fn stranger(&self) -> (PathBuf, PathBuf) {
        self.pair("stranger")
    }

    /// Puts a certificate and its key in the place of the members' own: members read them anew at each connection.
    ///
    /// # Errors
    /// When files cannot be written.
    pub fn serve(&self, pair: (PathBuf, PathBuf)) -> std::io::Result<()> {
        let (cert, key) = self.server();
        std::fs::copy(pair.0, cert)?;
        std::fs::copy(pair.1, key)?;
        Ok(())
    }
}
