//! Rules that bridged frames walk through: nftables by `nft -j`, the older tables by
//! `iptables-legacy-save`. Only numbers are kept; the rules tell of addresses.

use std::collections::{BTreeMap, BTreeSet};

use nicety_model::facts::FirewallChain;
use serde_json::Value;

use super::source::Source;
use crate::roots::Roots;

const RECORDED: &str = "nicety/firewall.json";
/// The older tables, by family: the program that tells, and the list of those in use, which is
/// there as soon as the module is.
const OLDER: [(&str, &str, &str); 2] = [
    ("ip", "iptables-legacy-save", "net/ip_tables_names"),
    ("ip6", "ip6tables-legacy-save", "net/ip6_tables_names"),
];

/// Chains with rules; `None` where they cannot be read, or need not be: bridge netfilter is off.
pub(super) fn read(source: &Source) -> Option<Vec<FirewallChain>> {
    if !source.is_live() {
        return serde_json::from_str(&source.top.text(RECORDED)?).ok();
    }
    let called = ["iptables", "ip6tables", "arptables"].iter().any(|tables| {
        let file = format!("sys/net/bridge/bridge-nf-call-{tables}");
        source.roots.proc.text(file).is_some_and(|text| text != "0")
    });
    if !called {
        return None;
    }
    let mut chains = if may_query(&source.roots) {
        parse(&source.run(&["nft", "-j", "list", "ruleset"])?)?
    } else {
        Vec::new()
    };
    for (family, program, names) in OLDER {
        let names = source.roots.proc.text(names).unwrap_or_default();
        if !names.trim().is_empty() {
            chains.extend(older(family, &source.run(&[program])?));
        }
    }
    source.keep(RECORDED, || {
        serde_json::to_string_pretty(&chains).unwrap_or_default()
    });
    Some(chains)
}

/// Asking loads nf_tables where it is a module: looking must change nothing. Where the kernel
/// has no modules there is nothing to load.
fn may_query(roots: &Roots) -> bool {
    match roots.proc.text("modules") {
        Some(modules) => modules.lines().any(|line| line.starts_with("nf_tables ")),
        None => true,
    }
}

/// Family, table and chain.
type Name = (String, String, String);

/// A chain: its hook if it is a base chain, its rules, and where they jump to.
#[derive(Debug, Default)]
struct Chain {
    hook: Option<String>,
    rules: u32,
    physdev: u32,
    jumps: BTreeSet<String>,
}

/// The answer of `nft -j list ruleset` (libnftables-json(5)).
fn parse(text: &str) -> Option<Vec<FirewallChain>> {
    let answer: Value = serde_json::from_str(text).ok()?;
    let mut chains: BTreeMap<Name, Chain> = BTreeMap::new();
    let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    for object in answer["nftables"].as_array()? {
        if let Some(chain) = object.get("chain") {
            let name = (
                word(chain, "family"),
                word(chain, "table"),
                word(chain, "name"),
            );
            let hook = chain["hook"].as_str().map(str::to_owned);
            chains.entry(name).or_default().hook = hook;
        }
        if let Some(rule) = object.get("rule") {
            let name = (
                word(rule, "family"),
                word(rule, "table"),
                word(rule, "chain"),
            );
            let chain = chains.entry(name).or_default();
            chain.rules += 1;
            chain.physdev += u32::from(rule["expr"].to_string().contains("\"physdev\""));
            targets(&rule["expr"], &mut chain.jumps);
        }
    }
    Some(reached(&chains))
}

/// Chains that an expression jumps or goes to, those in verdict maps too.
fn targets(expression: &Value, names: &mut BTreeSet<String>) {
    match expression {
        Value::Array(list) => list.iter().for_each(|one| targets(one, names)),
        Value::Object(object) => {
            for (key, value) in object {
                match (key.as_str(), value["target"].as_str()) {
                    ("jump" | "goto", Some(target)) => {
                        names.insert(target.to_owned());
                    }
                    _ => targets(value, names),
                }
            }
        }
        _ => {}
    }
}

/// Base chains with all rules that are reached from them.
fn reached(chains: &BTreeMap<Name, Chain>) -> Vec<FirewallChain> {
    let bases = chains.iter().filter_map(|(name, chain)| {
        let hook = chain.hook.clone()?;
        let (family, table, base) = name;
        let mut seen = BTreeSet::from([base.clone()]);
        let mut next = vec![base.clone()];
        let (mut rules, mut physdev) = (0, 0);
        while let Some(one) = next.pop() {
            let Some(chain) = chains.get(&(family.clone(), table.clone(), one)) else {
                continue;
            };
            rules += chain.rules;
            physdev += chain.physdev;
            let new = chain
                .jumps
                .iter()
                .filter(|jump| seen.insert((*jump).clone()));
            next.extend(new.cloned());
        }
        Some(FirewallChain {
            family: family.clone(),
            table: table.clone(),
            chain: base.clone(),
            hook,
            rules,
            physdev,
        })
    });
    bases.filter(|chain| chain.rules > 0).collect()
}

/// The output of `iptables-save`: `*table`, `:CHAIN POLICY`, `-A CHAIN … -j TARGET`.
fn older(family: &str, text: &str) -> Vec<FirewallChain> {
    let mut chains: BTreeMap<Name, Chain> = BTreeMap::new();
    let mut table = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('*') {
            name.trim().clone_into(&mut table);
        } else if let Some(rest) = line.strip_prefix(':') {
            let mut words = rest.split_ascii_whitespace();
            let (name, policy) = (words.next().unwrap_or_default(), words.next());
            let key = (family.to_owned(), table.clone(), name.to_owned());
            // Only built-in chains have a policy, and they are named after their hook.
            let base = policy.is_some_and(|policy| policy != "-");
            chains.entry(key).or_default().hook = base.then(|| name.to_lowercase());
        } else if let Some(rest) = line.strip_prefix("-A ") {
            let words: Vec<&str> = rest.split_ascii_whitespace().collect();
            let name = words.first().copied().unwrap_or_default();
            let key = (family.to_owned(), table.clone(), name.to_owned());
            let chain = chains.entry(key).or_default();
            chain.rules += 1;
            chain.physdev += u32::from(words.windows(2).any(|two| two == ["-m", "physdev"]));
            let jump = words.windows(2).find(|two| matches!(two[0], "-j" | "-g"));
            chain.jumps.extend(jump.map(|two| two[1].to_owned()));
        }
    }
    reached(&chains)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(chains: &[FirewallChain]) -> Vec<String> {
        let one = |c: &FirewallChain| {
            format!(
                "{} {} {} {} {} {}",
                c.family, c.table, c.chain, c.hook, c.rules, c.physdev
            )
        };
        chains.iter().map(one).collect()
    }

    #[test]
    fn rules_are_counted_where_a_frame_meets_them() {
        let text = r#"{"nftables": [
            {"metainfo": {"version": "1.0.6"}},
            {"chain": {"family": "ip", "table": "filter", "name": "FORWARD", "handle": 1,
                "type": "filter", "hook": "forward", "prio": 0, "policy": "accept"}},
            {"chain": {"family": "ip", "table": "filter", "name": "guests", "handle": 2}},
            {"chain": {"family": "ip", "table": "filter", "name": "unused", "handle": 3}},
            {"chain": {"family": "ip", "table": "filter", "name": "EMPTY", "hook": "input"}},
            {"rule": {"family": "ip", "table": "filter", "chain": "FORWARD", "handle": 4,
                "expr": [{"vmap": {"key": {"meta": {"key": "iifname"}},
                    "data": {"set": [["a", {"jump": {"target": "guests"}}]]}}}]}},
            {"rule": {"family": "ip", "table": "filter", "chain": "guests", "handle": 5,
                "expr": [{"xt": {"type": "match", "name": "physdev"}}, {"drop": null}]}},
            {"rule": {"family": "ip", "table": "filter", "chain": "guests", "handle": 6,
                "expr": [{"goto": {"target": "guests"}}]}},
            {"rule": {"family": "ip", "table": "filter", "chain": "unused", "expr": []}}]}"#;
        let chains = parse(text).unwrap();
        assert_eq!(lines(&chains), ["ip filter FORWARD forward 3 1"]);
        assert!(chains[0].sees_bridged());
        assert!(parse("no JSON").is_none());
        assert!(parse("{}").is_none());
    }

    #[test]
    fn the_older_tables_are_counted_alike() {
        let text = "# Generated\n*filter\n:INPUT ACCEPT [0:0]\n:FORWARD DROP [0:0]\n:guests - [0:0]\n\
                    -A FORWARD -j guests\n-A guests -m physdev --physdev-in v0 -j ACCEPT\n\
                    -A guests -j DROP\nCOMMIT\n";
        assert_eq!(lines(&older("ip", text)), ["ip filter FORWARD forward 3 1"]);
    }
}
