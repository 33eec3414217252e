#!/usr/bin/env bash
# scripts/demo says what it does before it builds, shows on a terminal how far the build is, and shows the log of one that
# fails. cmake is a stand-in, whose build takes a while.
#     demo_test.sh SCRIPT FOLDER
set -euo pipefail
script=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/tools"

cat >"$folder/tools/cmake" <<'stub'
#!/bin/sh
if [ "$1" = --build ]; then
    echo "[1/2] Building CXX object one"
    [ -z "$BREAK" ] || { echo "error: no room"; exit 1; }
    sleep "$PAUSE"
    for sample in nested_hello_world recursive_reduce; do
        mkdir -p "$2/samples/$sample"
        printf '#!/bin/sh\necho "this is %s $*"\n' $sample >"$2/samples/$sample/$sample"
        chmod +x "$2/samples/$sample/$sample"
    done
    echo "[2/2] Linking two"
else
    echo "-- dynpar: host engine only"
fi
stub
chmod +x "$folder/tools/cmake"
export PATH=$folder/tools:$PATH BUILD_ROOT=$folder/build SKIP_SETUP=1 BREAK="" PAUSE=0

failures=0
expect() {  # has|lacks TEXT
    local status=0
    grep -qF -- "$2" "$folder/output" || status=1
    if [ "$1" = has ] && [ $status = 1 ] || [ "$1" = lacks ] && [ $status = 0 ]; then
        echo "FAILED: the output $1 not \"$2\":"
        cat "$folder/output"
        failures=1
    fi
}

# Before the build is over.
PAUSE=3 "$script" >"$folder/output" 2>&1 &
for _ in $(seq 100); do
    grep -q 'building two samples' "$folder/output" 2>/dev/null && break
    sleep 0.1
done
expect has "demo: building two samples ("
expect has "log: $folder/build/demo.log)"
expect lacks 'this is'
wait $! || { echo "FAILED: exit status $?"; failures=1; }
expect has 'this is nested_hello_world --tree'
expect has 'this is recursive_reduce '
expect lacks '[1/2]'  # a build that works is no news

status=0
BREAK=1 "$script" >"$folder/output" 2>&1 || status=$?
[ $status = 1 ] || { echo "FAILED: exit status $status instead of 1"; failures=1; }
expect has 'error: no room'
expect has "demo: the build failed; the whole log is in $folder/build/demo.log"

if command -v script >/dev/null; then
    script -qec "$script" /dev/null >"$folder/output" 2>&1
    expect has '[1/2] Building CXX object one'
    expect has 'this is recursive_reduce '
else
    echo "not tried: on a terminal, for want of script(1)"
fi
exit $failures
