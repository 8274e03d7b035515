//! How far a number is to be relied on: marked are those that rest on a cell whose verdict is not ok.

use nicety_model::Verdict;

use crate::pick::Group;

/// The verdicts other than ok of the cells that a number rests on; with any, it carries a mark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Confidence(Vec<Verdict>);

impl Confidence {
    /// Of one cell.
    pub(crate) fn of(group: &Group<'_>) -> Self {
        Self(vec![group.verdict()]).and(&Self::default())
    }

    /// Of a number that rests on the cells of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let has = |verdict: &Verdict| self.0.contains(verdict) || other.0.contains(verdict);
        let mut verdicts = Verdict::ALL.to_vec();
        verdicts.retain(|verdict| *verdict != Verdict::Ok && has(verdict));
        Self(verdicts)
    }

    /// An asterisk where a verdict is not ok.
    pub(crate) fn mark(&self) -> &'static str {
        if self.0.is_empty() { "" } else { "*" }
    }

    /// Whether a number rests on a machine that was not quiet: two digits of it are enough.
    pub(crate) fn is_noisy(&self) -> bool {
        self.0.contains(&Verdict::Noisy)
    }

    /// `late, noisy`; empty where all are ok.
    pub(crate) fn words(&self) -> String {
        let words: Vec<&str> = self.0.iter().map(|verdict| verdict.word()).collect();
        words.join(", ")
    }
}

/// What the mark means, under every table that has it.
pub(crate) const LEGEND: &str =
    "An asterisk marks a number that rests on a cell whose verdict is not ok.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_has_no_mark_and_others_are_named_once() {
        let of = |verdicts: &[Verdict]| Confidence(verdicts.to_vec()).and(&Confidence::default());
        assert_eq!(of(&[Verdict::Ok]), Confidence::default());
        assert_eq!(of(&[Verdict::Ok]).mark(), "");
        let both = of(&[Verdict::Noisy]).and(&of(&[Verdict::Late, Verdict::Noisy]));
        assert_eq!((both.mark(), both.words().as_str()), ("*", "late, noisy"));
    }
}
