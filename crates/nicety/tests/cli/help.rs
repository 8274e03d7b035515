//! Help texts and wrong usage.

use crate::harness::nicety;

/// Help of a command in a terminal of 80 columns.
fn help(arguments: &[&str]) -> String {
    let ended = nicety(arguments).env("COLUMNS", "80").run();
    ended.assert_code(0);
    assert_eq!(ended.stderr, "");
    ended.stdout
}

#[test]
fn help_texts() {
    insta::assert_snapshot!("nicety", help(&["--help"]));
    insta::assert_snapshot!("bench", help(&["bench", "--help"]));
    insta::assert_snapshot!("compare", help(&["compare", "--help"]));
    insta::assert_snapshot!("inspect", help(&["inspect", "--help"]));
    insta::assert_snapshot!("tune", help(&["tune", "--help"]));
    insta::assert_snapshot!("tune_plan", help(&["tune", "plan", "--help"]));
    insta::assert_snapshot!("tune_fleet", help(&["tune", "fleet", "--help"]));
    insta::assert_snapshot!("tune_apply", help(&["tune", "apply", "--help"]));
    insta::assert_snapshot!("tune_history", help(&["tune", "history", "--help"]));
    insta::assert_snapshot!("tune_explain", help(&["tune", "explain", "--help"]));
    insta::assert_snapshot!("vf", help(&["vf", "--help"]));
    insta::assert_snapshot!("vf_enable", help(&["vf", "enable", "--help"]));
    insta::assert_snapshot!("tune_rollback", help(&["tune", "rollback", "--help"]));
    insta::assert_snapshot!("tune_persist", help(&["tune", "persist", "--help"]));
    insta::assert_snapshot!("lab", help(&["lab", "--help"]));
    insta::assert_snapshot!("lab_run", help(&["lab", "run", "--help"]));
    insta::assert_snapshot!("probe", help(&["probe", "--help"]));
    insta::assert_snapshot!("report", help(&["report", "--help"]));
    insta::assert_snapshot!("runs", help(&["runs", "--help"]));
    insta::assert_snapshot!("runs_trend", help(&["runs", "trend", "--help"]));
    insta::assert_snapshot!("runs_prune", help(&["runs", "prune", "--help"]));
    insta::assert_snapshot!("sock", help(&["sock", "--help"]));
    insta::assert_snapshot!("sock_tcp_rr", help(&["sock", "tcp_rr", "--help"]));
    insta::assert_snapshot!("sock_serve", help(&["sock", "serve", "--help"]));
    assert_eq!(help(&["help", "bench"]), help(&["bench", "--help"]));
}

#[test]
fn version() {
    let ended = nicety(["--version"]).run();
    assert_eq!(
        ended.assert_code(0).stdout,
        concat!("nicety ", env!("CARGO_PKG_VERSION"), "\n")
    );
}

#[test]
fn no_command_prints_help_as_wrong_usage() {
    let ended = nicety::<&str>([]).env("COLUMNS", "80").run();
    ended.assert_code(2);
    assert_eq!(ended.stdout, "");
    assert_eq!(ended.stderr, help(&["-h"]));
}

#[test]
fn wrong_usage_is_one_line() {
    for (arguments, line) in [
        (&["bnech"][..], "unknown command bnech; did you mean bench?"),
        (
            &["sock", "udp_r"],
            "unknown command udp_r; did you mean udp_rr?",
        ),
        (
            &["sock", "tcp_rrr"],
            "unknown command tcp_rrr; did you mean tcp_rr?",
        ),
        (
            &["frobnicate"],
            "unknown command frobnicate; see nicety --help",
        ),
        (&["--jsn"], "unknown argument --jsn; see nicety --help"),
        (
            &["bench", "--jsn"],
            "unknown argument --jsn; did you mean --json?",
        ),
        (
            &["bench", "--zzz"],
            "unknown argument --zzz; see nicety bench --help",
        ),
        (
            &["bench", "a.toml", "b.toml"],
            "unknown argument b.toml; see nicety bench --help",
        ),
        (&["bench", "--out"], "--out needs a value; write --out DIR"),
        (
            &["bench", "--out", ""],
            "--out needs a value; write --out DIR",
        ),
        (
            &["bench", "--color", "alway"],
            "--color: unknown value \"alway\"; did you mean always?",
        ),
        (
            &["runs", "list", "--format", "x"],
            "--format: unknown value \"x\"; write one of table, json, csv, md",
        ),
        (
            &["runs", "list", "--quiet", "--verbose"],
            "--quiet and --verbose exclude each other; remove one of them",
        ),
        (
            &["bench", "--keep", "plan.toml"],
            "--keep: \"plan.toml\" looks like a plan; write the plan before --keep",
        ),
        (
            &["bench", "--json", "--json"],
            "--json is given twice; remove one of them",
        ),
        (
            &["bench", "--out", "a", "--resume", "b"],
            "--out and --resume exclude each other; remove one of them",
        ),
        (
            &["bench", "plan.toml", "--resume", "b"],
            "PLAN and --resume exclude each other; remove one of them",
        ),
        (&["report"], "RUN is missing; see nicety report --help"),
        (
            &["bench", "--preset", "quik"],
            r#"--preset: unknown preset "quik"; did you mean "quick"?"#,
        ),
        (
            &["bench", "--preset", "fast"],
            r#"--preset: unknown preset "fast"; write one of quick, robust, binary, std, csit, rfc2544"#,
        ),
        (
            &["bench", "--seed", "x"],
            r#"--seed: "x" is no seed; write a whole number, as printed with the results"#,
        ),
        (
            &["bench", "--time-box", "30"],
            r#"--time-box: "30" has no unit; write "30s" for seconds (ms, s, m or h)"#,
        ),
        (
            &["bench", "--time-box", "soon"],
            r#"--time-box: "soon" is no duration; write a number and ms, s, m or h, as in "30s""#,
        ),
        (
            &["bench", "--time-box=-5m"],
            r#"--time-box: "-5m" is no duration; write a number and ms, s, m or h, as in "30s""#,
        ),
        (
            &["bench", "--time-box", "0s"],
            r#"--time-box: "0s" is too short to measure anything; write at least "1s""#,
        ),
        (
            &["bench", "--time-box", "200h"],
            r#"--time-box: "200h" is longer than 168h; write a shorter duration"#,
        ),
    ] {
        let ended = nicety(arguments).run();
        assert_eq!(ended.assert_code(2).only_line(), line, "{arguments:?}");
    }
}
