//! Transactions of `nicety tune`: what is changed now, and what became of all of them.

use nicety_model::journal::{History, SettingReport, TransactionReport};

use crate::Report;
use crate::document::table::Narrow;
use crate::document::{Badge, Block, Document, Medium, Table, Tone, columns};
use crate::error::ReportError;
use crate::number::plural;

/// What is changed now.
pub struct Active<'a>(pub &'a History);

/// All transactions, the newest first.
pub struct All<'a>(pub &'a History);

impl Report for Active<'_> {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "Active");
        doc.answer = vec![vec![active(&self.0.transactions)]];
        let rows = self.0.transactions.iter().flat_map(|of| {
            let settings = of.settings.iter();
            settings.map(move |setting| (of.transaction, setting))
        });
        let table = Table::of(
            "settings",
            rows,
            columns![|(id, setting)|
                "setting" Name: &setting.knob;
                "was" Wide: setting.knob.brief(&setting.from);
                "is set to" Wide: setting.knob.brief(&setting.to);
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

impl Report for All<'_> {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let mut doc = Document::new(medium, "History");
        if self.0.transactions.is_empty() {
            doc.answer = vec![vec!["Nothing has been applied.".to_owned()]];
            return Ok(doc);
        }
        let table = Table::of(
            "transactions",
            self.0.transactions.iter().rev(),
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
        let said = |_: &str, cell: &crate::document::Cell| !cell.is_absent();
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
            command: Some("tune apply --only T04,T12,T19 --confirm-within 5m".to_owned()),
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

    fn history(transactions: Vec<TransactionReport>) -> History {
        History {
            schema: 1,
            transactions,
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
        let mut all = history(vec![waits]);
        let text = shown(&Active(&all), 80);
        let line =
            "2 settings of transaction 7 since 2026-11-24 10:02 UTC (not confirmed, rolls back";
        assert!(text.replace('\n', " ").starts_with(line), "{text}");
        assert!(text.contains("net.ipv4.tcp_wmem"), "{text}");
        let kept = transaction(3, "confirmed", &["net.core.rmem_max"]);
        all.transactions.insert(0, kept);
        let text = shown(&Active(&all), 200);
        let line = "3 settings of 2 transactions since 2026-11-24 10:02 UTC (transaction 7 is not \
                    confirmed, rolls back in 40 s)";
        assert!(text.starts_with(line), "{text}");
        all.transactions.pop();
        all.transactions[0].time = None;
        let text = shown(&Active(&all), 200);
        assert!(
            text.starts_with("1 setting of transaction 3 (confirmed)"),
            "{text}"
        );
        assert_eq!(
            shown(&Active(&history(Vec::new())), 80),
            "Nothing is changed here.\n"
        );
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
            let text = format!("\n{}", shown(&All(&all), width));
            let rows: Vec<usize> = ["\n2", "\n1"].map(|id| text.find(id).unwrap()).into();
            assert!(rows[0] < rows[1], "{text}");
        }
        let text = shown(&All(&all), 160);
        for part in [
            "ada",
            "2026-11-24 10:02",
            "2 settings: a, …",
            "not confirmed in time",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(
            shown(&All(&history(Vec::new())), 80),
            "Nothing has been applied.\n"
        );
    }

    #[test]
    fn journals_of_older_versions_have_fewer_columns() {
        let mut old = transaction(1, "confirmed", &["a"]);
        (old.time, old.user, old.command) = (None, None, None);
        let text = shown(&All(&history(vec![old])), 80);
        assert!(!text.contains("user") && !text.contains("time"), "{text}");
        assert!(text.contains("confirmed"), "{text}");
    }
}
