#!/bin/bash
# Everything that must hold: format, lints, documentation, licences, layers, and all tests, as
# root and as an ordinary user where this is root. Ends with one line that counts passed and
# skipped tests. A test that cannot run here prints `SKIP name: reason` and is counted.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/toolchain.sh
target=${CARGO_TARGET_DIR:-target}
export PATH=$PWD/$target/tools/bin:$target/tools/bin:$PATH:/usr/sbin:/sbin
root=$PWD
# A build from nothing has no next build to save time for: incremental state would double its disk.
[ -d "$target/debug/incremental" ] || export CARGO_INCREMENTAL=0
# Longest time for one test program, in seconds.
limit=${NICETY_TEST_TIMEOUT:-2400}
# Tests that may pass at a second attempt only, over all programs.
again_limit=4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/failed"
: >"$work/details"
: >"$work/passed"
: >"$work/skips"
: >"$work/again"
: >"$work/times"
# Output of the test program that runs now; two run at once.
one=$work/one

step() { echo "== $*"; }

fail() { echo "$*" >>"$work/failed"; }

skip() {
    echo "SKIP $*"
    echo "SKIP $*" >>"$work/skips"
}

check() {
    local name=$1 begun=$SECONDS
    shift
    step "$name"
    "$@" || fail "$name"
    echo "      $name: $((SECONDS - begun)) s"
}

source scripts/layers.sh

# Licences, sources and duplicates need no network; advisories need the RustSec database.
advisories() {
    local status=0
    scripts/audit.sh >"$work/audit" 2>&1 || status=$?
    case $status in
    3) skip "advisories: $(tail -n 1 "$work/audit")" ;;
    *) cat "$work/audit" ;;
    esac
    [ "$status" -eq 0 ] || [ "$status" -eq 3 ]
}

# What `make static` builds, unoptimised, which takes a third of the time, and beside it: the tests
# try it alone and on another kernel.
static_binary() {
    local status=0
    scripts/static.sh --profile dev --out "$target/static/nicety-dev" >"$work/static" 2>&1 || status=$?
    case $status in
    0) tail -n 1 "$work/static" ;;
    3) skip "static binary: $(tail -n 1 "$work/static")" ;;
    *)
        cat "$work/static"
        return 1
        ;;
    esac
}

# Lists the test programs: package folder, a tab, program.
build_tests() {
    cargo test --locked --workspace --no-run --message-format=json-render-diagnostics \
        >"$work/build.json" || return 1
    grep '"profile":{[^}]*"test":true' "$work/build.json" |
        sed -n 's/.*"manifest_path":"\([^"]*\)\/Cargo.toml".*"executable":"\([^"]*\)".*/\1\t\2/p' \
            >"$work/programs"
    [ -s "$work/programs" ]
}

# Tests of the last program that passed and did not skip themselves: those say ok too.
count_passed() {
    awk '/^test .* \.\.\. ok$/ { name = $0; sub(/^test /, "", name); sub(/ \.\.\. ok$/, "", name); ok[name] }
        /^SKIP / { name = $2; sub(/:$/, "", name); skip[name] }
        END {
            for (name in ok) {
                last = name
                sub(/.*::/, "", last)
                if (!(name in skip) && !(last in skip)) count++
            }
            print count + 0
        }' "$one"
}

# Names of the tests that failed in the last program, as that program takes them.
failed_names() {
    {
        sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$one"
        # What a test's own children print can stand in the middle of its line; the list at the
        # end is whole.
        awk '/^failures:$/ { list = 1; n = 0; next } list && /^    [^ ]+$/ { name[n++] = $1 }
            END { for (i = 0; i < n; i++) print name[i] }' "$one"
    } | sort -u
}

# Notes how long each test of the program of `run` takes, to the second, while it runs.
clock() {
    local seen=0 last=$SECONDS ended now
    while sleep 1; do
        mapfile -t ended < <(sed -n 's/^test \([^ ]*\) .*\.\.\. \(ok\|FAILED\)$/\1/p' "$one" |
            tail -n +$((seen + 1)))
        [ ${#ended[@]} -gt 0 ] || continue
        now=$SECONDS
        echo "$((now - last)) $label: $name: ${ended[*]}" >>"$work/times"
        seen=$((seen + ${#ended[@]})) last=$now
    done
}

# attempt ARGUMENTS…: runs the program of `run`; its output is in $one.
attempt() {
    local clock status=0
    : >"$one"
    clock &
    clock=$!
    # Descriptor 3 is the list of programs: a browser takes it for its own.
    (cd "$folder" && CARGO_MANIFEST_DIR=$folder INSTA_WORKSPACE_ROOT=$root timeout --kill-after=10 "$limit" \
        "${below[@]}" "$program" "${arguments[@]}" "$@") >"$one" 2>&1 </dev/null 3<&- || status=$?
    kill "$clock"
    wait "$clock" 2>/dev/null || true
    return "$status"
}

# Adds what the last program passed and skipped to the sums.
tally() {
    count_passed >>"$work/passed"
    grep '^SKIP ' "$one" | sed "s/^SKIP /SKIP $1: /" >>"$work/skips" || true
    sed -n "s/^test \(.*\) \.\.\. ignored\(.*\)/SKIP $1: \1: ignored\2/p" "$one" >>"$work/skips"
}

# The tests of `run` that failed, alone: whether all pass now, which is noted.
retry() {
    local status=0
    attempt --exact "${names[@]}" || status=$?
    tally "$label"
    if [ "$status" -eq 0 ] && [ "$(count_passed)" -lt ${#names[@]} ]; then
        echo "skipped at the second attempt"
        status=1
    fi
    [ "$status" -ne 0 ] || printf "$label: $name: %s\n" "${names[@]}" >>"$work/again"
    return "$status"
}

# Modules of the lab's tests about what happens inside its machine: root there, whoever started it.
inside=(functions guests measured nics old_kernel paths policers rates sockets tune)

# alike PROGRAM: modules of its tests that take long and do in a user's namespace what they did in root's, word for word:
# nothing in them asks who runs them. The rest of the program shows what differs for a user.
alike() {
    case $1 in
    nicety/police) echo bursts packets receive adopt::roots ;;
    nicety/sock) echo strangers served ;;
    esac
}

# run LABEL FOLDER PROGRAM COMMAND…: runs one test program below a command. Up to three of its
# tests may fail and are run once more, alone: what is measured depends on what else the machine does
# at that moment. That is said, counted, and never done for programs that measure nothing, nor where
# something was left behind; a test that then skips itself has failed, and so has a run in which more
# than four tests needed it.
run() {
    local label=$1 folder=$2 program=$3
    shift 3
    local below=("$@") name arguments=(--show-output) status=0 measures=no names begun=$SECONDS
    name=$(basename "$folder")/$(basename "$program" | sed 's/-[0-9a-f]*$//')
    # Traffic tests measure: one at a time.
    case " ${pure[*]} nicety-store " in
    *" nicety-$(basename "$folder") "*) ;;
    *) arguments+=(--test-threads=1) measures=yes ;;
    esac
    # Nothing of these is measured: what fails once has failed.
    case $name in
    history/* | host/* | netdev/* | testkit/* | tuner/* | guests/* | lab/* | nicety/cases) measures=no ;;
    esac
    # Each of these boots a machine for minutes, and has just passed or failed as root.
    if [ "$label" = user ] && [ "$privilege" = root ] && [ "$name" = nicety/lab ]; then
        local module
        for module in "${inside[@]}"; do arguments+=(--skip "$module::"); done
        skip "user: nicety/lab: ${inside[*]}: inside the machine everybody is root, who has run them above"
    fi
    if [ "$label" = user ] && [ "$privilege" = root ]; then
        local module modules
        modules=$(alike "$name")
        for module in $modules; do arguments+=(--skip "$module::"); done
        [ -z "$modules" ] || skip "user: $name: ${modules//$'\n'/ }: the same for everybody, and root has run them above"
    fi
    attempt || status=$?
    tally "$label"
    mapfile -t names < <(failed_names)
    if [ "$status" -ne 0 ] && [ "$status" -ne 124 ] && [ "$measures" = yes ] &&
        [ ${#names[@]} -ge 1 ] && [ ${#names[@]} -le 3 ] && ! grep -q '^left behind: ' "$one"; then
        cat "$one"
        echo "again $label: $name: ${names[*]}"
        status=0
        retry || status=$?
    fi
    if [ "$status" -eq 0 ]; then
        echo "ok    $label: $name ($(count_passed), $((SECONDS - begun)) s)"
    else
        cat "$one"
        [ "$status" -ne 124 ] || echo "stopped after $limit seconds"
        echo "FAIL  $label: $name (status $status)"
        fail "$label: $name (status $status, $((SECONDS - begun)) s)"
        details
    fi
}

# Keeps what the failed tests of the last program said, for the end, where a reader looks first.
details() {
    {
        echo "-- $label: $name"
        awk '/^failures:$/ { list = 1 } list' "$one" | sed -n '1,80p' | cut -c 1-400
        [ "$status" -ne 124 ] || { echo "stopped after $limit seconds, in:" && tail -n 3 "$one"; }
    } >>"$work/details"
}

# Below this a command runs as an ordinary user.
as_user=("$PWD/scripts/as-user.sh" "$PWD")
# Whether that user can run the test programs.
readable() { "${as_user[@]}" test -r "$(head -n 1 "$work/programs" | cut -f 2)"; }

# What is not measured: beside tests that leave a good part of two CPUs, and only when nothing else
# wants to run.
beside() {
    one=$work/one-beside
    check "static binary" static_binary
    : >"$work/static-ended"
    check "lints" cargo clippy --quiet --locked --workspace --all-targets -- -D warnings
    check "documentation" env RUSTDOCFLAGS="-D warnings" \
        cargo doc --quiet --locked --workspace --no-deps
    check "examples in the documentation" examples
    run_all "$privilege" patient_programs
    [ "$both" = no ] || run_all user as_user_too patient_programs
}

# run_all LABEL LIST…: the programs that LIST prints, as LABEL says.
run_all() {
    local label=$1 folder program below=()
    shift
    [ "$label" = "$privilege" ] || below=("${as_user[@]}")
    while IFS=$'\t' read -r folder program <&3; do
        run "$label" "$folder" "$program" "${below[@]}"
    done 3< <("$@")
}

examples() {
    timeout --kill-after=10 "$limit" cargo test --locked --workspace --doc >"$work/examples" 2>&1 || {
        cat "$work/examples"
        return 1
    }
    # grep fails when there are none.
    grep -c '^test .* \.\.\. ok$' "$work/examples" >>"$work/passed" || true
}

# Programs that boot the lab; that share a link, whose tests wait for periods most of the time; that
# measure nothing and so wait for nobody, but for browsers; and all others, which have the machine to
# themselves.
of_pure=$(printf '|%s' "${pure[@]#nicety-}")
indifferent="/(cluster|guests|history|host|hostile|lab|netdev|store|testkit|tuner$of_pure)"$'\t'
indifferent+='|/(cases|docs|faults|nicety|vm)-[0-9a-f]*$'
lab_programs() { grep '/lab-[0-9a-f]*$' "$work/programs" || true; }
sharing_programs() { grep '/nicety'$'\t''.*/police-[0-9a-f]*$' "$work/programs" || true; }
patient_programs() { grep -E "$indifferent" "$work/programs" | grep -vE '/(browser|lab)-[0-9a-f]*$' || true; }
quiet_programs() { grep -vxFf <(lab_programs; sharing_programs; patient_programs) "$work/programs"; }
# as_user_too LIST…: without those of pure crates, which need no second run.
as_user_too() { "$@" | grep -vE "/(${of_pure#|})"$'\t' || true; }

check "format" cargo fmt --all --check
check "layers" layers
check "licences, sources, duplicates" cargo deny --locked --log-level error check bans licenses sources
check "advisories" advisories
check "build" build_tests

# Programs that would start themselves again as a user need not: that is the next step.
export NICETY_TEST_ROOT_ONLY=1
privilege=$([ "$(id -u)" -eq 0 ] && echo root || echo user)

both=no
if [ ! -s "$work/programs" ]; then
    :
elif [ "$privilege" = user ]; then
    skip "tests as root: this is not root"
elif ! readable; then
    skip "tests as user: an ordinary user cannot read the test programs in $target"
else
    both=yes
fi

set -m
(
    chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 "$BASHPID" >/dev/null
    beside
) >"$work/beside" 2>&1 &
beside=$!
set +m
# A group of its own, which ends with this script.
trap 'kill -- "-$beside" 2>/dev/null || true; rm -rf "$work"' EXIT

# everybody LIST…: the programs that LIST prints, as root and as an ordinary user.
everybody() {
    step "tests as $privilege: ${1//_/ }"
    run_all "$privilege" "$@"
    [ "$both" = yes ] || return 0
    step "tests as user nobody: ${1//_/ }"
    run_all user as_user_too "$@"
}

everybody sharing_programs
# Tests of the lab start the static binary on another kernel.
while [ ! -e "$work/static-ended" ] && kill -0 "$beside" 2>/dev/null; do sleep 1; done
everybody lab_programs
wait "$beside" || fail "lints, documentation, its examples, and tests that measure nothing"
trap 'rm -rf "$work"' EXIT
cat "$work/beside"
everybody quiet_programs

skipped=$(wc -l <"$work/skips")
[ "$(wc -l <"$work/again")" -le "$again_limit" ] || fail "more than $again_limit tests passed only at a second attempt"
passed=$(awk '{ sum += $1 } END { print sum + 0 }' "$work/passed")

echo
if [ "$skipped" -gt 0 ]; then
    cut -c 6- "$work/skips" | sed 's/^/skipped: /'
fi
# Not `head`: a pipe that it closes early would end this script.
sort -rn "$work/times" | sed -n "1,${NICETY_TEST_SLOWEST:-15}s/^\\([0-9]*\\) /slow: \\1 s /p"
sed 's/^/passed only at a second attempt: /' "$work/again"
cat "$work/details"
echo "$passed tests passed ($(wc -l <"$work/again") of them only at a second attempt), $skipped skipped, $(wc -l <"$work/failed") programs or checks failed"
if [ -s "$work/failed" ]; then
    sed 's/^/failed: /' "$work/failed"
    exit 1
fi
