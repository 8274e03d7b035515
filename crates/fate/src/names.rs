//! From what the program noted of a cause to words.

use nicety_model::FateCause;
use nicety_packet::RunMark;

use crate::layout::{Key, cause};
use crate::symbols::Symbols;

/// Before every reason's name.
pub(crate) const REASON: &str = "SKB_DROP_REASON_";
/// Bits of a reason that say whose it is, from this one on.
const SUBSYSTEM_SHIFT: u32 = 16;

/// Where frames that reach a port are thrown away before a packet socket gets its copy.
const BEFORE_SOCKETS: [&str; 8] = [
    "veth_",
    "__dev_queue_xmit",
    "enqueue_to_backlog",
    "netif_rx",
    "do_xdp_generic",
    "netif_receive_generic_xdp",
    "dev_gro_receive",
    "tun_",
];

/// Where the tester receives, and which frames are its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TesterPorts {
    /// Name and inode of the network namespace of every receiving port.
    pub ports: Vec<(String, u64)>,
    /// Whether packet sockets receive there.
    pub by_socket: bool,
    /// What tells its frames from those of other testers.
    pub mark: RunMark,
}

impl TesterPorts {
    /// The mark as programs have it: in the order of bytes of a frame.
    pub(crate) fn mark(&self) -> u32 {
        u32::from(self.mark.identification().to_be())
    }

    fn has(&self, name: &str, netns: u64) -> bool {
        self.ports
            .iter()
            .any(|(port, ns)| port == name && *ns == netns)
    }
}

/// A cause and its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its number, 1 to 254.
    pub number: usize,
    /// The cause.
    pub cause: FateCause,
    /// It is at a port where the tester receives.
    pub at_port: bool,
    pub(crate) key: Key,
}

/// A cause as the program noted it.
pub(crate) struct Raw {
    pub(crate) key: Key,
    pub(crate) words: [u64; cause::WORDS],
}

impl Raw {
    /// Addresses to be named.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(self.key[0]).chain(self.stack().iter().copied())
    }

    fn stack(&self) -> &[u64] {
        used(&self.words[cause::STACK..])
    }

    /// Name of the interface; `None` where the frame had none.
    fn device(&self) -> Option<String> {
        text(&self.words[cause::NAME..cause::NAME + cause::NAME_WORDS])
    }

    /// In words.
    pub(crate) fn named(
        &self,
        symbols: &Symbols,
        reasons: &[(u32, String)],
        tester: &TesterPorts,
    ) -> Option<Named> {
        let [location, _, reason] = self.key;
        let number = usize::try_from(self.words[cause::NUMBER]).ok()?;
        let device = self.device();
        let function = symbols.place(location, self.stack()).map(str::to_owned);
        let at_port = device
            .as_ref()
            .is_some_and(|name| tester.has(name, self.words[cause::NETNS]));
        let before = function
            .as_deref()
            .is_some_and(|name| BEFORE_SOCKETS.iter().any(|known| name.starts_with(known)));
        let cause = match device {
            // The network stack throws its copy away after the socket has looked at the frame.
            Some(device) if at_port && tester.by_socket && !before => {
                FateCause::TesterSocket { device }
            }
            device => FateCause::Dropped {
                device,
                function,
                reason: reason_name(u32::try_from(reason).ok()?, reasons),
            },
        };
        Some(Named {
            number,
            cause,
            at_port,
            key: self.key,
        })
    }
}

/// The addresses of a stack that are there.
pub(crate) fn used(stack: &[u64]) -> &[u64] {
    let end = stack.iter().position(|at| *at == 0);
    &stack[..end.unwrap_or(stack.len())]
}

/// A C string in words; `None` for an empty one.
pub(crate) fn text(words: &[u64]) -> Option<String> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let name = String::from_utf8_lossy(&bytes[..end]).into_owned();
    (!name.is_empty()).then_some(name)
}

/// The kernel's number of a reason, told without its prefix.
pub(crate) fn reason_number(name: &str, reasons: &[(u32, String)]) -> Option<u32> {
    let known = reasons
        .iter()
        .find(|(_, known)| known.strip_prefix(REASON) == Some(name));
    known.map(|(value, _)| *value)
}

/// `QDISC_DROP`; `None` where the kernel gives no reasons.
pub(crate) fn reason_name(reason: u32, reasons: &[(u32, String)]) -> Option<String> {
    if reasons.is_empty() {
        return None;
    }
    let known = reasons.iter().find(|(value, _)| *value == reason);
    Some(match known {
        Some((_, name)) => name.strip_prefix(REASON).unwrap_or(name).to_owned(),
        None => {
            let (subsystem, own) = (reason >> SUBSYSTEM_SHIFT, reason & 0xffff);
            format!("reason {own} of subsystem {subsystem}")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "ffffffff81000100 T veth_xmit\nffffffff81000200 T ip_rcv_finish\n";

    fn raw(location: u64, name: &[u8; 16], netns: u64) -> Raw {
        let mut words = [0; cause::WORDS];
        words[cause::NUMBER] = 3;
        words[cause::NETNS] = netns;
        for (word, bytes) in words[cause::NAME..].iter_mut().zip(name.as_chunks().0) {
            *word = u64::from_ne_bytes(*bytes);
        }
        Raw {
            key: [location, 1, 2],
            words,
        }
    }

    #[test]
    fn what_reached_a_port_was_lost_in_the_testers_socket() {
        let veth = raw(0xffff_ffff_8100_0110, b"b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 7);
        let stack = raw(0xffff_ffff_8100_0210, b"b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 7);
        let other = raw(0xffff_ffff_8100_0210, b"b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 8);
        let all = [&veth, &stack, &other];
        let addresses = all.iter().flat_map(|raw| raw.addresses()).collect();
        let symbols = Symbols::find(addresses, LIST.as_bytes());
        let reasons = [(2, "SKB_DROP_REASON_NOT_SPECIFIED".to_owned())];
        let places = |by_socket| {
            let tester = TesterPorts {
                ports: vec![("b".to_owned(), 7)],
                by_socket,
                ..TesterPorts::default()
            };
            let named = all.map(|raw| raw.named(&symbols, &reasons, &tester).unwrap());
            named.map(|named| (named.cause.place(), named.at_port))
        };
        let said = |words: [(&str, bool); 3]| words.map(|(place, at)| (place.to_owned(), at));
        let sockets = [
            ("b veth_xmit", true),
            ("tester receive ring", true),
            ("b ip_rcv_finish", false),
        ];
        assert_eq!(places(true), said(sockets));
        let programs = [
            ("b veth_xmit", true),
            ("b ip_rcv_finish", true),
            ("b ip_rcv_finish", false),
        ];
        assert_eq!(places(false), said(programs));
    }

    #[test]
    fn reasons_have_the_kernels_names() {
        let reasons = [(77, "SKB_DROP_REASON_QDISC_DROP".to_owned())];
        assert_eq!(reason_name(77, &reasons).as_deref(), Some("QDISC_DROP"));
        let other = reason_name(3 << 16 | 5, &reasons);
        assert_eq!(other.as_deref(), Some("reason 5 of subsystem 3"));
        assert_eq!(reason_name(0, &[]), None);
    }
}
