//! Help texts and wrong usage.

use crate::harness::{nicety, refusals, words};

/// Help of a command in a terminal of 80 columns.
fn help(arguments: &[&str]) -> String {
    let ended = nicety(arguments).env("COLUMNS", "80").run();
    ended.assert_code(0);
    assert_eq!(ended.stderr, "");
    ended.stdout
}

/// What they say is in `docs/reference/cli.md`, which is made of the same words; here is how it is laid out.
#[test]
fn help_texts() {
    insta::assert_snapshot!("nicety", help(&["--help"]));
    insta::assert_snapshot!("bench", help(&["bench", "--help"]));
    insta::assert_snapshot!("sock", help(&["sock", "--help"]));
    assert_eq!(help(&["help", "bench"]), help(&["bench", "--help"]));
    let version = concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(help(&["--version"]), version);
}

#[test]
fn every_help_fits_a_terminal() {
    let page = include_str!("../../../../docs/reference/cli.md");
    let commands = page
        .lines()
        .filter_map(|line| line.strip_prefix("## nicety "));
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 40, "{commands:?}");
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let text = help(&words);
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{command}");
    }
}

#[test]
fn no_command_prints_help_as_wrong_usage() {
    let ended = nicety::<&str>([]).env("COLUMNS", "80").run();
    ended.assert_code(2);
    assert_eq!(ended.stdout, "");
    assert_eq!(ended.stderr, help(&["-h"]));
}

const WRONG: &str = r#"
bnech
    unknown command bnech; did you mean bench?
sock udp_r
    TESTS: "udp_r" is not a socket test; did you mean "udp_rr"?
sock
    TESTS is missing; see nicety sock --help
runs lst
    unknown command lst; did you mean list?
frobnicate
    unknown command frobnicate; see nicety --help
--jsn
    unknown argument --jsn; see nicety --help
bench --jsn
    unknown argument --jsn; did you mean --json?
bench --zzz
    unknown argument --zzz; see nicety bench --help
bench a.toml b c d
    unexpected value 'd' for '[PLAN|A B]...' found; no more were expected; see nicety bench --help
bench --out
    --out needs a value; write --out DIR
bench --out ''
    --out needs a value; write --out DIR
bench --color alway
    --color: unknown value "alway"; did you mean always?
runs list --format x
    --format: unknown value "x"; write one of table, json, csv, md
runs list --quiet --verbose
    --quiet and --verbose exclude each other; remove one of them
bench --keep plan.toml
    --keep: "plan.toml" looks like a plan; write the plan before --keep
bench --json --json
    --json is given twice; remove one of them
bench --out a --resume b
    --out and --resume exclude each other; remove one of them
bench plan.toml --resume b
    PLAN|A B and --resume exclude each other; remove one of them
report
    RUN is missing; see nicety report --help
bench --preset quik
    --preset: unknown preset "quik"; did you mean "quick"?
bench --preset fast
    --preset: unknown preset "fast"; write one of quick, robust, binary, std, csit, rfc2544
bench --seed x
    --seed: "x" is not a seed; write a whole number, as printed with the results
bench --for 30
    --for: "30" has no unit; write "30s" for seconds (ms, s, m or h)
bench --for soon
    --for: "soon" is not a duration; write a number and ms, s, m or h, as in "30s"
bench --for=-5m
    --for: "-5m" is not a duration; write a number and ms, s, m or h, as in "30s"
bench --for 0s
    --for: "0s" is too short to measure anything; write at least "1s"
bench --for 200h
    --for: "200h" is longer than 168h; write a shorter duration
"#;

#[test]
fn wrong_usage_is_one_line() {
    for (arguments, line) in refusals(WRONG) {
        nicety(words(arguments)).run().refused(line);
    }
}
