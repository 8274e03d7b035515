//! Whose stamps a run is to have.

use std::fmt;
use std::str::FromStr;

/// What the user asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamps {
    /// The NICs' beside the kernel's where both ports have them.
    #[default]
    Auto,
    /// The NICs' beside the kernel's, or no result.
    Hardware,
    /// Only the kernel's: no probes are sent, and no NIC is told anything.
    Software,
}

/// Not the name of stamps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a kind of time stamps: write auto, hardware or software")]
pub struct NoStampsWord(String);

impl FromStr for Stamps {
    type Err = NoStampsWord;

    fn from_str(text: &str) -> Result<Self, NoStampsWord> {
        match text {
            "auto" => Ok(Self::Auto),
            "hardware" => Ok(Self::Hardware),
            "software" => Ok(Self::Software),
            other => Err(NoStampsWord(other.to_owned())),
        }
    }
}

impl fmt::Display for Stamps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Hardware => "hardware",
            Self::Software => "software",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back() {
        for stamps in [Stamps::Auto, Stamps::Hardware, Stamps::Software] {
            assert_eq!(stamps.to_string().parse(), Ok(stamps));
        }
        assert_eq!(
            "nic".parse::<Stamps>().unwrap_err().to_string(),
            "\"nic\" is not a kind of time stamps: write auto, hardware or software"
        );
    }
}
