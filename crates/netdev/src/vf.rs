//! Virtual functions of SR-IOV NICs: what the kernel tells of them, and their rates.
//!
//! `RTM_GETLINK` with `IFLA_EXT_MASK` gives `IFLA_VFINFO_LIST` (net/core/rtnetlink.c,
//! `rtnl_fill_vfinfo`); `RTM_SETLINK` with `IFLA_VF_RATE` sets a rate. Who holds a function is in
//! sysfs and procfs.

mod address;
mod count;
#[cfg(test)]
mod fake;
mod holder;
mod namespace;
mod parse;
mod place;
mod registers;
mod setting;
mod sigbus;
mod switch;
mod used;

use libc::{IFLA_EXT_MASK, IFLA_IFNAME, RTM_GETLINK};
use netlink_sys::protocols::NETLINK_ROUTE;

use crate::devlink::Devlink;
use crate::ethtool::Ethtool;
use crate::link::check_name;
use crate::net_error::NetError;
use crate::netlink::Channel;
use crate::netns::NetNs;
use crate::policer::Policers;
use crate::raw::RawMessage;

pub use count::FunctionCount;
pub use holder::{Holder, VfHolders};
pub use parse::{FunctionCounters, FunctionList, FunctionState, Limiter};
pub use place::{PciFunction, Places};
pub use registers::{Chip, RegisterCounters, Registers};
pub use setting::FunctionSetting;
pub use switch::Switch;
pub use used::{FunctionUse, UsedFunction, used};

const IFLA_VF_RATE: u16 = 6;
const RTEXT_FILTER_VF: u32 = 1;
const RTEXT_FILTER_SKIP_STATS: u32 = 1 << 3;

/// The virtual functions of the NICs of one namespace.
#[derive(Debug)]
pub struct Functions {
    channel: Channel,
    ethtool: Ethtool,
    /// None where the kernel has none.
    devlink: Option<Devlink>,
    policers: Policers,
    ns: NetNs,
}

impl Functions {
    /// Those of `ns`.
    ///
    /// # Errors
    /// When the namespace cannot be asked.
    pub fn open(ns: &NetNs) -> Result<Self, NetError> {
        Ok(Self {
            channel: Channel::open(ns, NETLINK_ROUTE)?,
            ethtool: Ethtool::open(ns)?,
            devlink: Devlink::open(ns)?,
            policers: Policers::open(ns)?,
            ns: ns.clone(),
        })
    }

    /// What the kernel tells of the functions of `pf`. From about 220 functions on the list is
    /// longer than its length field can tell; it is read all the same. Where the kernel refuses
    /// so long an answer it is asked for one without counters.
    ///
    /// # Errors
    /// [`NetError::BadName`], [`NetError::NotFound`], or what the driver says.
    pub fn read(&self, pf: &str) -> Result<FunctionList, NetError> {
        let mut list = self.list(pf)?;
        if list.announced > 0
            && let Some(switch) = self.switch(pf)?
        {
            switch::merge(&mut list, switch);
        }
        Ok(list)
    }

    /// As [`Self::read`], with a switch that is believed to be as it was: only what its policers count is
    /// asked for anew. Drivers are asked for counters when these are wanted.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_again(
        &self,
        pf: &str,
        before: &FunctionList,
        counters: bool,
    ) -> Result<FunctionList, NetError> {
        let mut list = if counters {
            self.list(pf)?
        } else {
            self.ask(pf, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS)?
        };
        if list.announced != before.announced {
            return self.read(pf);
        }
        if let Some(switch) = &before.switch {
            switch::merge(&mut list, self.recount(switch.clone())?);
        }
        Ok(list)
    }

    /// What `RTM_GETLINK` tells.
    fn list(&self, pf: &str) -> Result<FunctionList, NetError> {
        match self.ask(pf, RTEXT_FILTER_VF) {
            // The kernel had no room for its own answer.
            Err(error) if error.is_too_long() => {
                self.ask(pf, RTEXT_FILTER_VF | RTEXT_FILTER_SKIP_STATS)
            }
            other => other,
        }
    }

    fn ask(&self, pf: &str, mask: u32) -> Result<FunctionList, NetError> {
        check_name(pf)?;
        // struct ifinfomsg.
        let mut request = RawMessage::new(RTM_GETLINK, &[0; 16]);
        request.put_str(IFLA_IFNAME, pf);
        request.put(IFLA_EXT_MASK, &mask.to_ne_bytes());
        let answers = self
            .channel
            .query(request, 0)
            .map_err(|e| self.error("read virtual functions of", pf, e))?;
        let answer = answers.first().map(parse::function_list);
        answer.ok_or_else(|| NetError::bad_reply("read virtual functions of", pf, "no link in it"))
    }

    /// Sets the rates of a function in Mbit/s; 0 is none. Read it back: some drivers take
    /// another one. On a NIC in switchdev mode it is devlink-rate(8) where it has that, else a policer on
    /// the representor, which has no minimum.
    ///
    /// # Errors
    /// [`NetError::NotPermitted`], [`NetError::Unsupported`], or what the driver says.
    pub fn set_rate(&self, pf: &str, vf: u32, max: u32, min: u32) -> Result<(), NetError> {
        check_name(pf)?;
        if self.set_by_switch(pf, vf, max, min)? {
            return Ok(());
        }
        self.channel
            .change(rate_request(pf, vf, max, min), 0)
            .map_err(|e| self.error("set rate of", &format!("{pf}/vf{vf}"), e))
    }

    fn error(&self, operation: &'static str, name: &str, source: std::io::Error) -> NetError {
        NetError::new(operation, self.ns.has(name), source)
    }
}

fn rate_request(pf: &str, vf: u32, max: u32, min: u32) -> RawMessage {
    // struct ifla_vf_rate.
    let rate = [vf, min, max].map(u32::to_ne_bytes).concat();
    setting::request(pf, IFLA_VF_RATE, &rate)
}

/// Reads bytes as an answer about virtual functions.
#[doc(hidden)]
pub fn hostile(bytes: &[u8]) {
    let list = parse::function_list(&RawMessage::new(libc::RTM_NEWLINK, bytes));
    for function in &list.functions {
        let _ = function.mac.map(|mac| mac.to_string());
    }
}

#[cfg(test)]
mod tests;
