//! Certificates and keys in files.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nicety_host::regular;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use super::Named;
use crate::error::HistoryError;

/// A bundle of all public authorities has less than a megabyte.
const LARGEST: u64 = 16 << 20;

fn bad(file: &Path, why: impl Into<String>) -> HistoryError {
    HistoryError::BadSetting {
        name: file.display().to_string(),
        why: why.into(),
    }
}

impl Named {
    /// The file's text; none where there is none and nobody named it, or it is not named at all.
    pub(super) fn read(&self) -> Result<Option<(&PathBuf, Vec<u8>)>, HistoryError> {
        let Some(path) = &self.path else {
            return Ok(None);
        };
        match regular::read(path, LARGEST) {
            Ok(text) => Ok(Some((path, text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.is_named => Ok(None),
            Err(error) => Err(bad(
                path,
                format!("cannot be read: {error}; name another file"),
            )),
        }
    }
}

/// The certificates in a text.
pub fn certificates(
    file: &Path,
    text: &[u8],
) -> Result<Vec<CertificateDer<'static>>, HistoryError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(|error| bad(file, format!("is no PEM: {error}")))?;
    match found.is_empty() {
        true => Err(bad(file, "has no certificate in PEM; name another file")),
        false => Ok(found),
    }
}

/// Authorities to trust.
pub fn roots(file: &Path, text: &[u8]) -> Result<RootCertStore, HistoryError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(file, text)? {
        let added = store.add(certificate);
        added.map_err(|error| {
            bad(
                file,
                format!("has a certificate that no authority has: {error}"),
            )
        })?;
    }
    Ok(store)
}

/// The system's authorities, or those that SSL_CERT_FILE and SSL_CERT_DIR name.
pub fn system_roots() -> Result<RootCertStore, HistoryError> {
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(found.certs);
    match (store.is_empty(), found.errors.first()) {
        (false, _) => Ok(store),
        (true, error) => Err(HistoryError::BadSetting {
            name: "sslrootcert=system".to_owned(),
            why: match error {
                Some(error) => format!("cannot read the system's authorities: {error}"),
                None => {
                    "this system has no authorities; on Debian: apt-get install ca-certificates"
                        .to_owned()
                }
            },
        }),
    }
}

/// Lists of revoked certificates.
pub fn revoked(
    file: &Path,
    text: &[u8],
) -> Result<Vec<CertificateRevocationListDer<'static>>, HistoryError> {
    let found: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(text).collect();
    found.map_err(|error| bad(file, format!("is no list of revoked certificates: {error}")))
}

/// The key of a certificate. Its file's rights are those that libpq allows
/// (`src/interfaces/libpq/fe-secure-openssl.c`, `initialize_SSL`).
pub fn key(certificate: &Path, key: Option<&Path>) -> Result<PrivateKeyDer<'static>, HistoryError> {
    let Some(path) = key else {
        return Err(bad(certificate, "has no key; name it in sslkey"));
    };
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => bad(
            certificate,
            format!("its key {} is not there; name it in sslkey", path.display()),
        ),
        _ => bad(path, format!("cannot be read: {error}; name another file")),
    };
    let file = regular::open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    // A key of root's may be read by a group, so that a system's certificate can be shared.
    let open = match found.uid() {
        0 => 0o037,
        _ => 0o077,
    };
    if found.mode() & open != 0 {
        return Err(bad(
            path,
            "others can read or write this key; run chmod 600 on it",
        ));
    }
    let text = regular::read_at_most(file, LARGEST).map_err(failed)?;
    if text.windows(9).any(|window| window == b"ENCRYPTED") {
        return Err(bad(
            path,
            "this key has a passphrase; name a copy without one (openssl pkey -in KEY -out COPY)",
        ));
    }
    // The error never has parts of the key.
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| bad(path, "has no private key in PEM"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_named_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for is_named in [false, true] {
            let named = Named {
                path: Some(pipe.clone()),
                is_named,
            };
            for why in [
                named.read().unwrap_err(),
                key(Path::new("mine.crt"), Some(&pipe)).unwrap_err(),
            ] {
                let why = why.to_string();
                assert!(why.contains("pipe"), "{why}");
                let end = "cannot be read: not a regular file; name another file";
                assert!(why.ends_with(end), "{why}");
            }
        }
    }
}
