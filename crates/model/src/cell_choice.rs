//! The cell that a user means: by name, by number, or by the start of its name.

/// Cells named in a message.
const NAMED: usize = 8;

/// No cell, or not one only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CellChoiceError {
    /// Nothing fits.
    #[error("no cell is called {typed:?} or begins so{}", listed("there are", all))]
    Unknown {
        /// As typed.
        typed: String,
        /// All cells with their numbers.
        all: Vec<(usize, String)>,
    },
    /// Several begin so.
    #[error(
        "{typed:?} is the start of several names; write a number or more of the name{}",
        listed("there are", fitting)
    )]
    Ambiguous {
        /// As typed.
        typed: String,
        /// Cells that begin so, with their numbers.
        fitting: Vec<(usize, String)>,
    },
}

/// `: there are 1 (a), 2 (b) and 3 more`.
fn listed(head: &str, cells: &[(usize, String)]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let first = cells.iter().take(NAMED);
    let first: Vec<String> = first.map(|(at, name)| format!("{at} ({name})")).collect();
    let more = match cells.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; {head} {}{more}", first.join(", "))
}

/// The cell of `all` that `typed` means: its whole name, else its number from 1 in this order, else the
/// only name that begins so.
///
/// # Errors
/// [`CellChoiceError`] with the cells to choose from.
pub fn choose<'a>(all: &'a [String], typed: &str) -> Result<&'a str, CellChoiceError> {
    if let Some(name) = all.iter().find(|name| *name == typed) {
        return Ok(name);
    }
    let number = typed.parse::<usize>().ok();
    if let Some(name) = number.and_then(|number| all.get(number.checked_sub(1)?)) {
        return Ok(name);
    }
    let numbered = || {
        all.iter()
            .enumerate()
            .map(|(at, name)| (at + 1, name.clone()))
    };
    let fits = |(_, name): &(usize, String)| !typed.is_empty() && name.starts_with(typed);
    let fitting: Vec<(usize, String)> = numbered().filter(fits).collect();
    match fitting.as_slice() {
        [(number, _)] => Ok(&all[number - 1]),
        [] => Err(CellChoiceError::Unknown {
            typed: typed.to_owned(),
            all: numbered().collect(),
        }),
        _ => Err(CellChoiceError::Ambiguous {
            typed: typed.to_owned(),
            fitting,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Vec<String> {
        [
            "bridge/64/uni",
            "bridge/64/bi",
            "bridge/1518/uni",
            "ports,a=p1,b=p2/64/uni",
        ]
        .map(str::to_owned)
        .into()
    }

    #[test]
    fn a_cell_is_meant_by_name_number_or_start() {
        let all = cells();
        for (typed, name) in [
            ("bridge/64/bi", "bridge/64/bi"),
            ("1", "bridge/64/uni"),
            ("4", "ports,a=p1,b=p2/64/uni"),
            ("po", "ports,a=p1,b=p2/64/uni"),
            ("bridge/15", "bridge/1518/uni"),
        ] {
            assert_eq!(choose(&all, typed).unwrap(), name, "{typed}");
        }
        // A name is itself also where it begins others.
        let all = ["a/64".to_owned(), "a".to_owned()];
        assert_eq!(choose(&all, "a").unwrap(), "a");
    }

    #[test]
    fn what_fits_none_or_several_lists_the_cells() {
        let all = cells();
        for (typed, message) in [
            (
                "bridge/64",
                "\"bridge/64\" is the start of several names; write a number or more of the name; \
                 there are 1 (bridge/64/uni), 2 (bridge/64/bi)",
            ),
            (
                "x",
                "no cell is called \"x\" or begins so; there are 1 (bridge/64/uni), 2 (bridge/64/bi), \
                 3 (bridge/1518/uni), 4 (ports,a=p1,b=p2/64/uni)",
            ),
        ] {
            assert_eq!(choose(&all, typed).unwrap_err().to_string(), message);
        }
        for typed in ["0", "5", ""] {
            assert!(matches!(
                choose(&all, typed),
                Err(CellChoiceError::Unknown { .. })
            ));
        }
        let error = choose(&[], "1").unwrap_err().to_string();
        assert_eq!(error, "no cell is called \"1\" or begins so");
    }
}
