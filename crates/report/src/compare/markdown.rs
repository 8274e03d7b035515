//! A comparison for a pull request: the answer and what changed at once, the rest on a click.

use std::io::Write;

use nicety_model::Note;
use nicety_model::compare::{ComparedCell, Comparison, Judgement};

use super::{row, words};
use crate::error::{ReportError, write_text};
use crate::markdown::{escape, record};
use crate::pick;

/// Rows shown without a click when nothing changed.
const FEW: usize = 12;

/// Writes the comparison as GitHub Flavored Markdown.
///
/// # Errors
/// [`ReportError::Write`] when the writer fails.
pub fn render(comparison: &Comparison, out: &mut impl Write) -> Result<(), ReportError> {
    let mut page = String::new();
    line(&mut page, "## nicety compare\n");
    for sentence in words::summary(comparison) {
        line(&mut page, &format!("**{}**\n", escape(&sentence)));
    }
    if let Some(sentence) = words::explanation(comparison) {
        line(&mut page, &format!("{}\n", escape(&sentence)));
        line(&mut page, "| differs | old | new |\n| :--- | :--- | :--- |");
        for difference in &comparison.differences {
            line(
                &mut page,
                &record(
                    [
                        escape(&difference.what),
                        escape(&difference.old),
                        escape(&difference.new),
                    ]
                    .into_iter(),
                ),
            );
        }
        page.push('\n');
    }
    let rows = row::ordered(comparison);
    let (changed, rest): (Vec<&ComparedCell>, Vec<&ComparedCell>) = rows
        .iter()
        .partition(|row| row.lost || matches!(row.judgement, Judgement::Worse | Judgement::Better));
    if rows.len() <= FEW {
        table(&mut page, comparison, &rows);
    } else {
        if !changed.is_empty() {
            table(&mut page, comparison, &changed);
        }
        if !rest.is_empty() {
            line(
                &mut page,
                &format!(
                    "<details><summary>{} more</summary>\n",
                    crate::words::plural(rest.len(), "row")
                ),
            );
            table(&mut page, comparison, &rest);
            line(&mut page, "</details>\n");
        }
    }
    line(
        &mut page,
        &format!("{}\n", escape(&words::legend(comparison))),
    );
    lists(&mut page, comparison, &rows);
    write_text(out, "Markdown", &page)
}

fn table(page: &mut String, comparison: &Comparison, rows: &[&ComparedCell]) {
    let interval = row::interval_heading(comparison);
    let heads = ["cell", "old", "new", "change", &interval, "judgement"];
    line(page, &record(heads.into_iter().map(str::to_owned)));
    line(page, "| :--- | ---: | ---: | ---: | ---: | :--- |");
    for row in rows {
        let unit = &row.unit;
        let judgement = match row.judgement {
            _ if row.lost => "**lost**",
            Judgement::Worse => "**worse**",
            Judgement::Better => "**better**",
            other => other.words(),
        };
        let fields = [
            escape(&words::name(comparison, row)),
            format!("{} {unit}", row::value(row.metric, &row.old)),
            format!("{} {unit}", row::value(row.metric, &row.new)),
            row::change(row),
            row::interval(row),
            judgement.to_owned(),
        ];
        line(page, &record(fields.into_iter()));
    }
    page.push('\n');
}

fn lists(page: &mut String, comparison: &Comparison, rows: &[&ComparedCell]) {
    let reasons: Vec<String> = row::reasons(rows)
        .into_iter()
        .map(|(reason, cells)| format!("{reason} ({})", pick::named(&cells)))
        .collect();
    list(page, "Why not", &reasons);
    list(page, "Only in the old", &comparison.only_old);
    list(page, "Only in the new", &comparison.only_new);
    list(page, "Notes", &Note::texts(&comparison.notes));
    let sides = [
        format!("old: {}", words::side(&comparison.old)),
        format!("new: {}", words::side(&comparison.new)),
    ];
    list(page, "Compared", &sides);
}

fn list(page: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    line(page, &format!("### {title}\n"));
    for item in items {
        line(page, &format!("- {}", escape(item)));
    }
    page.push('\n');
}

fn line(page: &mut String, text: &str) {
    page.push_str(text);
    page.push('\n');
}
