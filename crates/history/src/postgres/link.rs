//! The way to a server: each kind of connection that the mode allows, in its order.

use postgres::config::SslMode;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use tokio_postgres_rustls_improved::MakeRustlsConnect;

use super::address::{self, Address};
use super::caution::Caution;
use super::tls::{TlsMode, TlsSettings, TlsTrouble};
use crate::error::HistoryError;

/// The way to a server.
pub struct Link {
    config: Config,
    tls: TlsSettings,
    /// None where TLS is never tried.
    connector: Option<MakeRustlsConnect>,
    shows_certificate: bool,
}

/// A connection.
pub struct Connected {
    /// The client.
    pub client: Client,
    /// What the connection lacks.
    pub caution: Option<Caution>,
}

impl Link {
    /// Reads the files that TLS needs; over a socket of this machine it is never tried.
    ///
    /// # Errors
    /// [`HistoryError::BadSetting`].
    pub fn new(address: Address) -> Result<Self, HistoryError> {
        let Address {
            config, mut tls, ..
        } = address;
        if address::is_socket(&config) {
            tls.mode = TlsMode::Disable;
        }
        let needs_tls = tls.mode != TlsMode::Disable;
        let connector = needs_tls.then(|| tls.connector()).transpose()?;
        Ok(Self {
            shows_certificate: needs_tls && tls.shows_certificate(),
            config,
            tls,
            connector,
        })
    }

    /// Whether the client shows a certificate.
    pub fn shows_certificate(&self) -> bool {
        self.shows_certificate
    }

    /// Connects, in clear or over TLS as the mode has it.
    ///
    /// # Errors
    /// That of the attempt that says most: over TLS, unless the server has none.
    pub fn connect(&self) -> Result<Connected, postgres::Error> {
        let mut first: Option<postgres::Error> = None;
        let mut attempts = self.tls.mode.attempts().iter().peekable();
        loop {
            let mode = attempts.next().copied().unwrap_or(SslMode::Disable);
            let error = match self.attempt(mode) {
                Ok(client) => {
                    let caution = first.and_then(|error| self.caution(mode, &error));
                    return Ok(Connected { client, caution });
                }
                Err(error) => error,
            };
            let may_go_on = attempts.peek().is_some() && self.is_of_encryption(&error);
            first = match (may_go_on, first) {
                (true, _) => Some(error),
                (false, Some(earlier)) => return Err(self.telling(earlier, error)),
                (false, None) => return Err(error),
            };
        }
    }

    fn attempt(&self, mode: SslMode) -> Result<Client, postgres::Error> {
        let mut config = self.config.clone();
        config.ssl_mode(mode);
        match (&self.connector, mode) {
            (None, _) | (_, SslMode::Disable) => config.connect(NoTls),
            (Some(connector), _) => config.connect(connector.clone()),
        }
    }

    /// Whether the other kind of connection may work: TLS failed, or the server's pg_hba.conf has
    /// no line for this kind (libpq, fe-connect.c, `PQconnectPoll`: errors before authentication).
    fn is_of_encryption(&self, error: &postgres::Error) -> bool {
        TlsTrouble::of(error, self.shows_certificate).is_some()
            || error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
    }

    /// The one of two errors to tell.
    fn telling(&self, first: postgres::Error, second: postgres::Error) -> postgres::Error {
        let lacks_tls = |error| {
            matches!(
                TlsTrouble::of(error, self.shows_certificate),
                Some(TlsTrouble::NotOffered)
            )
        };
        let (tls, clear) = match self.tls.mode {
            TlsMode::Allow => (second, first),
            _ => (first, second),
        };
        match lacks_tls(&tls) {
            true => clear,
            false => tls,
        }
    }

    /// What to tell of a connection in clear that was to be encrypted. Without a wish, one to this
    /// machine is nothing to tell.
    fn caution(&self, mode: SslMode, tried: &postgres::Error) -> Option<Caution> {
        let is_clear = mode == SslMode::Disable;
        let matters = self.tls.is_named || !address::is_local(&self.config);
        let caution = match TlsTrouble::of(tried, self.shows_certificate) {
            Some(TlsTrouble::NotOffered) => Caution::NoTlsOffered,
            _ => Caution::TlsFailed,
        };
        (is_clear && matters).then_some(caution)
    }
}
