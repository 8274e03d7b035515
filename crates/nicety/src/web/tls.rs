//! TLS for a live page: a certificate and its key, read again when their files change.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use anyhow::anyhow;
use nicety_host::regular;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use super::listener::Stream;
use crate::exit::Failure;
use crate::output;
use nicety_host::regular::secret;

/// Largest file of either kind in bytes; a chain of certificates has some thousand.
const LONGEST: u64 = 1 << 20;
/// How often the files are looked at: certificates are renewed days before they end.
const AGAIN: Duration = Duration::from_secs(60);

/// Where a certificate and its key are.
#[derive(Debug, Clone)]
pub struct Files {
    /// PEM; the server's certificate first, then those that signed it.
    pub certificate: PathBuf,
    /// PEM, of mode 0600.
    pub key: PathBuf,
}

/// When the certificate and the key were last changed.
type Changed = [Option<SystemTime>; 2];

/// What a server shows, and how it greets.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// The pair that is shown now.
#[derive(Debug)]
struct Shown(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(
            &self.0.read().unwrap_or_else(PoisonError::into_inner),
        ))
    }
}

impl Tls {
    /// Reads the pair, and once a minute looks whether its files have changed. A new pair is shown from the
    /// next connection on; one that does not work is told of, and the old one stays.
    ///
    /// # Errors
    /// When a file cannot be read or the two do not belong together.
    pub fn start(files: Files) -> Result<Self, Failure> {
        let first = files.read().map_err(|why| Failure::usage(anyhow!(why)))?;
        let shown = Arc::new(Shown(RwLock::new(Arc::new(first))));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(Failure::environment)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::<Shown>::clone(&shown));
        let since = files.changed();
        // Ends with the process. It is none of those that strangers speak to, and may open files.
        std::thread::Builder::new()
            .name("certificate".to_owned())
            .spawn(move || files.follow(since, &shown))
            .map_err(Failure::environment)?;
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Agrees with a peer on keys.
    ///
    /// # Errors
    /// When the peer speaks no TLS, or none that is safe.
    pub(super) async fn greet(&self, stream: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
        let stream = self.0.accept(stream).await?;
        Ok(Box::new(stream))
    }
}

impl Files {
    /// The pair, or which file is wrong, why, and what to do.
    fn read(&self) -> Result<CertifiedKey, String> {
        let certificate = |why: &str| format!("cert {}: {why}", self.certificate.display());
        let key = |why: &str| format!("key {}: {why}", self.key.display());
        let bytes = regular::read(&self.certificate, LONGEST);
        let bytes = bytes.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => {
                certificate("it is not a regular file; give a file in PEM")
            }
            _ => certificate(&error.to_string()),
        })?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        let chain = chain.map_err(|error| certificate(&error.to_string()))?;
        if chain.is_empty() {
            return Err(certificate("it holds no certificate; give a file in PEM"));
        }
        let bytes = secret(&self.key, LONGEST).map_err(|why| key(&why))?;
        let private = PrivateKeyDer::from_pem_slice(&bytes);
        let private = private.map_err(|_| key("it holds no private key; give a file in PEM"))?;
        CertifiedKey::from_der(chain, private, &ring::default_provider()).map_err(|error| {
            match error {
                rustls::Error::InconsistentKeys(_) => key("it is not the key of the certificate"),
                other => key(&other.to_string()),
            }
        })
    }

    /// When either file was last changed.
    fn changed(&self) -> Changed {
        let at = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        [at(&self.certificate), at(&self.key)]
    }

    /// Looks for ever.
    fn follow(&self, mut since: Changed, shown: &Shown) {
        loop {
            std::thread::sleep(AGAIN);
            if let Err(why) = self.look(&mut since, shown) {
                output::say(&format!("{why}; the certificate read before stays"));
            }
        }
    }

    /// Shows the pair that is there now, where it has changed.
    fn look(&self, since: &mut Changed, shown: &Shown) -> Result<(), String> {
        let now = self.changed();
        if now != *since {
            *since = now;
            let pair = Arc::new(self.read()?);
            *shown.0.write().unwrap_or_else(PoisonError::into_inner) = pair;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
