//! What the host sets of a function: its address, its VLAN, and what it may do.

use crate::link::{Mac, check_name};
use crate::net_error::NetError;

use super::{Functions, IFLA_IFNAME, IFLA_VF_INFO, IFLA_VFINFO_LIST, RTM_SETLINK};
use crate::raw::RawMessage;

/// One setting of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionSetting {
    /// Its hardware address, which it may not change then.
    Mac(Mac),
    /// The VLAN of all its frames: the NIC adds and removes the tag. 0 for none.
    Vlan(u16),
    /// Whether frames with another source address are dropped.
    SpoofCheck(bool),
    /// Whether it may take frames for addresses beside its own.
    Trust(bool),
}

impl FunctionSetting {
    /// Attribute and value (struct ifla_vf_mac and the like, include/uapi/linux/if_link.h).
    fn attribute(self, vf: u32) -> (u16, Vec<u8>) {
        let words = |words: &[u32]| {
            let all = [vf].into_iter().chain(words.iter().copied());
            all.flat_map(u32::to_ne_bytes).collect()
        };
        match self {
            Self::Mac(mac) => {
                let mut value: Vec<u8> = words(&[]);
                value.extend(mac.0);
                value.resize(36, 0);
                (1, value)
            }
            Self::Vlan(id) => (2, words(&[u32::from(id), 0])),
            Self::SpoofCheck(on) => (4, words(&[u32::from(on)])),
            Self::Trust(on) => (9, words(&[u32::from(on)])),
        }
    }
}

impl Functions {
    /// Changes a setting of a function.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`], [`NetError::Unsupported`], or what the driver says.
    pub fn set(&self, pf: &str, vf: u32, setting: FunctionSetting) -> Result<(), NetError> {
        check_name(pf)?;
        self.channel
            .change(request(pf, vf, setting), 0)
            .map_err(|e| {
                let operation = match setting {
                    FunctionSetting::Mac(_) => "set address of",
                    FunctionSetting::Vlan(_) => "set VLAN of",
                    FunctionSetting::SpoofCheck(_) => "set spoof check of",
                    FunctionSetting::Trust(_) => "set trust in",
                };
                self.error(operation, &format!("{pf}/vf{vf}"), e)
            })
    }
}

fn request(pf: &str, vf: u32, setting: FunctionSetting) -> RawMessage {
    let (kind, value) = setting.attribute(vf);
    let mut request = RawMessage::new(RTM_SETLINK, &[0; 16]);
    request.put_str(IFLA_IFNAME, pf);
    request.nest(IFLA_VFINFO_LIST, |list| {
        list.nest(IFLA_VF_INFO, |info| info.put(kind, &value));
    });
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_laid_out_as_the_kernel_reads_them() {
        let three = 3u32.to_ne_bytes();
        let (kind, value) = FunctionSetting::Mac(Mac([2, 0, 0, 0, 0, 9])).attribute(3);
        assert_eq!((kind, value.len()), (1, 36));
        assert_eq!(value[..10], [&three[..], &[2, 0, 0, 0, 0, 9]].concat());
        let (kind, value) = FunctionSetting::Vlan(101).attribute(3);
        assert_eq!(
            (kind, &value),
            (2, &[3, 101, 0].map(u32::to_ne_bytes).concat())
        );
        let (kind, value) = FunctionSetting::Trust(true).attribute(3);
        assert_eq!((kind, &value), (9, &[3, 1].map(u32::to_ne_bytes).concat()));
        assert_eq!(FunctionSetting::SpoofCheck(false).attribute(0).0, 4);
    }
}
