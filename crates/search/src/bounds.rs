//! Relevant bounds (RFC 9971, "Relevant Upper Bound", "Relevant Lower Bound").

use crate::classify::Class;

/// The bounds that count, as positions on the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Highest load that met the goal below `upper`.
    pub lower: Option<usize>,
    /// Lowest load that missed the goal.
    pub upper: Option<usize>,
}

impl Bounds {
    /// Finds the bounds among classified loads, which must come in rising order. A load that
    /// met the goal above one that missed it does not count: the path is judged by its lowest
    /// failure.
    pub fn of(loads: impl IntoIterator<Item = (usize, Class)>) -> Self {
        let mut bounds = Self::default();
        for (load, class) in loads {
            match class {
                Class::Undecided => {}
                Class::Lower => bounds.lower = Some(load),
                Class::Upper => {
                    bounds.upper = Some(load);
                    break;
                }
            }
        }
        bounds
    }

    /// Distance of the bounds in grid steps, when there are both.
    pub fn width(&self) -> Option<usize> {
        Some(self.upper? - self.lower?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Class::{Lower, Undecided, Upper};

    #[test]
    fn the_lowest_failure_hides_whatever_passed_above_it() {
        type Loads<'a> = &'a [(usize, Class)];
        let table: [(Loads<'_>, Option<usize>, Option<usize>); 6] = [
            (&[], None, None),
            (&[(1, Undecided)], None, None),
            (&[(1, Lower), (2, Undecided), (3, Lower)], Some(3), None),
            (
                &[(1, Lower), (4, Upper), (5, Lower), (6, Upper)],
                Some(1),
                Some(4),
            ),
            (&[(0, Upper), (5, Lower)], None, Some(0)),
            (
                &[(1, Lower), (2, Lower), (3, Undecided), (4, Upper)],
                Some(2),
                Some(4),
            ),
        ];
        for (loads, lower, upper) in table {
            assert_eq!(
                Bounds::of(loads.iter().copied()),
                Bounds { lower, upper },
                "{loads:?}"
            );
        }
    }
}
