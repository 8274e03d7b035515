//! What a search knows so far: in words, and on a scale.

use nicety_model::goal::GoalBounds;
use nicety_model::{Purpose, SearchBounds};
use ratatui_core::text::{Line, Span};

use super::board::Now;
use super::look::{Look, Tone};
use crate::number::short;

/// An interval narrower than this share of its upper end is a result to be read.
const NARROW: f64 = 0.5;

/// `searching 0 … 1.8 M, trying 699 k`; once it is narrow, `685–699 k (2 %), trying 692 k`. Of several loss goals each:
/// `NDR 480–699 k, PDR 685–720 k, trying 692 k`.
pub fn words(now: &Now, look: Look) -> String {
    let Some((_, purpose)) = now.trial else {
        return String::new();
    };
    let load = short(now.load_fps);
    match purpose {
        Purpose::WarmUp => format!("warming up at {load}"),
        Purpose::Search => format!("{}, trying {load}", known(now, look)),
        Purpose::Confirm => format!("{}, confirming {load}", known(now, look)),
        Purpose::Burst => format!("sending bursts at {load}"),
        Purpose::Recovery => format!("overloading with {load}, then half"),
        Purpose::Reset => format!("resetting the path at {load}"),
        Purpose::Fate { .. } => format!("following lost frames at {load}"),
        Purpose::Latency { load_ratio } => {
            format!("latency at {:.0} %: {load}", load_ratio * 100.0)
        }
    }
}

/// The ends of the interval: nothing known below is 0, nothing known above the highest load so far.
fn ends(now: &Now) -> (f64, f64) {
    ends_of(now.bounds, now.scale_fps)
}

fn ends_of(bounds: SearchBounds, scale_fps: f64) -> (f64, f64) {
    let lower = bounds.lower_fps.unwrap_or(0.0).max(0.0);
    let upper = bounds.upper_fps.unwrap_or(scale_fps);
    // Where a load passed and a lower one did not, the search has yet to decide.
    (lower.min(upper), upper.max(lower))
}

fn known(now: &Now, look: Look) -> String {
    if now.goals.len() > 1 {
        let of = |goal: &GoalBounds| {
            let (low, high) = ends_of(goal.bounds, now.scale_fps);
            let at_least = goal.bounds.upper_fps.is_none() && low >= high;
            if at_least {
                format!("{} at least {}", goal.goal, short(low))
            } else {
                format!("{} {}", goal.goal, range(low, high, look.dash()))
            }
        };
        return now.goals.iter().map(of).collect::<Vec<_>>().join(", ");
    }
    let (low, high) = ends(now);
    if now.bounds.upper_fps.is_none() && low >= high {
        return format!("at least {}", short(low));
    }
    let width = (high - low) / high;
    if high > 0.0 && width < NARROW {
        let range = range(low, high, look.dash());
        return format!("{range} ({})", percent(width));
    }
    format!("searching {} {} {}", short(low), look.dots(), short(high))
}

/// `685–699 k`, `985 k–1.02 M`.
pub fn range(low: f64, high: f64, dash: &str) -> String {
    let (low, high) = (short(low), short(high));
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((digits, of_low)), Some((_, of_high))) if of_low == of_high => {
            format!("{digits}{dash}{high}")
        }
        _ => format!("{low}{dash}{high}"),
    }
}

fn percent(ratio: f64) -> String {
    match ratio * 100.0 {
        p if p < 0.95 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// The interval on a scale from 0 to the highest load so far, both of which are written at its ends.
pub fn bar(now: &Now, look: Look, width: usize) -> Line<'static> {
    let right = short(now.scale_fps);
    let room = width.saturating_sub(right.chars().count() + 4);
    if now.trial.is_none() || now.scale_fps <= 0.0 || room < 8 {
        return Line::default();
    }
    let at = |fps: f64| ((fps / now.scale_fps * room as f64) as usize).min(room - 1);
    let (low, high) = ends(now);
    let (from, to, load) = (at(low), at(high), at(now.load_fps));
    let mut spans = vec![Span::raw("0 ")];
    for column in 0..room {
        let (mark, tone) = match column {
            _ if column == load => (look.pick("◆", "@"), Tone::Bold),
            _ if (from..=to).contains(&column) => (look.full(), Tone::Good),
            _ => (look.empty(), Tone::Dim),
        };
        spans.push(Span::styled(mark, look.style(tone)));
    }
    spans.push(Span::raw(format!(" {right}")));
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASCII: Look = Look {
        colour: false,
        unicode: false,
    };

    fn now(lower: Option<f64>, upper: Option<f64>, load: f64) -> Now {
        Now {
            trial: Some((3, Purpose::Search)),
            load_fps: load,
            bounds: SearchBounds {
                lower_fps: lower,
                upper_fps: upper,
            },
            scale_fps: 1.8e6,
            ..Now::default()
        }
    }

    #[test]
    fn every_stage_of_a_search_can_be_read() {
        let look = Look {
            unicode: true,
            ..ASCII
        };
        #[rustfmt::skip]
        let table = [
            (None, None, 1.8e6, "searching 0 … 1.80 M, trying 1.80 M"),
            (None, Some(1.8e6), 699_000.0, "searching 0 … 1.80 M, trying 699 k"),
            (Some(480_000.0), None, 900_000.0, "searching 480 k … 1.80 M, trying 900 k"),
            (Some(685_200.0), Some(699_200.0), 692_000.0, "685–699 k (2 %), trying 692 k"),
            (Some(985_200.0), Some(1.02e6), 1e6, "985 k–1.02 M (3 %), trying 1.00 M"),
            (Some(1.8e6), None, 1.8e6, "at least 1.80 M, trying 1.80 M"),
            (Some(2e5), Some(1e5), 1e5, "searching 100 k … 200 k, trying 100 k"),
        ];
        for (lower, upper, load, said) in table {
            assert_eq!(words(&now(lower, upper, load), look), said);
        }
    }

    #[test]
    fn every_goal_of_a_search_is_told() {
        let mut now = now(Some(4.8e5), Some(6.99e5), 692_000.0);
        let goal = |goal: &str, lower, upper| GoalBounds {
            goal: goal.to_owned(),
            bounds: SearchBounds {
                lower_fps: lower,
                upper_fps: upper,
            },
        };
        now.goals = vec![
            goal("NDR", Some(4.8e5), Some(6.99e5)),
            goal("PDR", Some(1.8e6), None),
        ];
        assert_eq!(
            words(&now, ASCII),
            "NDR 480-699 k, PDR at least 1.80 M, trying 692 k"
        );
    }

    #[test]
    fn the_bar_stands_where_its_scale_says() {
        let text = |lower, upper, load| {
            let line = bar(&now(lower, upper, load), ASCII, 28);
            line.spans
                .iter()
                .map(|span| span.content.as_ref())
                .collect::<String>()
        };
        // 18 columns for 1.8 M: a column for each 100 k.
        assert_eq!(
            text(Some(650_000.0), Some(850_000.0), 750_000.0),
            "0 ......#@#......... 1.80 M"
        );
        assert_eq!(text(None, None, 1.8e6), "0 #################@ 1.80 M");
        assert_eq!(bar(&now(None, None, 1.0), ASCII, 12), Line::default());
    }
}
