#!/bin/bash
# The inner loop: format, lints, layers, the tests of the crates that only decide, the cases of tests/cases, and the
# documentation. Needs no root and touches nothing; `make test` does the rest. Arguments go to cargo-nextest:
# check.sh NAME runs the tests whose names contain NAME.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/toolchain.sh
source scripts/musl.sh
source scripts/layers.sh
target=${CARGO_TARGET_DIR:-$PWD/target}
export PATH=$target/tools/bin:$PATH INSTA_WORKSPACE_ROOT=$PWD

step() { echo "== $*"; }

step "format"
cargo fmt --all --check
step "layers"
layers
step "lints"
cargo clippy --quiet --locked --workspace --all-targets --target "$musl" -- -D warnings
step "cases, documentation, and tests of the pure crates"
packages=(-p nicety)
for crate in "${pure[@]}"; do
    packages+=(-p "$crate")
done
cargo nextest run --locked --target "$musl" "${packages[@]}" --status-level fail --hide-progress-bar \
    -E 'not package(nicety) or (package(nicety) and (binary(cases) or binary(docs)))' "$@"
