#!/bin/bash
# Builds the book into target/book. Pages are staged with the files that they link to, under the same
# paths, so that every link of the repository holds in the book too.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
export PATH=$PWD/$target/tools/bin:$target/tools/bin:$PATH
work=$target/book-src

rm -rf "$work" "$target/book"
mkdir -p "$work"
cp -r --parents docs plans policies schema packaging/dashboards packaging/examples packaging/*.service \
    README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md CHANGELOG.md LICENSE-* tests/cases/README.md "$work"
# mdbook wants the table of contents at the root of the pages.
sed 's#](\.\./#](#; t; s#](\([a-z]\)#](docs/\1#' docs/SUMMARY.md >"$work/SUMMARY.md"
rm "$work/docs/SUMMARY.md" "$work"/docs/*.sh

MDBOOK_BOOK__SRC=$work mdbook build --dest-dir "$PWD/$target/book" .
echo "$target/book/index.html"
