//! What became of the frames of each size of a mix.

use nicety_model::SizeFrames;

use crate::document::{Block, Cell, Table, columns};
use crate::number;
use crate::pick::Group;

/// The table of every mix and size; nothing where no cell has one.
pub(super) fn blocks(groups: &[Group<'_>]) -> Vec<Block> {
    let rows: Vec<(&Group<'_>, &SizeFrames)> = groups
        .iter()
        .flat_map(|group| group.shown.sizes.iter().map(move |size| (group, size)))
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let table = Table::of(
        "Frames of each size in the confirm trial",
        rows.iter(),
        columns![|(group, size)|
            "cell" Name: group.name;
            "bytes" Number: size.frame_size_bytes;
            "sent" Number: Cell::count(size.sent);
            "received" Main: Cell::count(size.received);
            "lost" Number: Cell::count(size.lost);
            "loss" Number: Cell::sorted(size.loss_ratio.0, number::loss);
        ],
    );
    let mut mixes: Vec<String> = Vec::new();
    for mix in groups.iter().filter_map(|group| group.key.shape.imix) {
        let name = mix.name().map(|name| format!("{name} is "));
        let sequence = mix.genome().map(|genome| format!(", sequence {genome}"));
        let told = format!(
            "{}{mix}{}: mean frame {} bytes.",
            name.unwrap_or_default(),
            sequence.unwrap_or_default(),
            number::significant(mix.mean_bytes(), 4)
        );
        if !mixes.contains(&told) {
            mixes.push(told);
        }
    }
    let legend =
        "Rates in bit/s are those of the mean frame. Sequences are written as in RFC 6985.";
    vec![Block::Table(
        table.legend(format!("{} {legend}", mixes.join(" "))),
    )]
}
