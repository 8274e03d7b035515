# For scripts that source this.

# apt_install PACKAGE…: a mirror that fails once, or another apt that holds the lock, is no reason to do without.
apt_install() {
    local pause with=(-q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=120)
    export DEBIAN_FRONTEND=noninteractive
    for pause in 5 20 0; do
        if apt-get "${with[@]}" update && apt-get "${with[@]}" install -y --no-install-recommends "$@"; then return 0; fi >&2
        [ $pause -gt 0 ] || return 1
        echo "apt-get failed; once more in $pause s" >&2
        sleep $pause
    done
}
