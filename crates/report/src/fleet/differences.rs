//! What is not the same on siblings: a row for each value that is not the usual one.

use nicety_model::fleet::{FleetDifference, FleetReport};

use super::{named, who};
use crate::document::table::Narrow;
use crate::document::{Block, Cell, Medium, Table, columns};

/// A value and who has it.
struct Row<'a> {
    of: &'a FleetDifference,
    value: &'a str,
    hosts: Cell,
}

pub(super) fn blocks(fleet: &FleetReport, medium: Medium) -> Vec<Block> {
    if fleet.differences.is_empty() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    if medium == Medium::Terminal {
        // A heading that the section has elsewhere.
        let heading = "Differences between siblings".to_owned();
        blocks.push(Block::Steps(heading, Vec::new()));
    }
    blocks.push(Block::Table(table(fleet, medium)));
    blocks
}

fn table(fleet: &FleetReport, medium: Medium) -> Table {
    let rows = fleet.differences.iter().flat_map(|of| {
        let values = of.others.iter().map(move |value| Row {
            of,
            value: &value.value,
            hosts: who(&value.hosts, medium),
        });
        let more = (of.more_hosts > 0).then(|| Row {
            of,
            value: "further values",
            hosts: format!("{} more", named(of.more_hosts)).into(),
        });
        values.chain(more)
    });
    let mut table = Table::of(
        "differences",
        rows,
        columns![|row|
            "setting" Name: &row.of.setting;
            "value" Wide: row.value;
            "hosts" Wide: row.hosts.clone();
            "siblings" Wide: siblings(row.of);
            "group" Number: row.of.group;
        ],
    );
    let several = fleet.groups.iter().filter(|group| group.hosts.len() > 1);
    if several.count() < 2 {
        table.keep(&[true, true, true, true, false]);
    }
    table.whole = true;
    table.wrapped().narrow(&[("group", Narrow::Named)])
}

/// `4096 (11 hosts)`, `no majority among 12`.
fn siblings(of: &FleetDifference) -> String {
    let unknown = match of.unknown {
        0 => String::new(),
        some => format!(", unknown on {some}"),
    };
    match &of.usual {
        Some(usual) => format!("{usual} ({}{unknown})", named(of.usual_hosts)),
        None => {
            let others = of.others.iter().map(|value| value.hosts.len());
            let all = others.sum::<usize>() + of.more_hosts;
            format!("no majority among {}{unknown}", named(all))
        }
    }
}
