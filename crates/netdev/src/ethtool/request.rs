//! The command structures of SIOCETHTOOL as bytes.

/// Longest name of a feature or counter, and length of the driver's strings, in bytes.
pub(super) const ETH_GSTRING_LEN: usize = 32;

/// A command structure of ethtool.h as bytes, command number first.
pub(super) struct Request {
    pub(super) bytes: Vec<u8>,
}

impl Request {
    pub(super) fn new(command: u32, size: usize) -> Self {
        let mut request = Self {
            bytes: vec![0; size],
        };
        request.put_word(0, command);
        request
    }

    pub(super) fn put_word(&mut self, at: usize, value: u32) {
        self.bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    pub(super) fn word(&self, at: usize) -> u32 {
        let mut word = [0; 4];
        word.copy_from_slice(&self.bytes[at..at + 4]);
        u32::from_ne_bytes(word)
    }

    pub(super) fn long(&self, at: usize) -> u64 {
        let mut long = [0; 8];
        long.copy_from_slice(&self.bytes[at..at + 8]);
        u64::from_ne_bytes(long)
    }

    pub(super) fn text(&self, at: usize) -> String {
        let field = &self.bytes[at..at + ETH_GSTRING_LEN];
        let end = field.iter().position(|b| *b == 0).unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_cut_out_of_the_structure() {
        let mut request = Request::new(3, 196);
        request.bytes[4..8].copy_from_slice(b"veth");
        assert_eq!(request.text(4), "veth");
        assert_eq!(request.text(36), "");
        assert_eq!(request.word(0), 3);
    }
}
