//! Other ends of veths in records that do not name them: those of older versions, and sysfs alone.

use std::collections::BTreeMap;

use nicety_model::facts::LinkFacts;

use super::source::Source;

/// The interfaces with the ends of veths named, as far as the record tells.
pub(super) fn named(source: &Source, mut links: Vec<LinkFacts>) -> Vec<LinkFacts> {
    let unnamed = |link: &LinkFacts| link.kind == "veth" && link.peer.is_none();
    // What names one names all that have both ends here.
    if source.is_live() || links.iter().any(|link| link.peer.is_some()) {
        return links;
    }
    let numbers: BTreeMap<u32, (u32, String)> = links
        .iter()
        .filter(|link| unnamed(link))
        .filter_map(|link| {
            let other = source
                .roots
                .sys
                .text(format!("class/net/{}/iflink", link.name))?;
            Some((link.index, (other.parse().ok()?, link.name.clone())))
        })
        .collect();
    let names: Vec<String> = links
        .iter()
        .filter(|link| unnamed(link))
        .map(|link| link.name.clone())
        .collect();
    for link in links.iter_mut().filter(|link| unnamed(link)) {
        // A number alone may be one of another namespace: both must name each other.
        let mutual = || {
            let (other, _) = numbers.get(&link.index)?;
            let (back, name) = numbers.get(other)?;
            (*back == link.index).then(|| name.clone())
        };
        let paired = || pair(&link.name).filter(|name| names.contains(name));
        link.peer = link.lower.take().or_else(mutual).or_else(paired);
    }
    links
}

/// Names that Proxmox (PVE::Network, `compute_fwbr_names`) and OpenStack (os-vif,
/// `get_veth_pair_names`) give to the two ends of a pair.
fn pair(name: &str) -> Option<String> {
    let proxmox = |begin: &str, sign: char, other: &str, other_sign: char| {
        let (guest, card) = name.strip_prefix(begin)?.split_once(sign)?;
        let whole = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (whole(guest) && whole(card)).then(|| format!("{other}{guest}{other_sign}{card}"))
    };
    let openstack =
        |begin: &str, other: &str| Some(format!("{other}{}", name.strip_prefix(begin)?));
    proxmox("fwln", 'i', "fwpr", 'p')
        .or_else(|| proxmox("fwpr", 'p', "fwln", 'i'))
        .or_else(|| openstack("qvb", "qvo"))
        .or_else(|| openstack("qvo", "qvb"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn veth(index: u32, name: &str) -> LinkFacts {
        LinkFacts {
            name: name.to_owned(),
            index,
            kind: "veth".to_owned(),
            ..LinkFacts::default()
        }
    }

    fn peers(at: &Path, links: &[LinkFacts]) -> Vec<String> {
        let links = named(&Source::under(at), links.to_vec());
        links
            .into_iter()
            .map(|link| link.peer.unwrap_or_default())
            .collect()
    }

    #[test]
    fn ends_are_known_by_number_or_by_the_names_of_a_platform() {
        let dir = tempfile::tempdir().unwrap();
        let links = [veth(7, "a"), veth(8, "b"), veth(9, "c")];
        assert_eq!(peers(dir.path(), &links), ["", "", ""]);
        // The end of c is in another namespace, where it has the number of a.
        for (name, other) in [("a", 8), ("b", 7), ("c", 7)] {
            let folder = dir.path().join("sys/class/net").join(name);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("iflink"), format!("{other}\n")).unwrap();
        }
        assert_eq!(peers(dir.path(), &links), ["b", "a", ""]);
        let known = LinkFacts {
            peer: Some("d".to_owned()),
            ..veth(6, "e")
        };
        let newer = [known, veth(7, "a"), veth(8, "b")];
        assert_eq!(peers(dir.path(), &newer), ["d", "", ""]);
        for (one, other) in [("fwln101i0", "fwpr101p0"), ("qvb1f", "qvo1f")] {
            let links = [veth(1, one), veth(2, other)];
            assert_eq!(peers(dir.path(), &links), [other, one]);
            assert_eq!(peers(dir.path(), &links[..1]), [""]);
        }
        assert_eq!(pair("fwlnx"), None);
    }
}
