#!/usr/bin/env bash
# scripts/skipped tells tests that want a GPU from those that want something else, and scripts/test gives up for these where
# NEED_TOOLS=1 says so. The results are ctest's own, of tests that are stand-ins.
#     skipped_test.sh ROOT FOLDER
set -euo pipefail
root=$1 folder=$2
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
rm -rf "$folder"
mkdir -p "$folder/tests" "$folder/build"

failures=0
expect() {  # STATUS LINES COMMAND...: the command ends with STATUS and prints LINES
    local status=0
    "${@:3}" >"$folder/output" 2>&1 || status=$?
    if [ $status != "$1" ] || [ "$(cat "$folder/output")" != "$2" ]; then
        echo "FAILED: exit status $status instead of $1, or not \"$2\":"
        cat "$folder/output"
        failures=1
    fi
}

# run_tests NAME=OUTPUT...: each is skipped if it says so, or speaks of a GPU
results=$folder/results.xml
run_tests() {
    {
        echo 'cmake_minimum_required(VERSION 3.25)'
        echo 'project(stand_ins LANGUAGES NONE)'
        echo 'enable_testing()'
        for test in "$@"; do
            echo "add_test(NAME \"${test%%=*}\" COMMAND \${CMAKE_COMMAND} -E echo \"${test#*=}\")"
            echo "set_tests_properties(\"${test%%=*}\" PROPERTIES SKIP_REGULAR_EXPRESSION \"skipped|GPU|missing\")"
        done
    } >"$folder/tests/CMakeLists.txt"
    cmake -S "$folder/tests" -B "$folder/build" >/dev/null
    ctest --test-dir "$folder/build" --output-junit "$results" >/dev/null
}

run_tests "right=all is well"
expect 0 "" "$root/scripts/skipped" "$results"
run_tests "right=all is well" "a=consumer skipped: there is no GPU" "b=needs a GPU: cdp"
expect 0 "2 skipped for want of a GPU" "$root/scripts/skipped" "$results"
run_tests "a=needs a GPU: cdp" "page=skipped: there is no chromium (Debian: chromium)" "site=site: not built, these are missing: furo" \
    "l1=skipped: there is no lintian" "l2=skipped: there is no lintian"
expect 1 "2 skipped because there is no lintian (l1, l2)
1 skipped for want of a GPU
1 skipped because there is no chromium (Debian: chromium) (page)
1 skipped because site: not built, these are missing: furo (site)" "$root/scripts/skipped" "$results"
expect 2 "skipped: $folder/none.xml: [Errno 2] No such file or directory: '$folder/none.xml'; give a file written by ctest --output-junit" \
    "$root/scripts/skipped" "$folder/none.xml"

# What scripts/test makes of it: its function, with ctest's results.
{
    echo "set -euo pipefail; root=$root build_root=$folder jobs=1 summary=(); ctest() { cp '$results' '$folder/test-x/results.xml'; }"
    sed -n '/^run_tests() {/,/^}/p; /^needs_tools() /p' "$root/scripts/test"
    echo 'run_tests x "host engine"; printf "%s\n" "${summary[@]}"'
} >"$folder/run_tests.sh"
mkdir "$folder/test-x"
expect 0 "host engine: 0 tests passed
2 skipped because there is no lintian (l1, l2)
1 skipped for want of a GPU
1 skipped because there is no chromium (Debian: chromium) (page)
1 skipped because site: not built, these are missing: furo (site)" env -u NEED_TOOLS bash "$folder/run_tests.sh"
expect 1 "2 skipped because there is no lintian (l1, l2)
1 skipped for want of a GPU
1 skipped because there is no chromium (Debian: chromium) (page)
1 skipped because site: not built, these are missing: furo (site)
scripts/test: NEED_TOOLS=1, and tests were skipped for want of more than a GPU: install what they need" \
    env NEED_TOOLS=1 bash "$folder/run_tests.sh"
run_tests "right=all is well" "b=needs a GPU: cdp"
expect 0 "host engine: 1 tests passed
1 skipped for want of a GPU" env NEED_TOOLS=1 bash "$folder/run_tests.sh"
exit $failures
