//! A report as data: what it says is written once, how it looks once for each format.

pub(crate) mod badge;
pub(crate) mod cell;
pub(crate) mod csv;
pub(crate) mod headline;
pub(crate) mod html;
pub(crate) mod markdown;
pub(crate) mod table;
pub(crate) mod terminal;

use maud::Markup;

use crate::route::Routes;

pub(crate) use badge::{Badge, Tone};
pub(crate) use cell::Cell;
pub(crate) use headline::Headline;
pub(crate) use table::{Kind, Table, columns};

/// Where a document is shown. A report draws figures for pages only, and leaves out of a terminal what
/// nobody reads there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    Terminal,
    Markdown,
    Page,
}

/// A report.
pub struct Document {
    pub(crate) medium: Medium,
    /// Its heading; a terminal shows none.
    pub(crate) title: String,
    /// What the host is called, above everything else.
    pub(crate) host: Option<String>,
    /// Level of the heading in Markdown, from 1.
    pub(crate) level: usize,
    /// The number that it is about, before everything else.
    pub(crate) headline: Option<Headline>,
    /// The answer in paragraphs of sentences, the most important sentence first.
    pub(crate) answer: Vec<Vec<String>>,
    /// What is to be known before the sections.
    pub(crate) opening: Vec<Block>,
    pub(crate) sections: Vec<Section>,
    /// What only pages have.
    pub(crate) page: Page,
}

/// What is around the content of a page.
#[derive(Default)]
pub struct Page {
    /// Title of the window where it is not the heading.
    pub(crate) window: Option<&'static str>,
    /// What made it.
    pub(crate) generator: Option<String>,
    /// Above the heading: command, time, machine.
    pub(crate) eyebrow: String,
    /// Before the first section: the picture that answers most.
    pub(crate) figure: Option<Markup>,
    pub(crate) footer: String,
    /// What the button saves, as JSON.
    pub(crate) data: String,
    /// The button's words and the name of the file that it saves.
    pub(crate) save: (&'static str, &'static str),
}

/// A part of a report under a heading.
pub struct Section {
    /// Anchor in a page.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// What the report is about: no heading in a terminal.
    pub(crate) main: bool,
    pub(crate) blocks: Vec<Block>,
}

/// A piece of content.
pub enum Block {
    Text(String),
    /// What to know about the block before it.
    Remark(String),
    List(Vec<String>),
    /// What to do under its title, in order: a box on pages.
    Steps(String, Vec<String>),
    /// Words with what they mean.
    Terms(Vec<(Cell, String)>),
    Table(Table),
    /// What somebody may copy.
    Code(String),
    /// The paths of a run.
    Routes(Routes),
    /// Under a summary, open on request; a terminal shows it all.
    Folded(String, Vec<Block>),
    /// Figures and what belongs to them: pages only.
    Drawn(Markup),
}

impl Document {
    pub(crate) fn new(medium: Medium, title: impl Into<String>) -> Self {
        Self {
            medium,
            title: title.into(),
            host: None,
            level: 1,
            headline: None,
            answer: Vec::new(),
            opening: Vec::new(),
            sections: Vec::new(),
            page: Page::default(),
        }
    }

    pub(crate) fn on_page(&self) -> bool {
        self.medium == Medium::Page
    }

    /// Adds what the report is about; without blocks nothing.
    pub(crate) fn main(&mut self, id: &'static str, title: &str, blocks: Vec<Block>) {
        self.section(id, title, blocks);
        if let Some(section) = self.sections.last_mut() {
            section.main |= section.id == id;
        }
    }

    /// Adds a section; without blocks none.
    pub(crate) fn section(
        &mut self,
        id: &'static str,
        title: impl Into<String>,
        blocks: Vec<Block>,
    ) {
        if !blocks.is_empty() {
            self.sections.push(Section {
                id,
                title: title.into(),
                main: false,
                blocks,
            });
        }
    }

    /// Adds a section with a list; without lines none.
    pub(crate) fn list(&mut self, id: &'static str, title: &str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.section(id, title, vec![Block::List(lines)]);
        }
    }

    /// The tables that the report is about; without one, all of them.
    pub(crate) fn main_tables(&self) -> Vec<&Table> {
        let of = |main: bool| {
            let sections = self.sections.iter().filter(move |part| part.main || !main);
            let blocks = sections.flat_map(|section| &section.blocks);
            blocks.filter_map(|block| match block {
                Block::Table(table) => Some(table),
                _ => None,
            })
        };
        match of(true).next() {
            Some(_) => of(true).collect(),
            None => of(false).collect(),
        }
    }

    /// Adds tables: a page has them in one section, in text each has its caption for a heading.
    pub(crate) fn tables(&mut self, id: &'static str, title: &str, tables: Vec<Table>) {
        if self.on_page() {
            self.section(id, title, tables.into_iter().map(Block::Table).collect());
        } else {
            for table in tables {
                self.section(id, table.caption.clone(), vec![Block::Table(table)]);
            }
        }
    }
}

impl Block {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}
