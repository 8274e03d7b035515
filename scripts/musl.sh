# Sourced, from the repository's root, after toolchain.sh: tests and the static program are built for musl, which needs
# Rust's library for it. $musl is the target's name; a script that builds for another machine sets it before.
musl=${musl:-x86_64-unknown-linux-musl}
if [ ! -e "$(rustc --print sysroot)/lib/rustlib/$musl" ]; then
    command -v rustup >/dev/null || {
        echo "Rust's library for $musl is missing; install it as your toolchain's package" >&2
        exit 3
    }
    rustup target add "$musl" >&2 || {
        echo "Rust's library for $musl cannot be fetched; check the network" >&2
        exit 3
    }
fi
