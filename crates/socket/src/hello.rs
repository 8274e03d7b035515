//! What a data flow says first, so that strangers at the data port do not count.

/// Length of a greeting.
pub(crate) const LENGTH: usize = 28;

const FROM_CLIENT: [u8; 8] = *b"nicety.c";
const FROM_SERVER: [u8; 8] = *b"nicety.s";

/// The key of a test, drawn by the server.
pub(crate) type Key = [u8; 16];

/// What a client's flow says.
pub(crate) fn greeting(key: &Key, flow: u32) -> [u8; LENGTH] {
    message(FROM_CLIENT, key, flow)
}

/// What the server answers over UDP.
pub(crate) fn reply(key: &Key, flow: u32) -> [u8; LENGTH] {
    message(FROM_SERVER, key, flow)
}

fn message(kind: [u8; 8], key: &Key, flow: u32) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&kind);
    bytes[8..24].copy_from_slice(key);
    bytes[24..].copy_from_slice(&flow.to_be_bytes());
    bytes
}

/// The flow of a client's greeting with the right key.
pub(crate) fn flow_of(bytes: &[u8], key: &Key) -> Option<u32> {
    let flow = u32::from_be_bytes(bytes.get(24..LENGTH)?.try_into().ok()?);
    (bytes.len() == LENGTH && bytes == greeting(key, flow)).then_some(flow)
}

/// Whether a datagram belongs to the greetings of this test, late or repeated.
pub(crate) fn is_either(bytes: &[u8], key: &Key) -> bool {
    bytes.len() == LENGTH
        && bytes[8..24] == *key
        && (bytes[..8] == FROM_CLIENT || bytes[..8] == FROM_SERVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_key_gets_in() {
        let key = [7; 16];
        let hello = greeting(&key, 0x0102_0304);
        assert_eq!(flow_of(&hello, &key), Some(0x0102_0304));
        assert_eq!(flow_of(&hello, &[8; 16]), None);
        assert_eq!(flow_of(&hello[..27], &key), None);
        assert_eq!(flow_of(&reply(&key, 3), &key), None);
        assert!(is_either(&reply(&key, 3), &key) && is_either(&hello, &key));
        assert!(!is_either(&hello, &[8; 16]));
    }
}
