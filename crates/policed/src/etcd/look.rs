//! Reads everything once, for whoever asks from a command line.

use std::io;

use nicety_police::cluster::Changes;

use crate::etcd::connect::Link;
use crate::etcd::forget::ForgetError as LookError;
use crate::etcd::{Settings, Trouble, read, register};

/// Everything below the prefix at one revision.
///
/// # Errors
/// The trouble at the last endpoint, when none could be asked.
pub fn look(settings: &Settings) -> Result<Changes, LookError> {
    at_any(settings, async |link: &Link<'_>| {
        register::known(link).await?;
        Ok(read::everything(link, (b"", 0)).await?.0)
    })
}

/// Has something done at the first endpoint where that works.
pub(crate) fn at_any<T>(
    settings: &Settings,
    work: impl AsyncFn(&Link<'_>) -> Result<T, Trouble>,
) -> Result<T, LookError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build()?;
    runtime.block_on(async {
        let mut last: LookError = io::Error::other("there is no endpoint").into();
        for endpoint in &settings.endpoints {
            let done = match Link::open(settings, endpoint).await {
                Ok(link) => work(&link).await,
                Err(trouble) => Err(trouble),
            };
            match done {
                Ok(done) => return Ok(done),
                Err(trouble) => last = trouble.into(),
            }
        }
        Err(last)
    })
}
