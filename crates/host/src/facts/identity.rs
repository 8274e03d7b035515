//! Whose a record is, and of when: `nicety/identity.json`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nicety_model::run::Naming;
use nicety_model::visible::visible;
use serde::{Deserialize, Serialize};

use super::source::Source;

const FILE: &str = "nicety/identity.json";
/// Longest name that is taken from a record, in characters; the kernel's own limit is 64.
const LONGEST: usize = 100;
/// Seconds until the year 10000: RFC 3339 has four digits for it.
const LAST_SECOND: u64 = 253_402_300_799;
/// Names that say nothing.
const NOBODY: [&str; 4] = ["localhost", "localhost.localdomain", "(none)", "unknown"];

/// What a record says of itself. Names come from somebody else: they are short and hold no control
/// characters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// The host's name; absent in older records, and where it was not to be published.
    pub host: Option<String>,
    /// What its user calls it.
    pub label: Option<String>,
    /// When it was recorded, in seconds since 1970.
    pub captured_unix_s: Option<u64>,
}

impl Identity {
    /// Name, else label.
    pub fn called(&self) -> Option<&str> {
        self.host.as_deref().or(self.label.as_deref())
    }

    /// When it was recorded, since 1970.
    pub fn captured(&self) -> Option<Duration> {
        self.captured_unix_s.map(Duration::from_secs)
    }

    fn checked(self) -> Self {
        Self {
            host: self.host.as_deref().and_then(name),
            label: self.label.as_deref().and_then(name),
            captured_unix_s: self.captured_unix_s.filter(|time| *time <= LAST_SECOND),
        }
    }
}

impl Source {
    /// Writes into the record, if there is one, whose it is and when it was begun.
    pub fn identify(&self, naming: &Naming, now: SystemTime) {
        self.identify_as(naming, now.duration_since(UNIX_EPOCH).ok());
    }

    /// The same with a time since 1970, which may not be known.
    pub fn identify_as(&self, naming: &Naming, captured: Option<Duration>) {
        let identity = Identity {
            host: naming.hostname.clone(),
            label: naming.label.clone(),
            captured_unix_s: captured.map(|time| time.as_secs()),
        };
        self.keep(FILE, || {
            serde_json::to_string(&identity).unwrap_or_default() + "\n"
        });
    }

    /// What the record says of itself; nothing of a running host and in older records.
    pub fn identity(&self) -> Identity {
        let text = if self.is_live() {
            None
        } else {
            self.top.text(FILE)
        };
        let identity = text.and_then(|text| serde_json::from_str::<Identity>(&text).ok());
        identity.map(Identity::checked).unwrap_or_default()
    }
}

/// A name as it may be shown; none where it names nobody.
pub(crate) fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let shown: String = text.chars().take(LONGEST).collect();
    let shown = visible(&shown);
    (!shown.is_empty() && !NOBODY.contains(&shown.as_str())).then_some(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Identity {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("nicety")).unwrap();
        std::fs::write(dir.path().join(FILE), text).unwrap();
        Source::under(dir.path()).identity()
    }

    #[test]
    fn a_record_tells_whose_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let source = Source::live().recording(dir.path()).unwrap();
        let naming = Naming {
            hostname: Some("kvm01".to_owned()),
            label: None,
        };
        source.identify(&naming, UNIX_EPOCH + Duration::from_secs(7));
        assert_eq!(source.identity(), Identity::default());
        let identity = Source::under(dir.path()).identity();
        assert_eq!(identity.called(), Some("kvm01"));
        assert_eq!(identity.captured(), Some(Duration::from_secs(7)));
    }

    #[test]
    fn names_of_others_are_short_and_plain() {
        let long = format!(r#"{{"host":"\u001b[31m{}","label":" "}}"#, "x".repeat(999));
        let host = read(&long).host.unwrap();
        assert_eq!(host.chars().count(), LONGEST);
        assert!(!host.contains('\u{1b}'));
        assert_eq!(read(&long).label, None);
        for nobody in NOBODY {
            let identity = read(&format!(r#"{{"host":"{nobody}","label":"a"}}"#));
            assert_eq!(identity.called(), Some("a"));
        }
        for odd in ["", "[]", r#"{"host":7}"#, "{}", r#"{"captured_unix_s":-1}"#] {
            assert_eq!(read(odd), Identity::default(), "{odd}");
        }
        let late = format!(r#"{{"captured_unix_s":{}}}"#, u64::MAX);
        assert_eq!(read(&late).captured(), None);
    }
}
