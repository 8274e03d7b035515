//! What is checked of the certificate that a server shows.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_cert::Certificate;
use x509_cert::der::{Decode, Encode};

use super::names::Names;

/// What to check.
pub enum Check {
    /// That the server has the key of its certificate, whosesoever it is.
    Nothing,
    /// Who signed the certificate.
    Authority {
        /// Authorities to trust.
        roots: RootCertStore,
        /// What they have revoked.
        revoked: Vec<CertificateRevocationListDer<'static>>,
        /// Whether the certificate has to name the server.
        name: bool,
    },
}

#[derive(Debug)]
struct Authority {
    chain: Arc<WebPkiServerVerifier>,
    roots: RootCertStore,
    name: bool,
}

/// Checks as much as the mode asks for.
#[derive(Debug)]
pub struct Verifier {
    authority: Option<Authority>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    /// # Errors
    /// What is wrong with the authorities or the lists of what they revoked.
    pub fn new(check: Check, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let authority = match check {
            Check::Nothing => None,
            Check::Authority {
                roots,
                revoked,
                name,
            } => {
                let builder = WebPkiServerVerifier::builder_with_provider(
                    Arc::new(roots.clone()),
                    Arc::clone(provider),
                );
                // OpenSSL takes no list that is out of date either.
                let builder = builder.with_crls(revoked).enforce_revocation_expiration();
                Some(Authority {
                    chain: builder.build().map_err(|error| error.to_string())?,
                    roots,
                    name,
                })
            }
        };
        Ok(Self {
            authority,
            algorithms: provider.signature_verification_algorithms,
        })
    }
}

impl Authority {
    /// Whether the certificate itself was given as one to trust, as small teams do with one that
    /// signs itself. OpenSSL takes it; the path checks of WebPKI refuse it.
    fn is_given(&self, certificate: &CertificateDer<'_>) -> bool {
        let Ok(parsed) = Certificate::from_der(certificate) else {
            return false;
        };
        let parsed = parsed.tbs_certificate();
        let (Ok(subject), Ok(key)) = (
            parsed.subject().to_der(),
            parsed.subject_public_key_info().to_der(),
        ) else {
            return false;
        };
        self.roots.roots.iter().any(|root| {
            // Anchors have the contents of these two, without the header of the sequence.
            contents(&subject) == Some(root.subject.as_ref())
                && contents(&key) == Some(root.subject_public_key_info.as_ref())
        })
    }
}

/// What is inside a sequence of DER.
fn contents(der: &[u8]) -> Option<&[u8]> {
    let first = usize::from(*der.get(1)?);
    let header = match first {
        0..0x80 => 2,
        _ => 2 + (first & 0x7f),
    };
    der.get(header..)
}

/// Dates of a certificate whose signer is not asked.
fn check_dates(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let parsed = Certificate::from_der(certificate)
        .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
    let dates = parsed.tbs_certificate().validity();
    let at = |time: x509_cert::time::Time| time.to_unix_duration().as_secs();
    if now.as_secs() < at(dates.not_before) {
        return Err(CertificateError::NotValidYet.into());
    }
    if now.as_secs() > at(dates.not_after) {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        server: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        if authority.is_given(certificate) {
            check_dates(certificate, now)?;
        } else {
            let chain = &authority.chain;
            match chain.verify_server_cert(certificate, others, server, ocsp, now) {
                // The name comes last there, after the chain: libpq's rules for it follow.
                Ok(_)
                | Err(Error::InvalidCertificate(
                    CertificateError::NotValidForName
                    | CertificateError::NotValidForNameContext { .. },
                )) => {}
                Err(error) => return Err(error),
            }
        }
        let names = Names::of(certificate);
        match authority.name && !names.fit(server) {
            true => Err(CertificateError::NotValidForNameContext {
                expected: server.to_owned(),
                presented: names.words(),
            }
            .into()),
            false => Ok(ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    /// By the key alone, which certificates without extensions have too.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let bad = |_| Error::InvalidCertificate(CertificateError::BadEncoding);
        let parsed = Certificate::from_der(certificate).map_err(bad)?;
        let key = parsed.tbs_certificate().subject_public_key_info();
        let key = SubjectPublicKeyInfoDer::from(key.to_der().map_err(bad)?);
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
