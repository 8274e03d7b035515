//! Which function of the kernel an address is in, by `/proc/kallsyms`.

/// The kernel's functions and where they are.
pub(crate) const SYMBOLS: &str = "/proc/kallsyms";

/// The helpers of which many places make use: who called them says more.
const HELPERS: [&str; 7] = [
    "kfree_skb",
    "__kfree_skb",
    "sk_skb_reason_drop",
    "dev_kfree_skb",
    "__dev_kfree_skb",
    "skb_release",
    "consume_skb",
];

/// Names of functions by address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Symbols {
    /// The function's name, for every address that was asked for.
    found: Vec<(u64, Option<String>)>,
}

impl Symbols {
    /// Whether all of `addresses` were looked for.
    pub(crate) fn know(&self, addresses: &[u64]) -> bool {
        let known = |address: &u64| {
            self.found
                .binary_search_by_key(address, |(at, _)| *at)
                .is_ok()
        };
        addresses.iter().all(known)
    }

    /// The addresses that were looked for.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.found.iter().map(|(at, _)| *at)
    }

    /// The functions in which `addresses` are, all found in one walk over the list `kallsyms`.
    pub(crate) fn find(mut addresses: Vec<u64>, kallsyms: &[u8]) -> Self {
        addresses.sort_unstable();
        addresses.dedup();
        let mut best: Vec<Option<(u64, &str)>> = vec![None; addresses.len()];
        let lines = kallsyms.split(|byte| *byte == b'\n');
        for line in lines.filter_map(|line| str::from_utf8(line).ok()) {
            let Some((start, name)) = function(line) else {
                continue;
            };
            // An address of return is behind the call, which may be the function's last instruction.
            let first = addresses.partition_point(|at| *at <= start);
            for best in &mut best[first..] {
                if best.is_none_or(|(of, _)| of < start) {
                    *best = Some((start, name));
                }
            }
        }
        let owned = best
            .into_iter()
            .map(|best| best.map(|(_, name)| name.to_owned()));
        Self {
            found: addresses.into_iter().zip(owned).collect(),
        }
    }

    /// The function of an address; `None` where symbols are hidden.
    pub(crate) fn name(&self, address: u64) -> Option<&str> {
        let at = self.found.binary_search_by_key(&address, |(at, _)| *at);
        let (_, found) = self.found.get(at.ok()?)?;
        found.as_deref()
    }

    /// The function at `location`, or the one behind it in `stack` where that is a helper of many.
    pub(crate) fn place(&self, location: u64, stack: &[u64]) -> Option<&str> {
        let own = self.name(location)?;
        if !is_helper(own) {
            return Some(own);
        }
        let behind = stack.iter().skip_while(|at| **at != location).skip(1);
        let mut names = behind.map_while(|at| self.name(*at));
        Some(names.find(|name| !is_helper(name)).unwrap_or(own))
    }
}

fn is_helper(name: &str) -> bool {
    HELPERS.iter().any(|helper| name.starts_with(helper))
}

/// Start and name of a line's function: `ffffffff81c0b5e0 T kfree_skb_reason`; those of modules have the
/// module behind. Nothing where addresses are hidden.
fn function(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let start = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?;
    let name = words.next()?;
    let code = matches!(kind, "t" | "T" | "w" | "W");
    // What the compiler made of a function is still that function.
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    (code && start > 0).then_some((start, name))
}

/// Where the kernel's own variable `name` is, of modules none.
pub(crate) fn address(name: &str, kallsyms: &[u8]) -> Option<u64> {
    let line = kallsyms.split(|byte| *byte == b'\n').find_map(|line| {
        let before = line.strip_suffix(name.as_bytes())?;
        str::from_utf8(before.strip_suffix(b" ")?).ok()
    })?;
    let (address, kind) = line.split_once(' ')?;
    let data = matches!(kind, "b" | "B" | "d" | "D" | "r" | "R");
    let address = u64::from_str_radix(address, 16).ok();
    address.filter(|address| data && *address > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIST: &str = "\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000100 T kfree_skb_reason
ffffffff81000200 t __dev_queue_xmit.isra.0
ffffffff81000280 D not_code
ffffffff81000300 T dev_kfree_skb_any_reason
ffffffff82000008 D vmemmap_base
ffffffffc0000000 t veth_xmit\t[veth]
ffffffffc0001000 T last\t[veth]
";

    fn find(addresses: &[u64]) -> Symbols {
        Symbols::find(addresses.to_vec(), LIST.as_bytes())
    }

    #[test]
    fn an_address_is_in_the_function_that_starts_before_it() {
        let symbols = find(&[0xffff_ffff_8100_02ff, 0xffff_ffff_c000_0123, 0x10]);
        assert_eq!(
            symbols.name(0xffff_ffff_8100_02ff),
            Some("__dev_queue_xmit")
        );
        assert_eq!(symbols.name(0xffff_ffff_c000_0123), Some("veth_xmit"));
        assert_eq!(symbols.name(0x10), None);
        // The last instruction was the call.
        let end = find(&[0xffff_ffff_c000_1000]);
        assert_eq!(end.name(0xffff_ffff_c000_1000), Some("veth_xmit"));
        let hidden = "0000000000000000 T veth_xmit\n".as_bytes();
        assert_eq!(Symbols::find(vec![5], hidden).name(5), None);
    }

    #[test]
    fn behind_a_helper_stands_who_called_it() {
        let (helper, veth) = (0xffff_ffff_8100_0310, 0xffff_ffff_c000_0010);
        let (free, plain) = (0xffff_ffff_8100_0110, 0xffff_ffff_8100_0210);
        let symbols = find(&[helper, veth, free, plain]);
        assert_eq!(
            symbols.place(helper, &[free, helper, veth, plain]),
            Some("veth_xmit")
        );
        assert_eq!(
            symbols.place(plain, &[plain, veth]),
            Some("__dev_queue_xmit")
        );
        // Nobody is known behind it.
        assert_eq!(symbols.place(helper, &[]), Some("dev_kfree_skb_any_reason"));
    }

    #[test]
    fn a_variable_is_where_the_list_says() {
        let find = |name: &str| address(name, LIST.as_bytes());
        assert_eq!(find("vmemmap_base"), Some(0xffff_ffff_8200_0008));
        // An end of another name, a function, one of a module, nothing.
        for other in ["base", "_stext", "last", "page_offset_base"] {
            assert_eq!(find(other), None, "{other}");
        }
        let hidden = "0000000000000000 D vmemmap_base\n".as_bytes();
        assert_eq!(address("vmemmap_base", hidden), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,200}", place: u64) {
            let _ = Symbols::find(vec![place], text.as_bytes()).name(place);
            let _ = address("a", text.as_bytes());
        }
    }
}
