//! The secret that both ends know, and how each shows the other that it does without saying it.
//!
//! The server sends a nonce, the client one of its own. Each then sends HMAC-SHA256 (RFC 2104) of its role
//! and both nonces under the token. So what is heard on the way opens no second connection. A token that
//! can be guessed can be guessed from it, though: random ones have 96 bits.

use std::fmt;
use std::io;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::wire::random;

/// The secret both ends must know. Its text is shown where the user asked for it and nowhere
/// else.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why a text is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a token has 8 to 128 printable characters without blanks; `nicety sock serve` makes one up when none is given"
)]
pub struct TokenError;

impl Token {
    /// Checks a token given by the user.
    ///
    /// # Errors
    /// When it is too short to be a secret, too long, or not printable.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let fine = (8..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        fine.then(|| Self(text.to_owned())).ok_or(TokenError)
    }

    /// A random one of 96 bits, from the kernel.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub fn random() -> io::Result<Self> {
        let bytes: [u8; 12] = random()?;
        Ok(Self(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    /// The text, to be told to whoever may connect.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is its text; takes the same time however much of it is right.
    pub fn is(&self, text: &str) -> bool {
        // Proofs of one key are alike only where the texts are.
        let nonces = Nonces {
            server: [0; 32],
            client: [0; 32],
        };
        let other = Self(text.to_owned());
        self.proof(Role::Server, nonces)
            .is_some_and(|proof| other.proves(&proof, Role::Server, nonces))
    }

    /// What an end shows.
    pub(crate) fn proof(&self, role: Role, nonces: Nonces) -> Option<Proof> {
        Some(Proof(
            self.mac(role, nonces)?.finalize().into_bytes().into(),
        ))
    }

    /// Whether the other end has the token; takes the same time however much of a proof is right.
    pub(crate) fn proves(&self, proof: &Proof, role: Role, nonces: Nonces) -> bool {
        self.mac(role, nonces)
            .is_some_and(|mac| mac.verify_slice(&proof.0).is_ok())
    }

    /// None only for a key of a length that HMAC does not take, and it takes all.
    fn mac(&self, role: Role, nonces: Nonces) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.0.as_bytes()).ok()?;
        mac.update(match role {
            Role::Client => b"nicety sock client",
            Role::Server => b"nicety sock server",
        });
        mac.update(&nonces.server);
        mac.update(&nonces.client);
        Some(mac)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Who shows that it has the token: what one end has said is worth nothing to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Client,
    Server,
}

/// A number that is used once.
pub(crate) type Nonce = [u8; 32];

/// Those of one connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nonces {
    pub server: Nonce,
    pub client: Nonce,
}

/// Says that an end has the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Proof([u8; 32]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_checked_and_hidden() {
        for bad in ["", "short", "with blank", "tab\tinside1", &"x".repeat(129)] {
            assert_eq!(Token::new(bad), Err(TokenError), "{bad:?}");
        }
        let token = Token::new("correct-horse").unwrap();
        assert!(!format!("{token:?}").contains("correct"));
        let made = Token::random().unwrap();
        assert_ne!(made, Token::random().unwrap());
        assert!(made.is(made.text()) && !made.is("") && !token.is("correct-hors3"));
        assert_eq!(Token::new(made.text()), Ok(made));
    }

    #[test]
    fn a_proof_is_of_one_token_one_role_and_one_connection() {
        let token = Token::new("correct-horse").unwrap();
        let nonces = Nonces {
            server: [1; 32],
            client: [2; 32],
        };
        let proof = token.proof(Role::Client, nonces).unwrap();
        assert!(token.proves(&proof, Role::Client, nonces));
        let other = Token::new("correct-hors3").unwrap();
        assert!(!other.proves(&proof, Role::Client, nonces));
        assert!(!token.proves(&proof, Role::Server, nonces));
        for again in [
            Nonces {
                server: [3; 32],
                ..nonces
            },
            Nonces {
                client: [3; 32],
                ..nonces
            },
        ] {
            assert!(!token.proves(&proof, Role::Client, again), "replayed");
        }
    }

    #[test]
    fn the_proof_is_the_hmac_that_others_compute() {
        // Python: hmac.new(b"correct-horse", b"nicety sock client" + b"\1"*32 + b"\2"*32, "sha256")
        let token = Token::new("correct-horse").unwrap();
        let nonces = Nonces {
            server: [1; 32],
            client: [2; 32],
        };
        let proof = token.proof(Role::Client, nonces).unwrap();
        let hex: String = proof.0.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "d4e5bd2ecf23138e4c005f735ac84b3d1d1615955a837236aec535d2016b9348"
        );
    }
}
