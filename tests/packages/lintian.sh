#!/usr/bin/env bash
# lintian finds nothing in the packages: no error, no warning, nothing that it would only mention.
#     lintian.sh FOLDER OF BUILD.SH
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/built.sh"
command -v lintian >/dev/null || { echo "skipped: there is no lintian"; exit 77; }
as_root=()
[ "$(id -u)" != 0 ] || as_root=(--allow-root)
lintian ${as_root[@]+"${as_root[@]}"} --info --display-info --pedantic --fail-on error,warning,info,pedantic "$packages"/*.deb || fail "lintian: $?"
exit $failures
