//! The counters of interfaces, as far as they are wanted.

use std::ops::ControlFlow;

use super::{Face, LIMITERS, Survey};

/// Counters of interfaces, in the order in which the kernel tells them.
pub(super) struct Counters {
    told: Vec<(u32, [u64; 4])>,
    /// How many that are not made for ports are still to come; none when all are wanted.
    wanted: Option<usize>,
}

impl Counters {
    pub(super) fn of(survey: &Survey, all: bool) -> Self {
        let others = |face: &&Face| face.index < LIMITERS;
        Self {
            told: Vec::with_capacity(survey.faces().count()),
            wanted: (!all).then(|| survey.faces().filter(others).count()),
        }
    }

    /// Takes those of one interface; ends where only those made for ports follow. Older kernels do not tell
    /// them in the order of their numbers: there all that are known must have come.
    pub(super) fn take(&mut self, one: (u32, [u64; 4])) -> ControlFlow<()> {
        let made = one.0 >= LIMITERS;
        if made && self.wanted == Some(0) {
            return ControlFlow::Break(());
        }
        if let Some(wanted) = self.wanted.as_mut().filter(|_| !made) {
            *wanted = wanted.saturating_sub(1);
        }
        self.told.push(one);
        ControlFlow::Continue(())
    }

    pub(super) fn into_vec(self) -> Vec<(u32, [u64; 4])> {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_told_as_far_as_the_ports_go() {
        let face = |index| Face {
            index,
            name: format!("i{index}"),
            ..Face::default()
        };
        let survey = Survey::new([1, 3, LIMITERS + 1, LIMITERS + 3].map(face).to_vec());
        let told = |order: &[u32], all| {
            let mut counters = Counters::of(&survey, all);
            let enough = order
                .iter()
                .position(|index| counters.take((*index, [0; 4])).is_break());
            (enough, counters.into_vec().len())
        };
        let order = [1, 3, LIMITERS + 1, LIMITERS + 3];
        assert_eq!(told(&order, false), (Some(2), 2));
        assert_eq!(told(&order, true), (None, 4));
        // One has come meanwhile, and one has gone.
        assert_eq!(told(&[1, 3, 4, LIMITERS + 1], false), (Some(3), 3));
        assert_eq!(told(&[1, LIMITERS + 1, LIMITERS + 3], false), (None, 3));
        // In an order of the kernel's own.
        let order = [1, LIMITERS + 1, LIMITERS + 3, 3];
        assert_eq!(told(&order, false), (None, 4));
    }
}
