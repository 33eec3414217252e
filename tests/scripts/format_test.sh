#!/usr/bin/env bash
# scripts/format finds code that is not formatted and lines of code and of documents that are too long, skips what
# .clang-format-ignore lists, and formats in place.
#     format_test.sh ROOT FOLDER
set -euo pipefail
root=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/scripts" "$folder/src/other"
cp "$root/scripts/format" "$folder/scripts/"
cp "$root/.clang-format" "$folder/"
printf '# a comment\n\nsrc/other/*\n' >"$folder/.clang-format-ignore"

failures=0
# check STATUS TEXT [ARGUMENTS]: scripts/format exits with STATUS, and TEXT is in what it prints.
check() {
    local status=0
    "$folder/scripts/format" "${@:3}" >"$folder/output" 2>&1 || status=$?
    if [ $status = 3 ]; then
        echo "skipped: there is no clang-format 14 here"
        exit 77
    fi
    if [ $status != "$1" ] || { [ -n "$2" ] && ! grep -qF -- "$2" "$folder/output"; }; then
        echo "FAILED: exit status $status instead of $1, or no \"$2\" in:"
        cat "$folder/output"
        failures=1
    fi
}

echo 'int one() { return 1; }' >"$folder/src/one.cpp"
check 0 "" --check
check 2 'unknown argument "--chek"' --chek

echo 'int  two( ) {return 2;}' >"$folder/src/two.cu"
check 1 "src/two.cu:1" --check
check 0 ""
grep -qxF 'int two() { return 2; }' "$folder/src/two.cu" || { echo "FAILED: two.cu is not formatted"; failures=1; }
check 0 "" --check

printf '// %s\n' "$(printf 'x%.0s' $(seq 117))" >"$folder/src/three.hpp"
check 0 "" --check
printf '\n// %s\n' "$(printf 'x%.0s' $(seq 118))" >>"$folder/src/three.hpp"
check 1 "src/three.hpp:3: more than 120 columns" --check
rm "$folder/src/three.hpp"

long=$(printf 'µ%.0s' $(seq 121))
mkdir "$folder/docs"
printf '%s\n\n| %s |\n\n```text\n%s\n```\n' "${long%µ}" "$long" "$long" >"$folder/docs/page.md"
check 0 "" --check
printf '\n%s\n' "$long" >>"$folder/docs/page.md"
check 1 "docs/page.md:9: more than 120 columns" --check
rm "$folder/docs/page.md"

echo 'int  four( ) {return 4;}' >"$folder/src/other/four.cpp"
check 0 "" --check

exit $failures
