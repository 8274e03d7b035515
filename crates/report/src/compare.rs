//! The report of a comparison of runs: what changed, what else differs, why some cannot be judged.

mod answer;
mod drawing;
mod row;

use maud::html;
use nicety_model::compare::{ComparedCell, Comparison};

use crate::Report;
use crate::document::html::badge;
use crate::document::table::Narrow::Named;
use crate::document::{Badge, Block, Cell, Document, Medium, Table, Tone, columns};
use crate::error::ReportError;
use crate::json;
use crate::note;
use crate::number::{self, plural};
use crate::pick;

/// Rows of a pull request shown without a click when nothing changed.
const FEW: usize = 12;

/// The answer in words, what could explain it, a row per cell and the reasons of those that could not be
/// judged. In a pull request what did not change is shown on a click.
impl Report for Comparison {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let comparison = self;
        let title = match medium {
            Medium::Markdown => "nicety compare",
            _ => "New results against old ones",
        };
        let mut doc = Document::new(medium, title);
        // It stands below the title of a pull request.
        doc.level = 2;
        let answer = answer::summary(comparison).into_iter();
        doc.answer = answer.map(|sentence| vec![sentence]).collect();
        if medium == Medium::Page {
            doc.opening.push(counts(comparison));
            doc.page.window = Some("Comparison");
            doc.page.eyebrow = "nicety compare".to_owned();
            doc.page.footer = format!(
                "Preset {}, loss goal {}. Frame sizes include the FCS.",
                comparison.preset,
                number::loss(comparison.loss_goal)
            );
            doc.page.data = json::compact("comparison", comparison)?;
            doc.page.save = ("Save this comparison as JSON", "nicety-compare.json");
        }
        doc.opening
            .extend(answer::explanation(comparison).map(Block::Text));
        let rows = row::ordered(comparison);
        doc.main("cells", "Cell by cell", cells(comparison, &rows, medium));
        let reasons = row::reasons(&rows).into_iter();
        let reasons = reasons.map(|(reason, cells)| format!("{reason} ({})", pick::named(&cells)));
        doc.list("why-not", "Why not", reasons.collect());
        let differences = Table::of(
            "The likeliest explanation first",
            &comparison.differences,
            columns![|difference|
                "what" Name: &difference.what;
                "old" Wide: &difference.old;
                "new" Wide: &difference.new;
            ],
        );
        if differences.total > 0 {
            doc.section(
                "differences",
                "What else differs",
                vec![Block::Table(differences)],
            );
        }
        for (id, title, cells) in [
            ("only-old", "Only in the old", &comparison.only_old),
            ("only-new", "Only in the new", &comparison.only_new),
        ] {
            if !cells.is_empty() {
                doc.section(id, title, vec![Block::Text(cells.join(", "))]);
            }
        }
        doc.list("notes", "Notes", note::lines(&comparison.notes));
        let sides = vec![
            ("old".into(), answer::side(&comparison.old)),
            ("new".into(), answer::side(&comparison.new)),
        ];
        doc.section("compared", "Compared", vec![Block::Terms(sides)]);
        Ok(doc)
    }
}

/// How many rows have which judgement.
fn counts(comparison: &Comparison) -> Block {
    let counts = comparison.counts;
    let shown = [
        (counts.lost, "lost", Tone::Fail),
        (counts.worse, "worse", Tone::Fail),
        (counts.better, "better", Tone::Good),
        (counts.same, "same", Tone::Same),
        (counts.cannot_tell, "cannot tell", Tone::Warn),
        (counts.not_judged - counts.lost, "not judged", Tone::Warn),
    ];
    Block::Drawn(html! {
        p.worth {
            @for (count, word, tone) in shown.into_iter().filter(|(count, ..)| *count > 0) {
                span.pair { (count) " " (badge(Badge::new(word, tone))) }
            }
        }
    })
}

/// Everything in one table; of a long one a pull request shows what changed.
fn cells(comparison: &Comparison, rows: &[&ComparedCell], medium: Medium) -> Vec<Block> {
    let (changed, rest): (Vec<&ComparedCell>, Vec<&ComparedCell>) =
        rows.iter().partition(|row| row::changed(row));
    let legend = answer::legend(comparison);
    if medium != Medium::Markdown || rows.len() <= FEW || rest.is_empty() {
        return vec![Block::Table(
            table_of(comparison, rows, medium).legend(legend),
        )];
    }
    let mut blocks = Vec::new();
    if !changed.is_empty() {
        blocks.push(Block::Table(table_of(comparison, &changed, medium)));
    }
    let more = format!("{} more", plural(rest.len(), "row"));
    let rest = table_of(comparison, &rest, medium);
    blocks.push(Block::Folded(more, vec![Block::Table(rest)]));
    blocks.push(Block::Remark(legend));
    blocks
}

fn table_of(comparison: &Comparison, rows: &[&ComparedCell], medium: Medium) -> Table {
    let page = medium == Medium::Page;
    let (reach, margin) = (drawing::reach(rows, comparison.margin), comparison.margin);
    let interval = &*row::interval_heading(comparison);
    let caption = format!(
        "Change with its {interval}; drawn from {} to {}, the band is the margin of {}",
        number::change((-reach).exp()),
        number::change(reach.exp()),
        row::percent(margin)
    );
    let mut table = Table::of(
        caption,
        rows,
        columns![|row|
            "cell" Name: answer::name(comparison, row);
            "old" Number: row::value(row, &row.old);
            "new" Number: row::value(row, &row.new);
            "change" Main: Cell::from(row::change(row)).by(row.ratio.map(|r| r.ratio));
            interval Number: row::interval(row);
            "judgement" Text: row::judgement(row);
            "drawn" Text: page.then(|| Cell::drawn(drawing::drawing(row, reach, margin)));
            "why not" Wide: row.reason.as_deref().unwrap_or_default();
        ],
    )
    .narrow(&[("old", Named), ("new", Named), (interval, Named)]);
    table.keep(&[true, true, true, true, true, true, page, page]);
    table.whole = true;
    table.folds = false;
    table
}
