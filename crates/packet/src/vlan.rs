//! VLAN tags (IEEE 802.1Q §9).

use crate::PacketError;

/// Bytes of one tag.
pub const TAG_BYTES: usize = 4;
/// Tag protocol identifier of a customer tag.
pub const TPID_CUSTOMER: u16 = 0x8100;
/// Tag protocol identifier of a service tag (802.1ad).
pub const TPID_SERVICE: u16 = 0x88a8;

/// Tag control information: what stands in the tag after its protocol identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct VlanTag {
    id: u16,
    priority: u8,
}

impl VlanTag {
    /// A tag with identifier 0 (priority only) to 4094 and priority 0 to 7, not drop eligible.
    pub fn new(id: u16, priority: u8) -> Result<Self, PacketError> {
        if id > 4094 {
            return Err(PacketError::VlanId { id });
        }
        if priority > 7 {
            return Err(PacketError::VlanPriority { priority });
        }
        Ok(Self { id, priority })
    }

    /// VLAN identifier.
    pub fn id(self) -> u16 {
        self.id
    }

    /// Priority code point.
    pub fn priority(self) -> u8 {
        self.priority
    }

    /// The 16 bits on the wire: priority 3, drop eligible 1, identifier 12.
    pub fn control(self) -> u16 {
        u16::from(self.priority) << 13 | self.id
    }
}

/// Whether an EtherType announces a tag.
pub fn is_tag(ether_type: u16) -> bool {
    matches!(ether_type, TPID_CUSTOMER | TPID_SERVICE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_word_packs_priority_and_identifier() {
        assert_eq!(VlanTag::new(100, 0).unwrap().control(), 0x0064);
        assert_eq!(VlanTag::new(4094, 7).unwrap().control(), 0xeffe);
    }

    #[test]
    fn limits() {
        assert_eq!(VlanTag::new(4095, 0), Err(PacketError::VlanId { id: 4095 }));
        assert_eq!(
            VlanTag::new(1, 8),
            Err(PacketError::VlanPriority { priority: 8 })
        );
    }
}
