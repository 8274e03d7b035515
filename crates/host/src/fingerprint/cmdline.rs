//! The kernel command line, fit to be published.

/// Parameters whose whole value identifies a machine, a person or a secret rather than a
/// setting; matched within the key, lower case.
const PRIVATE_KEYS: [&str; 10] = [
    "password",
    "passwd",
    "secret",
    "token",
    "serial",
    "uuid",
    "hostname",
    "credential",
    "hwaddr",
    "machine_id",
];

/// Parameters that hold a network's addresses.
const ADDRESS_KEYS: [&str; 4] = ["ip", "nfsroot", "nameserver", "ifname"];

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
    // `root=PARTUUID=…` keeps what kind of name it is.
    if !private
        && let Some((kind, _)) = value.split_once('=')
        && kind.to_ascii_lowercase().ends_with("uuid")
    {
        return format!("{key}={kind}=…");
    }
    // Disks by id carry the serial number.
    if private || identifies(value) || value.contains("/by-id/") {
        return format!("{key}=…");
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
