//! What a machine can do, for a terminal: the answers as tables, and what would help as a list.

use nicety_model::probe::{Ability, Answer, Area, ProbeReport};

use crate::page::Page;

/// The whole page.
pub fn render(report: &ProbeReport, width: u16) -> String {
    let mut page = Page::new(width);
    page.line(&format!(
        "nicety {} on Linux {}, as {}",
        report.nicety, report.kernel, report.user
    ));
    for area in Area::ALL {
        let rows: Vec<Vec<String>> = report
            .abilities
            .iter()
            .filter(|ability| ability.area == area)
            .map(|ability| {
                vec![
                    ability.name.clone(),
                    ability.answer.word().to_owned(),
                    ability.finding.clone(),
                ]
            })
            .collect();
        page.table(area.heading(), &["what", "can", "seen"], &rows);
    }
    advice(&mut page, report);
    page.into_text()
}

fn advice(page: &mut Page, report: &ProbeReport) {
    let wanting = |ability: &&Ability| {
        ability.costs.is_some() || (ability.remedy.is_some() && ability.answer != Answer::Unknown)
    };
    let rows: Vec<Vec<String>> = report
        .abilities
        .iter()
        .filter(wanting)
        .map(|ability| {
            vec![
                ability.name.clone(),
                ability.costs.clone().unwrap_or_default(),
                ability.remedy.clone().unwrap_or_default(),
            ]
        })
        .collect();
    page.table(
        "what is missing",
        &["what", "what it costs", "what to do"],
        &rows,
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
        insta::assert_snapshot!("page-80", render(&report, 80));
        insta::assert_snapshot!("page-40", render(&report, 20));
    }
}
