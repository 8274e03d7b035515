//! Certificates of the test's own: an authority, a server, a client, and some that must be refused.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};

use super::{Failure, address};

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
            let issuer = files.authority(ca)?;
            for name in names {
                files.issue(name, &issuer)?;
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

    fn authority(&self, name: &str) -> Result<Issuer<'static, KeyPair>, Failure> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        std::fs::write(self.path(name, "crt"), params.self_signed(&key)?.pem())?;
        Ok(Issuer::new(params, key))
    }

    fn issue(&self, name: &str, issuer: &Issuer<'_, KeyPair>) -> Result<(), Failure> {
        let hosts = (1..10).map(|number| address(number).to_string());
        let mut params = CertificateParams::new(hosts.collect::<Vec<_>>())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if name == "expired" {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        let key = KeyPair::generate()?;
        let (cert_file, key_file) = self.pair(name);
        std::fs::write(cert_file, params.signed_by(&key, issuer)?.pem())?;
        std::fs::write(key_file, key.serialize_pem())?;
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
