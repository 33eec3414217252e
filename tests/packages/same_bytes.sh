#!/usr/bin/env bash
# Packages made twice in the same folder are the same bytes.
#     same_bytes.sh FOLDER OF BUILD.SH
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/built.sh"
for package in "$packages"/*.deb; do
    cmp "$package" "$1/again/${package##*/}" || fail "${package##*/} differs"
done
exit $failures
