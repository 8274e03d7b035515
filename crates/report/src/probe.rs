//! What a machine can do, for a terminal: the answers as tables, and what would help as a list.

use nicety_model::probe::{Ability, Answer, Area, ProbeReport};

use crate::document::{Badge, Tone, columns};
use crate::page::Page;

/// The whole page.
pub fn page(report: &ProbeReport) -> Page {
    let mut page = Page::default();
    page.line(&format!(
        "nicety {} on Linux {}, as {}",
        report.nicety, report.kernel, report.user
    ));
    for area in Area::ALL {
        let here = report.abilities.iter().filter(|of| of.area == area);
        page.rows(
            area.heading(),
            here,
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
        None => "nothing can be measured here: see above for what to do",
    });
}

/// The engine that would be taken.
fn first(report: &ProbeReport) -> Option<&Ability> {
    report
        .abilities
        .iter()
        .find(|ability| ability.area == Area::Engine && ability.answer == Answer::Yes)
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
