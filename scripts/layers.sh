#!/bin/bash
# Which crates decide and which touch the machine; `layers` checks that the first reach none of the second.
# To be sourced.

# Pure crates decide, edge crates touch: none of these may be reached from a pure crate.
pure=(nicety-model nicety-advisor nicety-search nicety-packet nicety-account nicety-compare nicety-police nicety-report)
edge='crossterm|landlock|ratatui-crossterm|libc|nix|rustix|tokio|mio|socket2|rtnetlink|netlink-.*|signal-hook|getrandom|jiff|etcd-client|tonic|nicety-(fate|host|netdev|policed|port|trial|paths|guests|lab|socket|store|runner|tuner)'
layers() {
    local crate tree found status=0
    for crate in "${pure[@]}"; do
        tree=$(cargo tree --locked -p "$crate" -e normal --prefix none) || return 1
        found=$(awk '{print $1}' <<<"$tree" | sort -u | grep -Ex "$edge" | tr '\n' ' ') || true
        if [ -n "$found" ]; then
            echo "$crate is pure but depends on: $found(see: cargo tree -p $crate -i NAME)"
            status=1
        fi
    done
    return "$status"
}
