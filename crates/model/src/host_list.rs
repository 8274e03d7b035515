//! Names of hosts as people list them: `kvm01–kvm12, kvm17`.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::str::Chars;

/// Names from which a run is written with its first and last only.
const RUN: usize = 3;

/// Order in which `kvm2` stands before `kvm10`: digits count as numbers.
pub fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.chars().peekable(), b.chars().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                number(&mut left).cmp(&number(&mut right))
            }
            _ => match (left.next(), right.next()) {
                // `01` and `1` are the same number and not the same name.
                (None, None) => return a.cmp(b),
                (x, y) => x.cmp(&y),
            },
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Digits without leading zeros, by length and then by value.
fn number(chars: &mut Peekable<Chars<'_>>) -> (usize, String) {
    let mut digits = String::new();
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        if !(digits.is_empty() && digit == '0') {
            digits.push(digit);
        }
    }
    (digits.len(), digits)
}

/// The parts of a list: names, and runs such as `kvm01–kvm12`. `names` are in natural order.
pub fn parts(names: &[impl AsRef<str>]) -> Vec<(String, usize)> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < names.len() {
        let run = run_length(&names[at..]);
        let first = names[at].as_ref();
        if run >= RUN {
            parts.push((format!("{first}–{}", names[at + run - 1].as_ref()), run));
            at += run;
        } else {
            parts.push((first.to_owned(), 1));
            at += 1;
        }
    }
    parts
}

/// All names: `kvm01–kvm12, kvm17`. `names` are in natural order.
pub fn folded(names: &[impl AsRef<str>]) -> String {
    let parts: Vec<String> = parts(names).into_iter().map(|(part, _)| part).collect();
    parts.join(", ")
}

/// As [`folded`], of more than `most` parts only the first: `kvm01–kvm12, kvm17 and 31 more`.
pub fn shortened(names: &[impl AsRef<str>], most: usize) -> String {
    let mut parts = parts(names);
    if parts.len() <= most {
        return folded(names);
    }
    let left: usize = parts.split_off(most).iter().map(|(_, hosts)| hosts).sum();
    let named: Vec<String> = parts.into_iter().map(|(part, _)| part).collect();
    format!("{} and {left} more", named.join(", "))
}

/// What stands before the first number of a name, without the domain: `kvm` of `kvm01.example.com`.
pub fn stem(name: &str) -> &str {
    let short = name.split('.').next().unwrap_or(name);
    let end = short.find(|c: char| c.is_ascii_digit());
    end.map_or(short, |end| short[..end].trim_end_matches(['-', '_']))
}

/// How many names from the first on are numbered one after the other.
fn run_length(names: &[impl AsRef<str>]) -> usize {
    let mut length = 1;
    while length < names.len() && follows(names[length - 1].as_ref(), names[length].as_ref()) {
        length += 1;
    }
    length
}

/// Whether `next` is `name` with one of its numbers greater by 1, written with as many digits.
fn follows(name: &str, next: &str) -> bool {
    let same = name
        .bytes()
        .zip(next.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    // Where they begin to differ may be within a number.
    let head = name.as_bytes()[..same]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (Some(a), Some(b)) = (name.get(same - head..), next.get(same - head..)) else {
        return false;
    };
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (of_a, of_b) = (digits(a), digits(b));
    let padded = |text: &str, count: usize| count > 1 && text.starts_with('0');
    let fits = of_a == of_b || !padded(a, of_a) && !padded(b, of_b);
    let value = |text: &str, count: usize| text[..count].parse::<u64>().ok();
    match (value(a, of_a), value(b, of_b)) {
        (Some(x), Some(y)) => fits && x.checked_add(1) == Some(y) && a[of_a..] == b[of_b..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(names: &[&str]) -> Vec<String> {
        let mut names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        names.sort_by(|a, b| natural(a, b));
        names
    }

    #[test]
    fn numbers_are_in_their_order() {
        let names = sorted(&[
            "kvm10", "kvm9", "kvm", "b1-2", "b1-10", "kvm09", "ü2", "ü10",
        ]);
        let right = [
            "b1-2", "b1-10", "kvm", "kvm09", "kvm9", "kvm10", "ü2", "ü10",
        ];
        assert_eq!(names, right);
        let huge = format!("a{}", "9".repeat(400));
        assert_eq!(natural(&huge, "a1"), Ordering::Greater);
    }

    #[test]
    fn runs_are_folded() {
        for (names, text) in [
            (
                &["kvm01", "kvm02", "kvm03", "kvm17"][..],
                "kvm01–kvm03, kvm17",
            ),
            (&["kvm01", "kvm02"], "kvm01, kvm02"),
            (&["kvm8", "kvm9", "kvm10", "kvm11"], "kvm8–kvm11"),
            (&["kvm08", "kvm09", "kvm10"], "kvm08–kvm10"),
            (&["kvm9", "kvm010", "kvm11"], "kvm9, kvm010, kvm11"),
            (&["a1.x", "a2.x", "a3.x", "a4.y"], "a1.x–a3.x, a4.y"),
            (&["r1n1", "r1n2", "r1n3", "r2n1"], "r1n1–r1n3, r2n1"),
            (&["a", "b", "c"], "a, b, c"),
            (&["ä1", "ö1", "ü1"], "ä1, ö1, ü1"),
            (&[], ""),
        ] {
            assert_eq!(folded(&sorted(names)), text);
        }
        let many: Vec<String> = (1..=99).map(|n| format!("h{}", n * 2)).collect();
        assert_eq!(shortened(&many, 2), "h2, h4 and 97 more");
        assert_eq!(shortened(&many[..2], 2), "h2, h4");
        let last = format!("h{}", u64::MAX);
        assert_eq!(folded(&[last.as_str(), "h0"]), format!("{last}, h0"));
    }

    #[test]
    fn a_name_has_a_stem() {
        for (name, stem) in [
            ("kvm01.example.com", "kvm"),
            ("kvm-07", "kvm"),
            ("web", "web"),
            ("10.0.0.1", ""),
            ("", ""),
        ] {
            assert_eq!(super::stem(name), stem, "{name}");
        }
    }
}
