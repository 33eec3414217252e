#!/usr/bin/env bash
# scripts/fuzz gives each process a seed of its own, passes options on, and counts a process that fails or hangs, with its seed. The
# program is a stand-in.
#     fuzz_test.sh SCRIPT FOLDER
set -euo pipefail
script=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder"

cat >"$folder/program" <<'stub'
#!/bin/sh
echo "arguments: $*"
[ "$1" = --seed ] || exit 99
case "$2" in
    12) echo "program 3 is wrong"; exit 1 ;;
    13) exec sleep 30 ;;
    77*) echo "skipped: no usable GPU"; exit 77 ;;
    *) echo "all is right with $2" ;;
esac
stub
chmod +x "$folder/program"
export BUILD_ROOT=$folder/build

failures=0
check() {
    if ! grep -qF -- "$2" "$1"; then
        echo "FAILED: no line \"$2\" in:"
        cat "$1"
        failures=1
    fi
}
expect() {
    local wanted=$1 status=0
    shift
    "$script" "$@" >"$folder/output" 2>&1 || status=$?
    [ $status -eq "$wanted" ] || { echo "FAILED: \"$*\": exit status $status instead of $wanted"; cat "$folder/output"; failures=1; }
}

JOBS=3 SECONDS_AT_MOST=1 expect 1 "$folder/program" --seed 11 --profile forks
check "$folder/output" 'all is right with 11'
check "$folder/output" 'seed 12: failed (exit status 1)'
check "$folder/output" 'program 3 is wrong'
check "$folder/output" 'seed 13: not ended after 1 s'
check "$folder/output" 'fuzz: program: 1 of 3 processes found nothing wrong'
check "$folder/build/fuzz/program/seed-11.txt" '--profile forks'
JOBS=2 expect 0 "$folder/program" --seed=20
JOBS=2 expect 77 "$folder/program" --seed 770
expect 2
expect 2 no_engine
expect 2 "$folder/none"
JOBS=none expect 2 "$folder/program"
exit $failures
