//! One veth pair between the tester and the far side, set up so that the far end can
//! receive in threads of its own.

use nicety_netdev::link::{Mac, VethEnd};
use nicety_netdev::napi;
use nicety_netdev::net_error::NetError;

use crate::site::Site;

/// One end of a pair: where, name, hardware address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) site: &'a Site,
    pub(crate) name: &'a str,
    pub(crate) mac: Mac,
}

/// Makes the pair `tester`-`far` and switches their features, so that frames sent by the tester
/// enter the far end's NAPI. Both ends stay down.
///
/// The switch is "no TSO on the sending end" rather than `rx-udp-gro-forwarding` or
/// `rx-gro-list` on the receiving end: those would make NAPI merge the tester's datagrams into
/// large ones, so that the path would carry fewer, larger packets than it was offered.
pub(crate) fn connect(
    tester: End<'_>,
    far: End<'_>,
    mtu: u32,
    queues: u32,
) -> Result<(), NetError> {
    fn veth_end(end: End<'_>, mtu: u32, queues: u32) -> VethEnd<'_> {
        VethEnd {
            ns: &end.site.ns,
            name: end.name,
            mtu,
            queues,
            mac: Some(end.mac),
        }
    }
    far.site
        .links
        .add_veth(veth_end(far, mtu, queues), veth_end(tester, mtu, queues))?;
    tester
        .site
        .ethtool
        .set_features(tester.name, &napi::SENDER_FEATURES)?;
    far.site
        .ethtool
        .set_features(far.name, &napi::RECEIVER_FEATURES)?;
    Ok(())
}
