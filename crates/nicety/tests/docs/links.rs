//! Links lead somewhere, and the book has every page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::page;

/// Targets of links and pictures outside of code, with the line.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in page::prose(text) {
        // What stands between backquotes is code.
        let plain: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        let inline = plain.split("](").skip(1);
        found.extend(inline.filter_map(|rest| Some((at, rest.split_once(')')?.0.to_owned()))));
        if let Some((name, target)) = line.strip_prefix('[').and_then(|l| l.split_once("]: "))
            && !name.contains(']')
        {
            found.push((at, target.trim().to_owned()));
        }
    }
    found
}

/// The anchors of a page, as mdBook and code hosts make them of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = BTreeSet::new();
    for (_, line) in page::prose(text) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let slug: String = title
            .trim()
            .to_lowercase()
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let count = seen.entry(slug.clone()).or_default();
        all.insert(match *count {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *count += 1;
    }
    all
}

/// `..` taken out, without asking the file system.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[test]
fn links_lead_to_files_and_headings_that_exist() {
    let pages = page::all();
    let anchors: BTreeMap<_, _> = pages
        .iter()
        .map(|(name, text)| (name.clone(), anchors(text)))
        .collect();
    let mut broken = Vec::new();
    let mut count = 0;
    for (name, text) in &pages {
        for (line, target) in targets(text) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = match file {
                "" => PathBuf::from(name),
                file => plain(&Path::new(name).parent().unwrap().join(file)),
            };
            if !page::root().join(&path).exists() {
                broken.push(format!("{name}:{line}: no file {target}"));
            } else if !anchor.is_empty() {
                let there = path.to_str().and_then(|path| anchors.get(path));
                if !there.is_some_and(|there| there.contains(anchor)) {
                    broken.push(format!("{name}:{line}: no heading {target}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(count > 100, "{count} links");
}

#[test]
fn the_book_has_every_page() {
    let summary = page::read("docs/SUMMARY.md");
    let listed: BTreeSet<_> = targets(&summary)
        .into_iter()
        .map(|(_, target)| plain(&Path::new("docs").join(target)))
        .collect();
    let pages = page::all();
    let own = |name: &&String| *name != "docs/SUMMARY.md";
    let missing: Vec<_> = pages
        .keys()
        .filter(own)
        .filter(|name| !listed.contains(Path::new(name)))
        .collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}

#[test]
fn a_page_begins_with_its_title_and_has_no_other() {
    for (name, text) in page::all() {
        // Its further titles are the parts of the book.
        if name == "docs/SUMMARY.md" {
            continue;
        }
        let titles = page::prose(&text)
            .iter()
            .filter(|(_, line)| line.starts_with("# "))
            .count();
        assert!(
            text.starts_with("# "),
            "{name} does not begin with its title"
        );
        assert_eq!(titles, 1, "{name}");
    }
}

/// Pictures of Markdown: what is said in their place, and the file.
fn pictures(page: &str) -> Vec<(&str, &str)> {
    page.split("![")
        .skip(1)
        .filter_map(|rest| rest.split_once("]("))
        .filter_map(|(said, rest)| Some((said, rest.split_once(')')?.0)))
        .collect()
}

#[test]
fn pictures_are_there_and_say_what_they_show() {
    let root = page::root();
    let (mut shown, mut bytes) = (BTreeSet::new(), 0);
    for (name, text) in page::all() {
        for (said, file) in pictures(&text) {
            let path = plain(&Path::new(&name).parent().unwrap().join(file));
            let picture = fs::read(root.join(&path))
                .unwrap_or_else(|error| panic!("{name}: {file}: {error}"));
            if file.ends_with(".png") {
                assert_eq!(picture[..8], *b"\x89PNG\r\n\x1a\n", "{file}");
            } else {
                assert!(picture.starts_with(b"<svg"), "{file}");
            }
            // More than a name: somebody who cannot see it learns what it shows.
            assert!(
                said.split_whitespace().count() >= 8,
                "{name}: {file}: {said}"
            );
            if shown.insert(path) {
                bytes += picture.len();
            }
        }
    }
    assert!(shown.len() >= 4, "{shown:?}");
    assert!(bytes < 250_000, "{bytes} bytes of pictures");
    // None that no page shows.
    for entry in fs::read_dir(root.join("docs/pictures")).unwrap() {
        let file = Path::new("docs/pictures").join(entry.unwrap().file_name());
        assert!(shown.contains(&file), "no page shows {}", file.display());
    }
}
