//! What a machine can do, for a terminal: the answers as tables, and what would help as a list.

use nicety_model::probe::{Ability, Answer, Area, ProbeReport};

use crate::document::{Badge, Tone, columns};
use crate::page::Page;

/// Things that are missed, of which the first lines tell.
const MISSED: usize = 3;

/// The whole page.
pub fn page(report: &ProbeReport) -> Page {
    let mut page = Page::default();
    page.line(&format!(
        "nicety {} on Linux {}, as {}",
        report.nicety, report.kernel, report.user
    ));
    answer(&mut page, report);
    for area in Area::ALL {
        page.rows(
            area.heading(),
            of(report, area),
            columns![|ability|
                "what" Name: &ability.name;
                "can" Text: badge(ability.answer);
                "seen" Wide: &ability.finding;
            ],
        );
    }
    advice(&mut page, report);
    page
}

/// What can be measured, and what is missed most: of three things that can be had, engines first.
fn answer(page: &mut Page, report: &ProbeReport) {
    let paths = of(report, Area::Path).count();
    let built =
        of(report, Area::Path).filter(|path| matches!(path.answer, Answer::Yes | Answer::Partly));
    page.line(&match first(report) {
        Some(engine) => format!(
            "{} of {paths} kinds of path can be measured, with engine {}",
            built.count(),
            engine.name
        ),
        None => "nothing can be measured here".to_owned(),
    });
    let missing = Area::ALL.into_iter().flat_map(|area| of(report, area));
    let missing = missing.filter(|ability| ability.answer == Answer::No);
    let had = missing.filter_map(|ability| Some((&ability.name, ability.remedy.as_ref()?)));
    for (name, remedy) in had.take(MISSED) {
        page.line(&format!("missing: {name}; {remedy}"));
    }
}

/// The answer in its colour.
fn badge(answer: Answer) -> Badge {
    let tone = match answer {
        Answer::Yes => Tone::Good,
        Answer::Partly | Answer::Unknown => Tone::Warn,
        Answer::No => Tone::Fail,
    };
    Badge::new(answer.word(), tone)
}

fn advice(page: &mut Page, report: &ProbeReport) {
    let wanting = |ability: &&Ability| {
        ability.costs.is_some() || (ability.remedy.is_some() && ability.answer != Answer::Unknown)
    };
    page.rows(
        "what is missing",
        report.abilities.iter().filter(wanting),
        columns![|ability|
            "what" Name: &ability.name;
            "what it costs" Wide: ability.costs.as_ref();
            "what to do" Wide: ability.remedy.as_ref();
        ],
    );
    page.line("");
    page.line(match first(report) {
        Some(_) => "start with: nicety bench",
        None => "see above for what to do",
    });
}

/// The abilities of an area.
fn of(report: &ProbeReport, area: Area) -> impl Iterator<Item = &Ability> {
    let abilities = report.abilities.iter();
    abilities.filter(move |ability| ability.area == area)
}

/// The engine that would be taken.
fn first(report: &ProbeReport) -> Option<&Ability> {
    of(report, Area::Engine).find(|engine| engine.answer == Answer::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    #[test]
    fn a_page() {
        let report = ProbeReport {
            schema: 1,
            nicety: "0.1.0".to_owned(),
            kernel: "6.12.1".to_owned(),
            user: "root".to_owned(),
            abilities: vec![
                Ability::new(
                    Area::Engine,
                    "af_packet",
                    Answer::Yes,
                    "100 frames crossed a bridge",
                ),
                Ability::new(
                    Area::Path,
                    "ovs",
                    Answer::No,
                    "ovs-vswitchd is not installed",
                )
                .costs("cells of ovs are skipped")
                .remedy("apt install openvswitch-switch"),
            ],
        };
        let text = |width| {
            let options = Options {
                width,
                colour: false,
            };
            page(&report).text(options, true)
        };
        insta::assert_snapshot!("page-80", text(80));
        insta::assert_snapshot!("page-40", text(20));
    }
}
