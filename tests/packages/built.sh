# shellcheck shell=bash disable=SC2034
# Sourced: `packages` is the folder of the packages that build.sh has made in $1; the test is skipped if there are none.
failures=0
fail() { echo "FAILED: $*"; failures=1; }
packages=$1/new
compgen -G "$packages/*.deb" >/dev/null || { echo "skipped: packages.build has made no packages, and says why"; exit 77; }
has_cuda=false
if compgen -G "$packages/libdynpar-cuda-dev_*.deb" >/dev/null; then has_cuda=true; fi
