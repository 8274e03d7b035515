//! Ethernet hardware addresses.

use std::fmt;
use std::str::FromStr;

use crate::PacketError;

/// The byte of an address that tells stations of a port apart.
pub(crate) const STATION: usize = 4;

/// A 48-bit hardware address (IEEE 802).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All ones.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Whether this names a group: multicast or broadcast.
    pub fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// A locally administered individual address with `n` in its low bytes, for interfaces
    /// that the tester makes itself: `02:4e:xx:xx:xx:xx`.
    pub fn local(n: u32) -> Self {
        let [a, b, c, d] = n.to_be_bytes();
        Self([0x02, 0x4e, a, b, c, d])
    }

    /// Station `n` of those that share a port: this address with `n` in its last byte but one.
    /// Station 0 of an address that [`Self::local`] makes from a number below 256 is itself.
    pub fn station(self, n: u8) -> Self {
        let mut bytes = self.0;
        bytes[STATION] = n;
        Self(bytes)
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddr {
    type Err = PacketError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || PacketError::MacText {
            text: text.to_owned(),
        };
        let mut bytes = [0; 6];
        let mut parts = text.split([':', '-']);
        for byte in &mut bytes {
            let part = parts.next().ok_or_else(wrong)?;
            if part.len() != 2 || !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(wrong());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        match parts.next() {
            None => Ok(Self(bytes)),
            Some(_) => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let mac: MacAddr = "02:4e:00:aB:00:ff".parse().unwrap();
        assert_eq!(mac, MacAddr([0x02, 0x4e, 0, 0xab, 0, 0xff]));
        assert_eq!(mac.to_string(), "02:4e:00:ab:00:ff");
        assert_eq!(mac, MacAddr::local(0x00ab_00ff));
        assert_eq!("02-4e-00-ab-00-ff".parse(), Ok(mac));
    }

    #[test]
    fn bad_text_is_refused() {
        for text in [
            "",
            "02:4e",
            "02:4e:00:ab:00:ff:00",
            "0:4e:00:ab:00:ff",
            "+2:4e:00:ab:00:ff",
            "zz:4e:00:ab:00:ff",
        ] {
            assert!(text.parse::<MacAddr>().is_err(), "{text}");
        }
    }

    #[test]
    fn groups_are_recognised() {
        assert!(MacAddr::BROADCAST.is_group());
        assert!(MacAddr([0x01, 0, 0x5e, 0, 0, 1]).is_group());
        assert!(!MacAddr::local(7).is_group());
    }
}
