//! Transactions of `nicety tune`: what is changed now, and what became of all of them.

use nicety_model::journal::{SettingReport, TransactionReport, TuneStatus};

use crate::Report;
use crate::document::table::Narrow;
use crate::document::{Badge, Block, Cell, Document, Medium, Table, Tone, columns};
use crate::error::ReportError;
use crate::number::plural;

/// What is changed now.
pub struct Active<'a>(pub &'a [TransactionReport]);

/// The same, and all transactions below it, the newest first.
pub struct Everything<'a>(pub &'a TuneStatus);

impl Report for Active<'_> {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "Changed settings");
        doc.answer = vec![vec![active(self.0)]];
        let rows = self.0.iter().flat_map(|of| {
            let settings = of.settings.iter();
            settings.map(move |setting| (of.transaction, setting))
        });
        let table = Table::of(
            "settings",
            rows,
            columns![|(id, setting)|
                "setting" Name: &setting.knob;
                "was" Wide: setting.knob.brief(&setting.from);
                "set to" Wide: setting.knob.brief(&setting.to);
                "now" Wide: now(setting);
                "transaction" Tight: id.to_string();
            ],
        );
        if table.total > 0 {
            let table = table.wrapped().narrow(&[("transaction", Narrow::Named)]);
            doc.main("settings", "Settings", vec![Block::Table(table)]);
        }
        Ok(doc)
    }
}

impl Report for Everything<'_> {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Active(&self.0.active).document(medium)?;
        if self.0.history.is_empty() {
            return Ok(doc);
        }
        let table = Table::of(
            "transactions",
            self.0.history.iter().rev(),
            columns![|of|
                "id" Name: of.transaction.to_string();
                "time (UTC)" Tight: of.time.as_deref().map(minute);
                "user" Tight: of.user.as_deref();
                "command" Wide: of.command.as_deref();
                "changed" Wide: changed(&of.settings);
                "why undone" Wide: of.why_undone.as_deref();
                "state" Tight: state(&of.phase);
            ],
        );
        let said = |_: &str, cell: &Cell| !cell.is_absent();
        let table = table.speaking(said).wrapped().narrow(&[
            ("user", Narrow::Named),
            ("command", Narrow::Named),
            ("why undone", Narrow::Listed),
            ("time (UTC)", Narrow::Named),
        ]);
        doc.main("transactions", "Transactions", vec![Block::Table(table)]);
        Ok(doc)
    }
}

/// `2 settings of transaction 7 since 2026-11-24 10:02 UTC (not confirmed, rolls back in 40 s)`
fn active(all: &[TransactionReport]) -> String {
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return "Nothing is changed here.".to_owned();
    };
    let settings = plural(
        all.iter().map(|of| of.settings.len()).sum::<usize>(),
        "setting",
    );
    let whose = match all.len() {
        1 => format!("transaction {}", first.transaction),
        more => format!("{more} transactions"),
    };
    let since = first.time.as_deref();
    let since = since.map_or_else(String::new, |time| format!(" since {} UTC", minute(time)));
    // At most one waits: the next one begins when it is confirmed or undone.
    let state = match last.rolls_back_in_s {
        Some(left) if all.len() == 1 => format!("not confirmed, rolls back in {left} s"),
        Some(left) => format!(
            "transaction {} is not confirmed, rolls back in {left} s",
            last.transaction
        ),
        None => "confirmed".to_owned(),
    };
    format!("{settings} of {whose}{since} ({state})")
}

/// Whether a setting still has the value that it got.
fn now(setting: &SettingReport) -> Cell {
    match &setting.found {
        Some(found) if !setting.holds() => format!("drifted: {}", setting.knob.brief(found)).into(),
        _ => Cell::badge(Badge::new("holds", Tone::Good)),
    }
}

/// `2026-11-24 10:02` of an RFC 3339 time.
fn minute(time: &str) -> String {
    let date_and_minute = time.get(..16).unwrap_or(time);
    date_and_minute.replace('T', " ")
}

/// `4 settings: eth0 MTU, …`, or the only change.
fn changed(settings: &[SettingReport]) -> String {
    match settings {
        [] => "nothing".to_owned(),
        [one] => {
            let (from, to) = (one.knob.brief(&one.from), one.knob.brief(&one.to));
            format!("{}: {from} → {to}", one.knob)
        }
        [first, ..] => format!("{}: {}, …", plural(settings.len(), "setting"), first.knob),
    }
}

fn state(phase: &str) -> Badge {
    match phase {
        "confirmed" => Badge::new("confirmed", Tone::Good),
        "rolled-back" => Badge::new("rolled-back", Tone::Same),
        "unconfirmed" => Badge::new("unconfirmed", Tone::Warn),
        "undoing" => Badge::new("undoing", Tone::Fail),
        _ => Badge::new("applying", Tone::Fail),
    }
}

#[cfg(test)]
mod tests {
    use nicety_model::knob::Knob;

    use super::*;

    fn transaction(id: u32, phase: &str, names: &[&str]) -> TransactionReport {
        let setting = |name: &&str| SettingReport {
            knob: Knob::sysctl(name),
            from: "4096 131072 6291456".to_owned(),
            to: "4096 131072 8388608".to_owned(),
            found: None,
            outcome: None,
        };
        TransactionReport {
            schema: 1,
            transaction: id,
            phase: phase.to_owned(),
            time: Some("2026-11-24T10:02:07Z".to_owned()),
            user: Some("ada".to_owned()),
            command: Some("tune apply --only T04,T12,T19 --for 5m".to_owned()),
            why_undone: None,
            rolls_back_in_s: None,
            settings: names.iter().map(setting).collect(),
        }
    }

    fn shown(report: &impl Report, width: u16) -> String {
        let text = crate::document::terminal::shown(report, width, false);
        for line in text.lines() {
            assert!(line.chars().count() <= width.into(), "{width}: {line}");
        }
        text
    }

    /// What became of all; nothing is changed now.
    fn history(history: Vec<TransactionReport>) -> TuneStatus {
        TuneStatus {
            schema: 1,
            active: Vec::new(),
            history,
        }
    }

    #[test]
    fn what_is_changed_now_is_one_line_and_a_table() {
        let mut waits = transaction(
            7,
            "unconfirmed",
            &["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"],
        );
        waits.rolls_back_in_s = Some(40);
        let mut all = vec![waits];
        let text = shown(&Active(&all), 80);
        let line =
            "2 settings of transaction 7 since 2026-11-24 10:02 UTC (not confirmed, rolls back";
        assert!(text.replace('\n', " ").starts_with(line), "{text}");
        assert!(text.contains("net.ipv4.tcp_wmem"), "{text}");
        let kept = transaction(3, "confirmed", &["net.core.rmem_max"]);
        all.insert(0, kept);
        let text = shown(&Active(&all), 200);
        let line = "3 settings of 2 transactions since 2026-11-24 10:02 UTC (transaction 7 is not \
                    confirmed, rolls back in 40 s)";
        assert!(text.starts_with(line), "{text}");
        all.pop();
        all[0].time = None;
        all[0].settings[0].found = Some("4096 131072 6291456".to_owned());
        let text = shown(&Active(&all), 200);
        assert!(
            text.starts_with("1 setting of transaction 3 (confirmed)"),
            "{text}"
        );
        assert!(text.contains("drifted: 4096 131072 6291456"), "{text}");
        assert_eq!(shown(&Active(&[]), 80), "Nothing is changed here.\n");
    }

    #[test]
    fn history_has_a_row_for_each_the_newest_first() {
        let mut undone = transaction(2, "rolled-back", &["a", "b"]);
        undone.why_undone = Some("not confirmed in time".to_owned());
        let all = history(vec![
            transaction(1, "confirmed", &["net.core.rmem_max"]),
            undone,
        ]);
        for width in [20, 40, 80, 160] {
            let text = format!("\n{}", shown(&Everything(&all), width));
            let rows: Vec<usize> = ["\n2", "\n1"].map(|id| text.find(id).unwrap()).into();
            assert!(rows[0] < rows[1], "{text}");
        }
        let text = shown(&Everything(&all), 160);
        for part in [
            "ada",
            "2026-11-24 10:02",
            "2 settings: a, …",
            "not confirmed in time",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn journals_of_older_versions_have_fewer_columns() {
        let mut old = transaction(1, "confirmed", &["a"]);
        (old.time, old.user, old.command) = (None, None, None);
        let text = shown(&Everything(&history(vec![old])), 80);
        assert!(!text.contains("user") && !text.contains("time"), "{text}");
        assert!(text.contains("confirmed"), "{text}");
    }
}
