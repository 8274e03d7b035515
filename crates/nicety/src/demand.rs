//! Which results make the exit code 1, and the last line that says so.

use nicety_model::{Run, Verdict};
use nicety_report::plural;
use nicety_search::demand::{Demand, Shortfall};

use crate::cli::bench::DemandArgs;

impl From<&DemandArgs> for Demand {
    fn from(args: &DemandArgs) -> Self {
        Self {
            fail_on: args.fail_on.iter().copied().collect(),
            strict: args.strict,
        }
    }
}

/// What the exit code 1 stands for; `None` when nothing in the run asks for it.
pub fn line(run: &Run, args: &DemandArgs) -> Option<String> {
    let demand = Demand::from(args);
    let lacks = demand.shortfall(run)?;
    Some(format!("exit 1: {}{}", words(&lacks), asked(&lacks, args)))
}

fn words(lacks: &Shortfall) -> String {
    let count: usize = lacks.refused.iter().map(|(_, count)| count).sum();
    let results = format!("{count} of {}", plural(lacks.results, "result"));
    let refused = match lacks.refused.as_slice() {
        [] => None,
        [(Verdict::Failed, _)] => Some(format!("{results} failed")),
        [(verdict, 1)] => Some(format!("{results} is {verdict}")),
        [(verdict, _)] => Some(format!("{results} are {verdict}")),
        several => {
            let each = several.iter().map(|(of, count)| format!("{count} {of}"));
            let each: Vec<String> = each.collect();
            Some(format!("{results} are not accepted: {}", each.join(", ")))
        }
    };
    let missing =
        (lacks.missing > 0).then(|| format!("no result for {}", plural(lacks.missing, "cell")));
    let broken = (lacks.broken > 0)
        .then(|| format!("broken flows in {}", plural(lacks.broken, "socket test")));
    let parts: Vec<String> = [refused, missing, broken].into_iter().flatten().collect();
    parts.join("; ")
}

/// The options that made it so, where without them the code would be 0.
fn asked(lacks: &Shortfall, args: &DemandArgs) -> String {
    let only_asked = lacks.missing > 0
        || lacks
            .refused
            .iter()
            .any(|(verdict, _)| *verdict != Verdict::Failed);
    match (only_asked, args.strict) {
        (false, _) => String::new(),
        (true, true) => " (--strict)".to_owned(),
        (true, false) => {
            let words: Vec<&str> = args.fail_on.iter().map(|verdict| verdict.word()).collect();
            format!(" (--fail-on {})", words.join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_many_and_which_option_asked() {
        let args = |fail_on: &[Verdict], strict| DemandArgs {
            fail_on: fail_on.to_vec(),
            strict,
        };
        let lacks = |refused: &[(Verdict, usize)], missing| Shortfall {
            results: 7,
            refused: refused.to_vec(),
            missing,
            broken: 0,
        };
        let (noisy, failed) = (Verdict::Noisy, Verdict::Failed);
        for (lacks, args, text) in [
            (
                lacks(&[(noisy, 2)], 0),
                args(&[noisy], false),
                "2 of 7 results are noisy (--fail-on noisy)",
            ),
            (
                lacks(&[(failed, 1)], 0),
                args(&[], false),
                "1 of 7 results failed",
            ),
            (
                lacks(&[(noisy, 2), (failed, 1)], 1),
                args(&[], true),
                "3 of 7 results are not accepted: 2 noisy, 1 failed; no result for 1 cell (--strict)",
            ),
        ] {
            assert_eq!(words(&lacks) + &asked(&lacks, &args), text);
        }
    }
}
