//! One connection to one endpoint, and a limit on what each request takes.

use std::future::Future;
use std::time::Duration;

use etcd_client::{Certificate, Client, ConnectOptions, Error, Identity, TlsOptions};
use tokio::time::timeout;

use crate::etcd::settings::Settings;
use crate::etcd::{Trouble, files};

/// A connection to one endpoint. With one at a time a failure names its endpoint, and the next attempt takes
/// another one.
pub(crate) struct Link<'s> {
    client: Client,
    pub(crate) settings: &'s Settings,
    pub(crate) endpoint: &'s str,
}

impl<'s> Link<'s> {
    /// Files are read anew each time: certificates are renewed while the daemon runs.
    pub(crate) async fn open(settings: &'s Settings, endpoint: &'s str) -> Result<Self, Trouble> {
        let mut options = ConnectOptions::new()
            .with_connect_timeout(settings.timeout)
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if endpoint.starts_with("https://") {
            options = options.with_tls(tls(settings)?);
        }
        if let Some(user) = &settings.user {
            options = options.with_user(&user.user, files::password(&user.password_file)?);
        }
        let connected = timeout(settings.timeout, Client::connect([endpoint], Some(options))).await;
        let client = match connected {
            Ok(connected) => {
                connected.map_err(|error| Trouble::of(&error, endpoint, &settings.prefix))?
            }
            Err(_) => return Err(silent(endpoint)),
        };
        Ok(Self {
            client,
            settings,
            endpoint,
        })
    }

    /// A client for one request: they share the connection.
    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Waits for an answer, not longer than a request may take.
    pub(crate) async fn ask<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Trouble> {
        self.ask_within(self.settings.timeout, answer).await
    }

    pub(crate) async fn ask_within<T>(
        &self,
        limit: Duration,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Trouble> {
        match timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|error| self.trouble(&error)),
            Err(_) => Err(silent(self.endpoint)),
        }
    }

    pub(crate) fn trouble(&self, error: &Error) -> Trouble {
        Trouble::of(error, self.endpoint, &self.settings.prefix)
    }

    /// The server has closed a stream.
    pub(crate) fn closed(&self, stream: &str) -> Trouble {
        Trouble::Other {
            endpoint: self.endpoint.to_owned(),
            why: format!("it has closed the {stream}"),
        }
    }

    /// The full key of a path.
    pub(crate) fn key(&self, path: &str) -> String {
        crate::etcd::keys::full(&self.settings.prefix, path)
    }

    /// The path of a full key.
    pub(crate) fn path<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        crate::etcd::keys::path(&self.settings.prefix, key)
    }
}

fn silent(endpoint: &str) -> Trouble {
    Trouble::Silent {
        endpoint: endpoint.to_owned(),
    }
}

fn tls(settings: &Settings) -> Result<TlsOptions, Trouble> {
    // What the system trusts, where the policy says nothing.
    let mut tls = match settings.tls.ca {
        Some(_) => TlsOptions::new(),
        None => TlsOptions::new().with_native_roots(),
    };
    if let Some(ca) = &settings.tls.ca {
        tls = tls.ca_certificate(Certificate::from_pem(files::pem("ca", ca)?));
    }
    if let Some((cert, key)) = &settings.tls.own {
        tls = tls.identity(Identity::from_pem(
            files::pem("cert", cert)?,
            files::key(key)?,
        ));
    }
    Ok(tls)
}
