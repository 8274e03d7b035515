#!/bin/bash
# Gives everything that reads bytes of others any bytes, with libFuzzer: `FUZZ_SECONDS` (600) for each target, one
# after the other for each CPU. TARGET... are the names to try; all of them by default. The result is a table,
# target/fuzz.md. Bytes that make a target panic or hang are put into crates/hostile/corpus, where the tests find them.
# Usage: fuzz.sh [TARGET...]
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/toolchain.sh

seconds=${FUZZ_SECONDS:-600}
out=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
# Only these programs need nightly Rust: its sanitizers count what code was reached.
nightly=${FUZZ_TOOLCHAIN:-nightly}
fuzz_version=0.13.1

say() { echo "fuzz: $*" >&2; }

if ! rustup run "$nightly" rustc --version >/dev/null 2>&1; then
    say "installing $nightly Rust"
    rustup toolchain install "$nightly" --profile minimal >&2
fi
export PATH=$out/tools/bin:$PATH
if ! cargo fuzz --version >/dev/null 2>&1; then
    say "building cargo-fuzz $fuzz_version"
    cargo install --quiet --locked --root "$out/tools" --version "$fuzz_version" cargo-fuzz >&2
fi

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(sed -n 's/^name = "\(.*\)"$/\1/p' fuzz/Cargo.toml | grep -v '^nicety-fuzz$')
fi
mkdir -p "$out"
cargo run --quiet --locked -p nicety-hostile --example seeds -- "$out/seeds"
export RUSTUP_TOOLCHAIN=$nightly CARGO_TARGET_DIR=$out/build
say "building ${#targets[@]} targets"
for target in "${targets[@]}"; do cargo fuzz build --fuzz-dir fuzz "$target" >&2; done

# one TARGET: fuzzes it and leaves its row.
one() {
    local target=$1 log=$out/$1.log found=crates/hostile/corpus/$1 status=0
    mkdir -p "$out/corpus/$target" "$out/found/$target"
    local begun=$SECONDS
    cargo fuzz run --fuzz-dir fuzz "$target" "$out/corpus/$target" "$out/seeds/$target" -- \
        -max_total_time="$seconds" -timeout=8 -rss_limit_mb=4096 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="$out/found/$target/" >"$log" 2>&1 || status=$?
    local runs covered result="nothing found"
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -n 1)
    covered=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    if [ "$status" -ne 0 ]; then
        result="FOUND: $(grep -m 1 -h 'panicked at\|ERROR: libFuzzer' "$log" | cut -c 1-120)"
        mkdir -p "$found"
        cp -n "$out/found/$target/"* "$found/" 2>/dev/null || true
    fi
    echo "| $target | ${runs:-0} | ${covered:-0} | $((SECONDS - begun)) | $result |" >"$out/$target.row"
    say "$target: ${runs:-0} inputs, $result"
}

export -f one say
export out seconds
rm -f "$out"/*.row
printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'one {}'

{
    echo "| target | inputs | edges reached | seconds | result |"
    echo "|---|---:|---:|---:|---|"
    for target in "${targets[@]}"; do cat "$out/$target.row"; done
} >"$out.md"
cat "$out.md"
! grep -q 'FOUND' "$out.md"
