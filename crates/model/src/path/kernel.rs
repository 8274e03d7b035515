//! Parameters of the paths that are made of the kernel alone: routers, tunnels, and what stands on an interface.

use super::{Aggregation, Encapsulation, Lookup, Nat, OnOff, SubMode, TcFilter, params};

params! {
    /// Parameters of a router.
    RoutedParams {
        /// Rules of nftables that every packet is compared with, and none of which fits.
        rules: u32,
        /// How these are looked through.
        lookup: Lookup,
        /// What it does to addresses.
        nat: Nat,
        /// Whether packets of known connections take the short cut of a flowtable.
        flowtable: OnOff,
    }
}

params! {
    /// Parameters of a tunnel.
    TunnelParams {
        /// What it packs frames in.
        encapsulation: Encapsulation,
        /// Whether its receiving ends merge packets of a flow (GRO).
        gro: OnOff,
    }
}

impl RoutedParams {
    /// Rules: none when absent.
    pub fn rules(&self) -> u32 {
        self.rules.unwrap_or(0)
    }

    /// How they are looked through: one after the other when absent.
    pub fn lookup(&self) -> Lookup {
        self.lookup.unwrap_or(Lookup::Linear)
    }

    /// Whether source addresses are translated.
    pub fn snat(&self) -> bool {
        self.nat == Some(Nat::Snat)
    }

    /// Whether there is a flowtable.
    pub fn flowtable(&self) -> bool {
        self.flowtable == Some(OnOff::On)
    }

    /// Whether the kernel keeps every connection in mind (conntrack).
    pub fn tracks(&self) -> bool {
        self.snat() || self.flowtable()
    }

    /// Whether it has rules of nftables at all.
    pub fn filters(&self) -> bool {
        self.rules() > 0 || self.tracks()
    }
}

impl TunnelParams {
    /// What it packs frames in: VXLAN when absent.
    pub fn encapsulation(&self) -> Encapsulation {
        self.encapsulation.unwrap_or(Encapsulation::Vxlan)
    }

    /// Whether packets of a flow are merged: not when absent, so that every frame is worked on by itself.
    pub fn gro(&self) -> bool {
        self.gro == Some(OnOff::On)
    }
}

/// Mode of a macvlan that was given none.
pub const MACVLAN_MODE: SubMode = SubMode::Bridge;
/// Mode of an ipvlan that was given none, as with ip-link(8).
pub const IPVLAN_MODE: SubMode = SubMode::L3;
/// What finds frames for tc where nothing was said.
pub const TC_FILTER: TcFilter = TcFilter::Matchall;
/// Mode of a netkit pair that was given none, as with ip-link(8).
pub const NETKIT_MODE: SubMode = SubMode::L3;
/// How frames are spread over bundled links where nothing was said.
pub const AGGREGATION: Aggregation = Aggregation::ActiveBackup;
