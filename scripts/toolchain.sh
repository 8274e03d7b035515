# Sourced, from the repository's root. rust-toolchain.toml names a version; a toolchain of that
# very version that is installed under another name (`stable`, for one) saves the download.
export PATH=$PATH:$HOME/.cargo/bin
if command -v rustup >/dev/null 2>&1 && [ -z "${RUSTUP_TOOLCHAIN:-}" ]; then
    wanted=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
    installed=$(rustup toolchain list 2>/dev/null | cut -d ' ' -f 1)
    if ! grep -q "^$wanted" <<<"$installed"; then
        for name in $installed; do
            if [[ $(RUSTUP_TOOLCHAIN=$name rustc --version 2>/dev/null) == "rustc $wanted "* ]]; then
                export RUSTUP_TOOLCHAIN=$name
                break
            fi
        done
    fi
    unset wanted installed name
fi
