//! Any bytes in the place of a peer's messages: for the fuzzer, and for the tests that replay what it found.

use crate::wire::{ToClient, ToServer};

/// Reads bytes as a message of a client and as one of a server.
pub fn messages(bytes: &[u8]) {
    if let Ok(message) = serde_json::from_slice::<ToServer>(bytes) {
        let _ = serde_json::to_vec(&message);
    }
    if let Ok(message) = serde_json::from_slice::<ToClient>(bytes) {
        let _ = serde_json::to_vec(&message);
    }
}
