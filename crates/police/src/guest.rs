//! The guests' protocol: lines over a channel that is the identity of its tenant.
//!
//! A request is a line of at most [`LONGEST`] bytes of ASCII, `1 ID WORDS`: the version of the
//! protocol, up to 16 letters and digits that the answer repeats, and
//!
//! ```text
//! status                        own traffic and limits
//! limit 200mbit                 own soft limit, until it is changed
//! limit 200mbit for 60s         for a while
//! limit none                    no soft limit
//! limit none for 60s            none for a while
//! ```
//!
//! The answer is one line of JSON, a [`Reply`]. No request names a tenant: a guest sees and changes
//! its own record only. A soft limit may go down and up freely to the hard limit, as with ulimit, and
//! never above. A limit "for a while" does not change the lasting one, which returns afterwards.

mod budget;
mod lines;
mod record;

use std::time::Duration;

use nicety_model::BitRate;
use nicety_model::plan::parse_duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use budget::{Budget, Refusals};
pub use lines::{Line, Lines};
pub use record::{Record, Soft};

/// Port of the daemon's vsock.
pub const VSOCK_PORT: u32 = 9472;
/// Longest line in bytes, without its end.
pub const LONGEST: usize = 256;
/// Lowest soft limit: less than this is nothing to work with.
pub const LEAST: BitRate = BitRate(64_000);
/// Longest lease.
const LONGEST_LEASE: Duration = Duration::from_secs(7 * 86_400);
const VERSION: &str = "1";
const ID_BYTES: usize = 16;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// ID, repeated in the answer.
    pub id: String,
    /// The request.
    pub command: Command,
}

/// Request of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Its record.
    Status,
    /// Another soft limit; none for no limit.
    Limit {
        /// The limit.
        limit: Option<BitRate>,
        /// For how long; none until it is changed.
        lease: Option<Duration>,
    },
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// Version of the protocol.
    pub version: u32,
    /// The request's; empty when none could be read.
    pub id: String,
    /// Why nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// The record after the request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<Box<Record>>,
}

impl Reply {
    /// A refusal.
    pub fn error(id: &str, why: impl Into<String>) -> Self {
        Self {
            version: 1,
            id: id.to_owned(),
            error: Some(why.into()),
            status: None,
        }
    }

    /// A record.
    pub fn status(id: &str, record: Record) -> Self {
        Self {
            version: 1,
            id: id.to_owned(),
            error: None,
            status: Some(Box::new(record)),
        }
    }
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// The refusal to send back.
    pub fn parse(line: &[u8]) -> Result<Self, Reply> {
        let text = std::str::from_utf8(line)
            .ok()
            .filter(|text| text.is_ascii() && line.len() <= LONGEST)
            .ok_or_else(|| Reply::error("", "no line of ASCII; write 1 ID status"))?;
        let mut words = text.split_ascii_whitespace();
        if words.next() != Some(VERSION) {
            return Err(Reply::error(
                "",
                "another version of the protocol; write 1 ID status",
            ));
        }
        let id = words.next().unwrap_or_default();
        let fits = (1..=ID_BYTES).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !fits {
            return Err(Reply::error(
                "",
                "no ID of up to 16 letters and digits; write 1 ID status",
            ));
        }
        let words: Vec<&str> = words.take(6).collect();
        let command = match words[..] {
            ["status"] => Command::Status,
            ["limit", rate] => Command::Limit {
                limit: limit(id, rate)?,
                lease: None,
            },
            ["limit", rate, "for", time] => Command::Limit {
                limit: limit(id, rate)?,
                lease: Some(lease(id, time)?),
            },
            _ => {
                return Err(Reply::error(
                    id,
                    "not known; write status, limit 200mbit, limit 200mbit for 60s or limit none",
                ));
            }
        };
        Ok(Self {
            id: id.to_owned(),
            command,
        })
    }

    /// The line, without its end.
    pub fn line(&self) -> String {
        let head = format!("{VERSION} {} ", self.id);
        match self.command {
            Command::Status => head + "status",
            Command::Limit { limit, lease } => {
                let rate = limit.map_or_else(|| "none".to_owned(), |rate| rate.to_string());
                let time =
                    lease.map_or_else(String::new, |time| format!(" for {}ms", time.as_millis()));
                format!("{head}limit {rate}{time}")
            }
        }
    }
}

fn limit(id: &str, text: &str) -> Result<Option<BitRate>, Reply> {
    soft_limit(text).map_err(|why| Reply::error(id, why))
}

/// A soft limit as a guest writes it: a rate, or `none`.
///
/// # Errors
/// Error message for the guest.
pub fn soft_limit(text: &str) -> Result<Option<BitRate>, String> {
    if text == "none" {
        return Ok(None);
    }
    let rate: BitRate = text
        .parse()
        .map_err(|error: nicety_model::BitRateError| error.to_string())?;
    if rate < LEAST {
        return Err(format!(
            "{rate} is too little to work with; write at least {LEAST}, or none"
        ));
    }
    Ok(Some(rate))
}

fn lease(id: &str, text: &str) -> Result<Duration, Reply> {
    let time = parse_duration(text).map_err(|error| Reply::error(id, error.to_string()))?;
    if time.is_zero() || time > LONGEST_LEASE {
        return Err(Reply::error(id, "a limit is for 1ms to 168h"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests;
