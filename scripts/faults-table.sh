#!/bin/bash
# The table of accidents that logs tell of; to be sourced.

# faults_table ORDER LOG…: each line `FAULT | …` as a row, ordered by the command ORDER (`sort`, or `cat` to
# leave them as they come), and what was skipped. A log that is not there says nothing.
faults_table() {
    local order=$1
    shift
    echo
    echo "| scene | accident | count | result |"
    echo "|---|---|---:|---|"
    cat "$@" 2>/dev/null | grep -o 'FAULT | .*' | cut -c 7- | "$order" || true
    echo
    cat "$@" 2>/dev/null | grep -o 'SKIP .*' | sed 's/^/- /' || true
}
