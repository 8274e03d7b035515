//! Tokens and keys in files, which nobody but their owner reads.

use std::path::Path;

use anyhow::anyhow;
use nicety_host::regular;
use nicety_socket::Token;

use crate::exit::Failure;

/// Longest file: a token has 128 bytes at most.
const LONGEST: u64 = 256;

/// The token in the file that an option names.
///
/// # Errors
/// When the file cannot be read, is not the user's alone, or holds no token.
pub fn read(option: &str, file: &Path) -> Result<Token, Failure> {
    let failed = |why: String| Failure::usage(anyhow!("{option} {}: {why}", file.display()));
    let bytes = regular::secret(file, LONGEST).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it holds no text".to_owned()))?;
    Token::new(text.trim_end_matches(['\n', '\r'])).map_err(|error| failed(error.to_string()))
}
