//! Modes of team interfaces (include/uapi/linux/if_team.h).

use netlink_sys::protocols::NETLINK_GENERIC;

use crate::genetlink::Family;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::raw::RawMessage;

const TEAM_CMD_OPTIONS_SET: u8 = 1;

const TEAM_ATTR_TEAM_IFINDEX: u16 = 1;
const TEAM_ATTR_LIST_OPTION: u16 = 2;
const TEAM_ATTR_ITEM_OPTION: u16 = 1;
const TEAM_ATTR_OPTION_NAME: u16 = 1;
const TEAM_ATTR_OPTION_TYPE: u16 = 3;
const TEAM_ATTR_OPTION_DATA: u16 = 4;

// include/net/netlink.h
const NLA_U32: u8 = 3;
const NLA_STRING: u8 = 5;

/// What a team does with frames, as far as it needs no program beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamMode {
    /// One link carries all, see [`Teams::set_active`].
    ActiveBackup,
    /// In turn.
    RoundRobin,
}

/// The teams of one namespace.
#[derive(Debug)]
pub struct Teams {
    channel: Channel,
    family: Family,
    ns: NetNs,
}

impl Teams {
    /// Those of `ns`.
    ///
    /// # Errors
    /// [`NetError::NotFound`] for a kernel without the team driver.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        let channel = Channel::open(ns, NETLINK_GENERIC)?;
        let family = Family::find(&channel, "team")
            .map_err(|e| NetError::new("ask about teams in", ns, e))?;
        Ok(Self {
            channel,
            family,
            ns: ns.clone(),
        })
    }

    /// Gives team number `index` its mode, before its first link.
    ///
    /// # Errors
    /// [`NetError::Unsupported`] or [`NetError::NotFound`] for a kernel without the mode.
    pub fn set_mode(&self, index: u32, mode: TeamMode) -> Result<(), NetError> {
        let word = match mode {
            TeamMode::ActiveBackup => "activebackup",
            TeamMode::RoundRobin => "roundrobin",
        };
        self.set(index, "mode", |option| {
            option.put(TEAM_ATTR_OPTION_TYPE, &[NLA_STRING]);
            option.put_str(TEAM_ATTR_OPTION_DATA, word);
        })
    }

    /// Says over which of its links team number `index` sends and receives.
    ///
    /// # Errors
    /// [`NetError::NotFound`], [`NetError::NotPermitted`].
    pub fn set_active(&self, index: u32, link: u32) -> Result<(), NetError> {
        self.set(index, "activeport", |option| {
            option.put(TEAM_ATTR_OPTION_TYPE, &[NLA_U32]);
            option.put_u32(TEAM_ATTR_OPTION_DATA, link);
        })
    }

    fn set(
        &self,
        index: u32,
        name: &str,
        value: impl FnOnce(&mut RawMessage),
    ) -> Result<(), NetError> {
        let mut message = RawMessage::genl(self.family, TEAM_CMD_OPTIONS_SET);
        message.put_u32(TEAM_ATTR_TEAM_IFINDEX, index);
        message.nest(TEAM_ATTR_LIST_OPTION, |list| {
            list.nest(TEAM_ATTR_ITEM_OPTION, |option| {
                option.put_str(TEAM_ATTR_OPTION_NAME, name);
                value(option);
            });
        });
        match self.channel.change(message, 0) {
            // It is set; the answer is that of the news about it, for which nobody listens (`team_nl_options_set_doit`).
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            set => set.map_err(|e| NetError::new("set an option of team", self.ns.has(name), e)),
        }
    }
}
