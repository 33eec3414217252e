#!/usr/bin/env bash
# scripts/sanitize counts a test case as clean only if it ran, ended in time, passed, and the tool found nothing. The tool, the GPU and
# the test program are stand-ins.
#     sanitize_test.sh SCRIPT FOLDER
set -euo pipefail
script=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/bin"

cat >"$folder/bin/nvidia-smi" <<'stub'
#!/bin/sh
echo "GPU 0: a stand-in"
stub
cat >"$folder/bin/compute-sanitizer" <<'stub'
#!/bin/sh
[ "$1 $2 $3 $4" = "--tool memcheck --error-exitcode 9" ] || exit 99
shift 4
"$@" || exit $?
case "$2" in
    *overrun*) echo "========= ERROR SUMMARY: 2 errors"; exit 9 ;;
    *) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
stub
cat >"$folder/program" <<'stub'
#!/bin/sh
if [ "$1" = --list-test-cases ]; then
    printf '[doctest] listing all test case names\n=====\none, two "three"\noverrun\nwrong\nendless\nnever runs\n=====\n[doctest] unskipped: 5\n'
    exit 0
fi
case "$1" in
    '-tc=one? two ?three?' | -tc=overrun) echo "[doctest] test cases: 1 | 1 passed | 0 failed" ;;
    -tc=wrong) echo "[doctest] test cases: 1 | 0 passed | 1 failed"; exit 1 ;;
    -tc=endless) sleep 30 ;;
    *) echo "[doctest] test cases: 0 | 0 passed | 0 failed" ;;
esac
stub
chmod +x "$folder/bin/nvidia-smi" "$folder/bin/compute-sanitizer" "$folder/program"
export BUILD_ROOT=$folder/build PATH=$folder/bin:$PATH

failures=0
check() {
    if ! grep -qF -- "$2" "$1"; then
        echo "FAILED: no line \"$2\" in:"
        cat "$1"
        failures=1
    fi
}

status=0
"$script" memcheck "$folder/program" 1 >"$folder/output" 2>&1 || status=$?
check "$folder/output" 'one, two "three": clean'
check "$folder/output" 'overrun: ERROR SUMMARY: 2 errors'
check "$folder/output" 'wrong: failed (exit status 1)'
check "$folder/output" 'endless: not ended after 1 s'
check "$folder/output" 'never runs: did not run'
check "$folder/output" 'sanitize: memcheck: 1 of 5 test cases clean'
[ $status -eq 1 ] || { echo "FAILED: exit status $status instead of 1"; failures=1; }

for arguments in "memcheck" "leakcheck $folder/program" "memcheck $folder/none" "memcheck $folder/program 0"; do
    status=0
    # shellcheck disable=SC2086
    "$script" $arguments >"$folder/output" 2>&1 || status=$?
    [ $status -eq 2 ] && [ "$(wc -l <"$folder/output")" -eq 1 ] || { echo "FAILED: \"$arguments\": exit status $status"; cat "$folder/output"; failures=1; }
done
exit $failures
