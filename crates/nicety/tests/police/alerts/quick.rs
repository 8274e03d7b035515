//! The shipped rules and routes with shorter times, and nothing else changed.

/// One hour is one minute.
const FASTER: u64 = 60;

/// A duration of Prometheus and Alertmanager, as much shorter.
fn shorter(duration: &str) -> String {
    let unit = duration.find(|c: char| !c.is_ascii_digit()).unwrap();
    let number: u64 = duration[..unit].parse().unwrap();
    let milliseconds = number
        * match &duration[unit..] {
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            other => panic!("{duration}: unit {other}"),
        };
    assert_eq!(milliseconds % FASTER, 0, "{duration}");
    format!("{}ms", milliseconds / FASTER)
}

/// The text with what follows each `before`, up to `after`, made shorter; and how often.
fn replaced(text: &str, before: &str, after: char) -> (String, usize) {
    let mut parts = text.split(before);
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut count = 0;
    for part in parts {
        let (duration, rest) = part.split_once(after).unwrap();
        out += &format!("{before}{}{after}{rest}", shorter(duration));
        count += 1;
    }
    (out, count)
}

/// Rules whose `for` and whose ranges are shorter.
pub fn rules(shipped: &str) -> String {
    let (text, waits) = replaced(shipped, "for: ", '\n');
    let (text, ranges) = replaced(&text, "[", ']');
    assert!(waits >= 12 && ranges >= 4, "{waits} {ranges}");
    text
}

/// Routes that wait less.
pub fn routes(shipped: &str) -> String {
    let keys = ["group_wait: ", "group_interval: ", "repeat_interval: "];
    keys.iter().fold(shipped.to_owned(), |text, key| {
        let (text, count) = replaced(&text, key, '\n');
        assert!(count > 0, "{key}");
        text
    })
}

#[test]
fn times_are_shorter_and_nothing_else_is_changed() {
    let text = "  expr: increase(a[15m]) > 0\n  for: 2m\n  group_wait: 30s\n";
    let (text, count) = replaced(text, "for: ", '\n');
    assert_eq!(count, 1);
    let (text, count) = replaced(&text, "[", ']');
    assert_eq!(count, 1);
    let (text, _) = replaced(&text, "group_wait: ", '\n');
    let wanted = "  expr: increase(a[15000ms]) > 0\n  for: 2000ms\n  group_wait: 500ms\n";
    assert_eq!(text, wanted);
}
