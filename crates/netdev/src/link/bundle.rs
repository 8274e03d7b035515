//! Links that are bundled: the drivers bonding and team.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    BondLacpRate, BondMode, BondXmitHashPolicy, InfoBond, InfoBondPort, InfoData, InfoKind,
    InfoPortData, LacpState, LinkAttribute, LinkInfo, LinkMessage,
};

use super::{Links, of_kind, of_name};
use crate::net_error::NetError;

/// How a bond spreads frames over its links (Linux Documentation/networking/bonding.rst, `mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bonding {
    /// One link carries all.
    ActiveBackup,
    /// In turn.
    BalanceRr,
    /// By a hash over addresses and ports (`xmit_hash_policy=layer3+4`).
    BalanceXor,
    /// The same, over the links that LACP agrees on; it is sent every second (`lacp_rate=fast`).
    Lacp,
}

/// Time in ms between two looks at the links' carrier.
const MIIMON_MS: u32 = 20;

impl Links {
    /// Makes a bond without links. It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`], of the bonding driver.
    pub fn add_bond(&self, name: &str, bonding: Bonding) -> Result<(), NetError> {
        let mode = match bonding {
            Bonding::ActiveBackup => BondMode::ActiveBackup,
            Bonding::BalanceRr => BondMode::BalanceRr,
            Bonding::BalanceXor => BondMode::BalanceXor,
            Bonding::Lacp => BondMode::Ieee8023Ad,
        };
        let mut options = vec![InfoBond::Mode(mode), InfoBond::MiiMon(MIIMON_MS)];
        if matches!(bonding, Bonding::BalanceXor | Bonding::Lacp) {
            options.push(InfoBond::XmitHashPolicy(BondXmitHashPolicy::Layer34));
        }
        if bonding == Bonding::Lacp {
            options.push(InfoBond::AdLacpRate(BondLacpRate::Fast));
        }
        let message = of_kind(name, InfoKind::Bond, Some(InfoData::Bond(options)))?;
        self.create("make bond", name, message)
    }

    /// Makes a team without links or mode, see [`crate::team`]. It is down.
    ///
    /// # Errors
    /// As [`Links::add_veth`], of the team driver.
    pub fn add_team(&self, name: &str) -> Result<(), NetError> {
        let message = of_kind(name, InfoKind::Team, None)?;
        self.create("make team", name, message)
    }

    /// Whether LACP lets a link of a bond carry frames, both ways.
    ///
    /// # Errors
    /// [`NetError::NotFound`].
    pub fn lacp_carries(&self, port: &str) -> Result<bool, NetError> {
        let answers = self
            .channel
            .query(RouteNetlinkMessage::GetLink(of_name(port)?), 0)
            .map_err(|e| self.error("read interface", port, e))?;
        let states = answers.into_iter().filter_map(|answer| match answer {
            RouteNetlinkMessage::NewLink(message) => actor_state(message),
            _ => None,
        });
        let both = LacpState::COLLECTING | LacpState::DISTRIBUTING;
        Ok(states.into_iter().any(|state| state.contains(both)))
    }
}

/// What the bond says of one of its links.
fn actor_state(message: LinkMessage) -> Option<LacpState> {
    let infos = message.attributes.into_iter().filter_map(|of| match of {
        LinkAttribute::LinkInfo(infos) => Some(infos),
        _ => None,
    });
    infos.flatten().find_map(|info| {
        let LinkInfo::PortData(InfoPortData::BondPort(facts)) = info else {
            return None;
        };
        facts.into_iter().find_map(|fact| match fact {
            InfoBondPort::AdActorOperPortState(state) => Some(state),
            _ => None,
        })
    })
}
