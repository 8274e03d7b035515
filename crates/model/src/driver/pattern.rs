//! Names with numbers in them.

/// Whether a name is of this form: `#` stands for a whole number, `*` for anything, every other
/// letter for itself.
pub(super) fn fits(form: &str, name: &str) -> bool {
    let mut rest = form.chars();
    match rest.next() {
        None => name.is_empty(),
        Some('*') => {
            let mut cuts = name.char_indices().map(|(cut, _)| cut);
            cuts.any(|cut| fits(rest.as_str(), &name[cut..])) || fits(rest.as_str(), "")
        }
        Some('#') => {
            let after = name.trim_start_matches(|letter: char| letter.is_ascii_digit());
            after.len() < name.len() && fits(rest.as_str(), after)
        }
        Some(letter) => {
            let after = name.strip_prefix(letter);
            after.is_some_and(|after| fits(rest.as_str(), after))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn numbers_and_anything_are_left_open() {
        for (form, name, wanted) in [
            ("rx#_drop", "rx12_drop", true),
            ("rx#_drop", "rx_drop", false),
            ("rx#_drop", "rx1_drops", false),
            ("*-TxRx-#", "i40e-eno1-TxRx-0", true),
            ("*-TxRx-#", "eno1-TxRx-", false),
            ("mlx5_comp#@*", "mlx5_comp0@pci:0000:12:00.0", true),
            ("*", "", true),
            ("[#]: rx_discards", "[7]: rx_discards", true),
            ("", "x", false),
        ] {
            assert_eq!(fits(form, name), wanted, "{form} {name}");
        }
    }
}
