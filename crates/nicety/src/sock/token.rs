//! Where the token of `nicety sock` comes from.

use std::path::Path;

use anyhow::anyhow;
use nicety_socket::Token;

use crate::exit::Failure;
use crate::token_file;

/// Names the token; unlike an argument it is no other user's to read (proc_pid_environ(5)).
const VARIABLE: &str = "NICETY_TOKEN";
/// What to say where a server is named and no token is.
pub const MISSING: &str =
    "HOST needs the token that its server printed; set NICETY_TOKEN, or give --token-file FILE";

/// What the file holds, else the variable.
///
/// # Errors
/// When the file cannot be read, is not the user's alone, or something is no token.
pub fn given(file: Option<&Path>) -> Result<Option<Token>, Failure> {
    if let Some(file) = file {
        return token_file::read("--token-file", file).map(Some);
    }
    match std::env::var(VARIABLE) {
        Err(std::env::VarError::NotPresent) => Ok(None),
        value => Token::new(&value.unwrap_or_default())
            .map(Some)
            .map_err(|error| Failure::usage(anyhow!("{VARIABLE}: {error}"))),
    }
}
