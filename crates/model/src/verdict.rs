//! Verdicts: how far to trust a number.

crate::keywords::keywords! {
    /// Verdict of a result; every number shown carries one.
    Verdict {
        /// Measured, and nothing speaks against it.
        Ok = "ok",
        /// The tester could not load the path harder: the path carries at least this much.
        TesterLimited = "tester-limited",
        /// What stopped the search were CPUs that were taken away: the path carries at least this much.
        Bound = "bound",
        /// A number whose interval is wide: the machine did not allow a closer one.
        Wide = "wide",
        /// The sender missed its schedule; the load was not what was intended.
        Late = "late",
        /// The confirm trial disagrees with the search, or the visits contradict each other.
        Unstable = "unstable",
        /// The path repeats, damages or reorders frames: what arrived once is no measure of it.
        Faulty = "faulty",
        /// The path ran in the sender's context: this is sender and path together.
        Coupled = "coupled",
        /// Stolen CPU time or a drifting control cell: the machine was not quiet.
        Noisy = "noisy",
        /// No result; the notes say why.
        Failed = "failed",
    }
}

impl Verdict {
    /// Whether the number is the path's own, within an interval that may be wide: only such
    /// numbers are compared and followed.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Ok | Self::Wide)
    }

    /// Whether the path carries at least this much, and how much more is not known.
    pub fn is_bound(self) -> bool {
        matches!(self, Self::TesterLimited | Self::Bound)
    }

    /// The worse of two: the verdict of a result made of both.
    #[must_use]
    pub fn worse(self, other: Self) -> Self {
        let rank = |verdict| match verdict {
            Self::Failed => 9,
            Self::Faulty => 8,
            Self::Coupled => 7,
            Self::Late => 6,
            Self::Unstable => 5,
            Self::TesterLimited => 4,
            Self::Bound => 3,
            Self::Wide => 2,
            Self::Noisy => 1,
            Self::Ok => 0,
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }

    /// One sentence for a reader who sees the word for the first time.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ok => "The path's own limit, found and confirmed.",
            Self::TesterLimited => "At least this much: the tester gave out first.",
            Self::Bound => "At least this much: beyond it a CPU was taken away.",
            Self::Wide => "The interval is wider than ± 5 %.",
            Self::Late => "The sender was late, so the load was not as intended.",
            Self::Unstable => "Measurements contradict each other. See the problems.",
            Self::Faulty => "Frames arrived twice, damaged or out of order.",
            Self::Coupled => "This is the speed of sender and path together.",
            Self::Noisy => "The machine was busy, or its speed drifted.",
            Self::Failed => "No result. See the problems.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `  tester-limited: … (12 results)` is a line of 80 columns.
    #[test]
    fn meanings_fit_a_line() {
        for verdict in Verdict::ALL {
            let line = format!("  {verdict}: {} (12 results)", verdict.meaning());
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn worse_follows_the_same_order() {
        use Verdict::{Bound, Coupled, Failed, Faulty, Late, Noisy, Ok, TesterLimited, Unstable};
        let order = [
            Ok,
            Noisy,
            Bound,
            TesterLimited,
            Unstable,
            Late,
            Coupled,
            Faulty,
            Failed,
        ];
        for (i, a) in order.iter().enumerate() {
            for (j, b) in order.iter().enumerate() {
                assert_eq!(a.worse(*b), order[i.max(j)]);
            }
        }
    }
}
