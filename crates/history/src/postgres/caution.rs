//! What to tell whoever names a server, though it works.

use std::fmt;

/// Something that works and is not as safe as it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caution {
    /// The password stands among the arguments.
    PasswordInArguments,
    /// Others can read the file with passwords.
    PassfileOpen,
    /// What is named as the file with passwords is none.
    PassfileNoFile,
    /// The server offers no TLS, and the mode goes on without.
    NoTlsOffered,
    /// TLS failed or was refused, and the mode goes on without.
    TlsFailed,
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PasswordInArguments => {
                "other users can read the password in --store; leave it out and use PGPASSFILE or \
                 PGSERVICE, or name the store in NICETY_STORE"
            }
            Self::PassfileOpen => {
                "others can read the password file, so it is not used; run chmod 600 on it"
            }
            Self::PassfileNoFile => {
                "the password file is no regular file, so it is not used; name another one in PGPASSFILE"
            }
            Self::NoTlsOffered => {
                "the server offers no TLS, so the connection is not encrypted; switch TLS on there, or \
                 accept this with sslmode=disable"
            }
            Self::TlsFailed => {
                "TLS failed, so the connection is not encrypted; sslmode=require shows why, \
                 sslmode=disable accepts this"
            }
        })
    }
}
