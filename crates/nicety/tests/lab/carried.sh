# For scripts that run in the lab, where a whole search takes minutes: what counts there is that
# frames come through.
set -eu
PATH=$PATH:/usr/sbin:/sbin

# carried RUN CELL ARGUMENTS…: `nicety bench ARGUMENTS… --engine af_packet`, which writes to the
# directory RUN, until a trial of a cell whose name begins with CELL has carried frames; then it
# is asked to stop. A run that goes on needs one more such trial.
carried() {
    into=$1
    cell=$2
    shift 2
    had=$(wc -l 2>/dev/null <"$into/trials.jsonl" || echo 0)
    nicety bench "$@" --engine af_packet >/dev/null &
    bench=$!
    until tail -n "+$((had + 1))" "$into/trials.jsonl" 2>/dev/null |
        grep -F "\"cell\":\"$cell" | grep -q '"received":[1-9]'; do
        kill -0 $bench 2>/dev/null || break
        sleep 0.3
    done
    kill -TERM $bench 2>/dev/null || true
    code=0
    wait $bench || code=$?
    echo "ended $code"
}
