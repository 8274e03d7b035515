#!/bin/bash
# The inner loop: format, lints, layers, the tests of the crates that only decide, and the cases of
# tests/cases. Needs no root and touches nothing; `make test` does the rest. Arguments go to the test
# programs: check.sh NAME.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/toolchain.sh
source scripts/layers.sh

step() { echo "== $*"; }

step "format"
cargo fmt --all --check
step "layers"
layers
step "lints"
cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
step "cases, documentation, and tests of the pure crates"
packages=()
for crate in "${pure[@]}"; do
    packages+=(-p "$crate")
done
cargo test --quiet --locked "${packages[@]}" --lib --bins --tests -- "$@"
cargo test --quiet --locked -p nicety --test cases --test docs -- "$@"
