//! Command lines that can be pasted into a shell again.
//!
//! The `shlex` crate quotes `=` and `,` as well, which shells leave alone and which stand in most options
//! here: `--only T04,T12`.

/// Words as a POSIX shell takes them: what is not plain stands in single quotes, in which a quote ends
/// them, stands escaped, and begins them anew.
pub fn command(words: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let words = words.into_iter().map(|word| quoted(word.as_ref()));
    words.collect::<Vec<_>>().join(" ")
}

/// One word of a [`command`].
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted_again() {
        let words = [
            "tune",
            "apply",
            "my plan.json",
            "--only",
            "T04,T12",
            "it's",
            "",
            "$(x)",
        ];
        assert_eq!(
            command(words),
            r"tune apply 'my plan.json' --only T04,T12 'it'\''s' '' '$(x)'"
        );
    }
}
