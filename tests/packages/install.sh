#!/usr/bin/env bash
# dpkg installs, upgrades and removes the packages, in folders that stand for the root of a system: what depends on
# what, and that a package takes away its own files and no others.
#     install.sh FOLDER_OF_BUILD.SH FOLDER
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/built.sh"
built=$1 folder=$2
as_root=()
if [ "$(id -u)" != 0 ]; then
    command -v fakeroot >/dev/null || { echo "skipped: dpkg sets owners, and there is neither root nor fakeroot"; exit 77; }
    as_root=(fakeroot)
fi
PATH=$PATH:/usr/sbin:/sbin

# What the packages depend on, except each other: the system's own packages, so that a wrong dependency is found.
foreign=$(for package in "$packages"/*.deb; do dpkg-deb -f "$package" Depends; done |
    tr ',' '\n' | sed 's/(.*//; s/ //g; /^libdynpar/d; /^$/d' | sort -u)
# new_root: an empty system that has these.
new_root() {
    rm -rf "$folder"
    mkdir -p "$folder/var/lib/dpkg/info" "$folder/var/lib/dpkg/updates"
    # shellcheck disable=SC2086
    dpkg-query -s $foreign | awk '/^Package:/ && NR > 1 { print "" } NF { print }' >"$folder/var/lib/dpkg/status"
    local package
    # shellcheck disable=SC2086
    for package in $(dpkg-query -W -f='${binary:Package}\n' $foreign); do : >"$folder/var/lib/dpkg/info/$package.list"; done
}
dpkg_there() {
    ${as_root[@]+"${as_root[@]}"} dpkg --root="$folder" --force-not-root --force-unsafe-io --path-include='/*' --log=/dev/null "$@" \
        >"$folder/output" 2>&1
}
works() { dpkg_there "$@" || { fail "dpkg $*:"; cat "$folder/output"; }; }
# refused TEXT ARGUMENTS...
refused() {
    if dpkg_there "${@:2}"; then fail "dpkg ${*:2} worked"; fi
    grep -qE "$1" "$folder/output" || { fail "dpkg ${*:2} does not say $1:"; cat "$folder/output"; }
}
# state PACKAGE... -> for each, its version, or nothing if it is not installed
state() {
    local package
    for package in "$@"; do
        dpkg-query --admindir="$folder/var/lib/dpkg" -W -f='${db:Status-Status} ${Version}\n' "$package" 2>/dev/null | sed -n 's/^installed .*-//p'
    done | paste -sd' '
}
is() { [ "$1" = "$2" ] || fail "$3: \"$1\", and not \"$2\""; }

dev=("$packages"/libdynpar-dev_*.deb) tools=("$packages"/dynpar-tools_*.deb) all=("$packages"/*.deb)
names=(libdynpar-dev dynpar-tools)
one=0dynpar1 zero=0dynpar0
if $has_cuda; then
    cuda=("$packages"/libdynpar-cuda-dev_*.deb)
    names+=(libdynpar-cuda-dev)
fi
every() { printf "$1%.0s " "${names[@]}" | sed 's/ $//'; }

# Each alone.
new_root
works -i "${tools[@]}"
is "$(state dynpar-tools libdynpar-dev)" $one "tools alone"
[ -x "$folder/usr/bin/dynpar-trace" ] || fail "no dynpar-trace"
new_root
works -i "${dev[@]}"
is "$(state dynpar-tools libdynpar-dev)" $one "dev alone"
if $has_cuda; then
    new_root
    refused "depends on libdynpar-dev" -i "${cuda[@]}"
fi
new_root
awk -v RS= -v ORS='\n\n' '!/^Package: libboost-context-dev\n/' "$folder/var/lib/dpkg/status" >"$folder/status"
mv "$folder/status" "$folder/var/lib/dpkg/status"
refused "depends on libboost-context-dev" -i "${dev[@]}"

# An older revision, then the new one.
new_root
works -i "$built"/old/*.deb
is "$(state "${names[@]}")" "$(every $zero)" "the older revision"
if $has_cuda; then
    # libdynpar.a and the headers are of one version.
    refused "would break libdynpar-cuda-dev" -i "${dev[@]}"
    is "$(state "${names[@]}")" "$(every $zero)" "when dev alone was to be upgraded"
fi
works -i "${all[@]}"
is "$(state "${names[@]}")" "$(every $one)" "after the upgrade"
works -V "${names[@]}"
is "$(cat "$folder/output")" "" "dpkg -V"

# Away, one after the other.
works -r dynpar-tools
[ ! -e "$folder/usr/bin/dynpar-trace" ] || fail "dynpar-trace is left"
works -V libdynpar-dev
is "$(cat "$folder/output")" "" "dpkg -V after dynpar-tools was removed"
if $has_cuda; then
    refused "depends on libdynpar-dev" -r libdynpar-dev
    works -r libdynpar-cuda-dev
    works -V libdynpar-dev
    is "$(cat "$folder/output")" "" "dpkg -V after libdynpar-cuda-dev was removed"
fi
works -r libdynpar-dev
is "$(find "$folder/usr" ! -type d 2>/dev/null)" "" "files that are left"
exit $failures
