//! The first screen of a run: the answer, its cells, and what would make the numbers better.

use nicety_model::Run;
use nicety_model::note::List;

use crate::answer;
use crate::document::{Block, Document, Medium};
use crate::error::ReportError;
use crate::pick;
use crate::run::{cells, not_measured, results};
use crate::{Report, sock};

/// A run without what explains its numbers.
pub struct Brief<'a> {
    /// The run.
    pub run: &'a Run,
    /// Where the rest is read, in a sentence; without it there are no remedies either.
    pub more: Option<&'a str>,
}

impl Report for Brief<'_> {
    fn document(&self, medium: Medium) -> Result<Document, ReportError> {
        let groups = pick::groups(self.run);
        let run = self.run;
        let mut doc = Document::new(medium, &run.run.name);
        doc.host = run.run.host.called();
        answer::begin(&mut doc, run, &groups);
        if self.more.is_none() {
            doc.opening.clear();
        }
        results(&mut doc, run, &groups);
        let blocks = doc
            .sections
            .iter_mut()
            .flat_map(|section| &mut section.blocks);
        for block in blocks {
            if let Block::Table(table) = block {
                table.legend.clear();
            }
        }
        sock::section(&mut doc, &run.sockets, Vec::new())?;
        // Where nothing has a number, the reason is the answer.
        if groups.iter().all(|group| group.throughput_fps().is_none()) {
            let problems = cells::notes(run, &groups, List::Problem);
            doc.list("problems", "Problems", problems);
        }
        not_measured(&mut doc, run);
        if let Some(more) = self.more {
            doc.main("more", "", vec![Block::text(more)]);
        }
        Ok(doc)
    }
}
