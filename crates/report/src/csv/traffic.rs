//! Columns of mixes and of unusual headers, where a run has any.

use std::collections::BTreeSet;

use nicety_model::{CellResult, FrameSize, Shape, SizeFrames};

use super::Column;
use crate::document::csv::{Field, fields};

fn shape() -> [Field<Shape>; 7] {
    fields![|s|
        "imix": told(s.imix);
        "family": told(s.family);
        "protocol": told(s.protocol);
        "dscp": s.dscp.map(u32::from);
        "vlan": told(s.vlan);
        "popularity": told(s.popularity);
        "new_flows_per_s": s.new_flows_per_s;
    ]
}

fn told(value: Option<impl ToString>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// Of one frame size of a mix in the confirm trial.
fn size() -> [Field<SizeFrames>; 3] {
    fields![|s|
        "sent": s.sent;
        "received": s.received;
        "lost": s.lost;
    ]
}

/// All of them, frame sizes with the smallest first; none where all traffic is usual.
pub(super) fn columns(cells: &[CellResult]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    if cells.iter().all(|cell| cell.key.shape.is_plain()) {
        return columns;
    }
    for (name, field) in shape() {
        let at = move |cell: &CellResult| field(&cell.key.shape);
        columns.push((name.to_owned(), Box::new(at)));
    }
    let all = cells.iter().flat_map(|cell| &cell.sizes);
    let sizes: BTreeSet<FrameSize> = all.map(|size| size.frame_size_bytes).collect();
    for bytes in sizes {
        for (name, field) in size() {
            let at = move |cell: &CellResult| {
                let found = cell
                    .sizes
                    .iter()
                    .find(|size| size.frame_size_bytes == bytes);
                found.map(field).unwrap_or_default()
            };
            columns.push((format!("size_{bytes}_{name}"), Box::new(at)));
        }
    }
    columns
}
