#!/bin/sh
# Fetches a kernel and a shell from a version of Debian: bullseye has Linux 5.10, the oldest one that the static binary is
# for, bookworm 6.1, trixie 6.12. Both are checked by apt with Debian's key. Nothing is installed.
# Usage: old-kernel.sh DIRECTORY VERSION SERIES [MIRROR]
# Leaves DIRECTORY/release, DIRECTORY/root/boot/vmlinuz-RELEASE, its modules and bin/busybox below root.
set -eu

dir=$1 version=$2 series=$3
mirror=${4:-http://deb.debian.org/debian}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -e "$dir/release" ]; then exit 0; fi
for program in apt-get dpkg-deb; do
    command -v $program >/dev/null || {
        echo "no $program here: Debian's packages cannot be fetched" >&2
        exit 3
    }
done
if [ ! -e $keyring ]; then
    echo "$keyring is missing: Debian's packages cannot be checked" >&2
    exit 3
fi

work=$dir.fetching
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/packages" "$work/done/root"
: >"$work/status"
echo "deb [arch=amd64 signed-by=$keyring] $mirror $version main" >"$work/sources.list"
# Proxies and the like of this machine's apt, and nothing else of its configuration.
{
    apt-config dump --no-empty --format '%F "%v";%n' Acquire::http Acquire::https Acquire::Retries
    cat <<END
Dir::Etc::SourceList "$work/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::Main "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$work";
Dir::State::Lists "$work/lists";
Dir::State::Status "$work/status";
Dir::Cache "$work";
Dir::Cache::Archives "$work/archives";
Dir::Log "$work";
APT::Sandbox::User "root";
APT::Architecture "amd64";
Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::http::Timeout "20";
END
} >"$work/apt.conf"
export APT_CONFIG="$work/apt.conf" LC_ALL=C.UTF-8
fetch() {
    if ! apt-get -q "$@" >"$work/said" 2>&1; then
        echo "apt-get $1 failed: $(grep -m 1 '^E: ' "$work/said" || tail -n 1 "$work/said")" >&2
        exit 3
    fi
}
fetch update --error-on=any
# The kernel for virtual machines is a third of the other one's size.
kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n "s/^ *Depends: \(linux-image-$series\..*\)/\1/p" | head -n 1)
if [ -z "$kernel" ]; then
    echo "$mirror has no Linux $series for $version" >&2
    exit 3
fi
cd "$work/packages"
fetch download "$kernel" busybox-static
for package in *.deb; do dpkg-deb -x "$package" "$work/done/root"; done
echo "${kernel#linux-image-}" >"$work/done/release"
rm -rf "$dir"
mv "$work/done" "$dir"
