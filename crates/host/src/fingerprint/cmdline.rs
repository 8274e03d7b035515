//! The kernel command line, fit to be published.

/// Parameters whose whole value identifies a machine, a person or a secret rather than a
/// setting; matched within the key, lower case.
const PRIVATE_KEYS: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "token",
    "serial",
    "uuid",
    "hostname",
    "credential",
    "hwaddr",
];

/// Parameters that hold a network's addresses.
const ADDRESS_KEYS: [&str; 5] = ["ip", "nfsroot", "nameserver", "ifname", "rd.peerdns"];

/// The kernel's part of its command line: without what follows `--` (that is init's, not the
/// kernel's), and with `…` in place of hardware addresses, UUIDs, network addresses and
/// values of parameters that are named like secrets. Everything that steers CPUs, memory,
/// drivers and mitigations stays as it is.
pub fn public_cmdline(cmdline: &str) -> String {
    let words: Vec<String> = cmdline
        .split_ascii_whitespace()
        .take_while(|word| *word != "--")
        .map(public_word)
        .collect();
    words.join(" ")
}

fn public_word(word: &str) -> String {
    let Some((key, value)) = word.split_once('=') else {
        return if identifies(word) {
            "…".to_owned()
        } else {
            word.to_owned()
        };
    };
    let lower = key.to_ascii_lowercase();
    let private = PRIVATE_KEYS.iter().any(|name| lower.contains(name))
        || ADDRESS_KEYS.contains(&lower.as_str());
    if private || identifies(value) {
        // `root=UUID=…` keeps what kind of name it is.
        let kind = match value.split_once('=') {
            Some((kind, _)) if !private => format!("{kind}="),
            _ => String::new(),
        };
        return format!("{key}={kind}…");
    }
    word.to_owned()
}

/// Whether a hardware address or a UUID is anywhere in the value.
fn identifies(value: &str) -> bool {
    let parts = value.split(|c: char| !(c.is_ascii_hexdigit() || c == ':' || c == '-'));
    let mut parts = parts.filter(|part| !part.is_empty());
    parts.any(|part| has_mac(part) || has_uuid(part))
}

/// Six pairs of hexadecimal digits in a row, with `:` or `-` between.
fn has_mac(part: &str) -> bool {
    [':', '-'].into_iter().any(|separator| {
        let mut run = 0;
        part.split(separator).any(|piece| {
            let pair = piece.len() == 2 && piece.bytes().all(|byte| byte.is_ascii_hexdigit());
            run = if pair { run + 1 } else { 0 };
            run == 6
        })
    })
}

/// `8-4-4-4-12` hexadecimal digits.
fn has_uuid(part: &str) -> bool {
    let lengths: Vec<usize> = part.split('-').map(str::len).collect();
    lengths.windows(5).any(|five| five == [8, 4, 4, 4, 12])
}
