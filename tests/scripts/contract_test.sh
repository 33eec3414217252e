#!/usr/bin/env bash
# scripts/contract writes the lists of tests into the contract, and finds a list that differs, a promise without a test
# or without a list, and a test of a promise that does not exist.
#     contract_test.sh ROOT FOLDER
set -euo pipefail
root=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/scripts" "$folder/docs" "$folder/tests/conformance/fault"
cp "$root/scripts/contract" "$folder/scripts/"
document=$folder/docs/contract.md
tests=$folder/tests/conformance

cat >"$document" <<'text'
# The contract

## C1: one

Prose.

<!-- tests C1 -->
<!-- end of tests -->

## C12: twelve

<!-- tests C12 -->

* an old test

<!-- end of tests -->

The end.
text
cat >"$tests/first_test.cpp" <<'text'
TEST_CASE("C1: it is so") {
}
OTHER_TEST_CASE(
    "C1, C12: it is so, "
    "and (also) thus") {
}
text
cat >"$tests/fault/second_test.cpp" <<'text'
TEST_CASE("C12: it broke") {
}
text
cat >"$folder/expected.md" <<'text'
# The contract

## C1: one

Prose.

<!-- tests C1 -->

Tests (`first_test.cpp`):

* it is so
* it is so, and (also) thus (also C12)

<!-- end of tests -->

## C12: twelve

<!-- tests C12 -->

Tests (`fault/second_test.cpp`):

* it broke

Tests (`first_test.cpp`):

* it is so, and (also) thus (also C1)

<!-- end of tests -->

The end.
text

failures=0
# check STATUS TEXT [ARGUMENTS]: scripts/contract exits with STATUS, and TEXT is in what it prints.
check() {
    local status=0
    "$folder/scripts/contract" "${@:3}" >"$folder/output" 2>&1 || status=$?
    if [ $status != "$1" ] || { [ -n "$2" ] && ! grep -qF -- "$2" "$folder/output"; }; then
        echo "FAILED: exit status $status instead of $1, or no \"$2\" in:"
        cat "$folder/output"
        failures=1
    fi
}

check 2 'unknown argument "--chek"' --chek
check 1 "-* an old test" --check
check 0 ""
diff -u "$folder/expected.md" "$document" || failures=1
check 0 "" --check

printf 'TEST_CASE("C1: one more") {\n}\n' >>"$tests/first_test.cpp"
check 1 "+* one more" --check
check 0 ""

# Where something is missing, the document stays as it is.
cp "$document" "$folder/before.md"
printf 'TEST_CASE("C3: of no promise") {\n}\n' >"$tests/third_test.cpp"
check 1 'tests/conformance/third_test.cpp: "of no promise": docs/contract.md has no promise C3'
printf 'TEST_CASE("without a number") {\n}\n' >"$tests/third_test.cpp"
check 1 '"without a number": docs/contract.md has no list of tests without a promise'
rm "$tests/third_test.cpp"
cmp "$folder/before.md" "$document" || failures=1

printf '\n## C4: no list\n' >>"$document"
check 1 'no list "<!-- tests C4 -->"'
printf '\n<!-- tests C4 -->\n<!-- end of tests -->\n' >>"$document"
check 1 "C4 has no test"
cp "$folder/before.md" "$document"
sed -i '/end of tests/d' "$document"
check 1 '"<!-- end of tests -->" is missing'

exit $failures
