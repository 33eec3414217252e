#!/usr/bin/env bash
# scripts/site builds no site out of what is wrong: each copy of the repository below has one fault, and the script names
# it. A folder that is not its own stays as it is.
#     site_test.sh ROOT FOLDER
set -euo pipefail
root=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/copy/scripts"
cp -r "$root/include" "$root/docs" "$root"/*.md "$folder/copy"
cp "$root/scripts/site" "$root/scripts/machine.sh" "$folder/copy/scripts"
# What the documents link to is not needed for the faults here; they are found before the pages are made.
export BUILD_ROOT=$folder/build
failures=0

# fault STATUS TEXT ARGUMENTS...: the script ends with STATUS and a line that contains TEXT, and makes no site.
fault() {
    local status=0
    "$folder/copy/scripts/site" "${@:3}" >"$folder/output" 2>&1 || status=$?
    if [ $status = 3 ]; then
        cat "$folder/output"
        exit 77
    fi
    if [ $status != "$1" ] || ! grep -qF -- "$2" "$folder/output" || [ -e "$folder/build/site" ]; then
        echo "FAILED: exit status $status instead of $1, no line with \"$2\", or a site, in:"
        cat "$folder/output"
        failures=1
    fi
}

# broken FILE COMMAND TEXT: with that change by sed.
broken() {
    cp "$folder/copy/$1" "$folder/whole"
    sed -i "$2" "$folder/copy/$1"
    fault 1 "$3"
    cp "$folder/whole" "$folder/copy/$1"
}

mkdir "$folder/mine"
echo mine >"$folder/mine/file"
fault 2 "is no site that this script has built" "$folder/mine"
[ "$(cat "$folder/mine/file")" = mine ] || { echo "FAILED: a folder of somebody else's was changed"; failures=1; }
fault 2 "give a folder" one two
fault 2 "give a folder" --help

broken include/dynpar/limits.hpp '/^\/\/\/ The limits of the current device/d' 'dynpar::device_limits has no /// comment'
broken include/dynpar/status.hpp 's|  *///< no memory for a launch.*||' 'dynpar::status::out_of_memory has no /// comment'
broken include/dynpar/platform.hpp '/^\/\/\/ DYNPAR_NO_TRACE/,/^\/\/\/ Define/d' 'DYNPAR_NO_TRACE has no /// comment'
broken include/dynpar/limits.hpp 's|^/// Applies limits, and|/// \\nocommand Applies limits, and|' "unknown command"
cp "$folder/copy/include/dynpar/limits.hpp" "$folder/copy/include/dynpar/bounds.hpp"
fault 1 'bounds.hpp: on no page of the reference'
rm "$folder/copy/include/dynpar/bounds.hpp"
broken docs/site/block.hpp 's/unsigned depth() const;/unsigned level() const;/' 'host_block::depth: Block has no such member'
broken README.md 's|(docs/contract.md)|(docs/contact.md)|' 'there is no docs/contact.md'
echo "# Alone" >"$folder/copy/docs/alone.md"
fault 1 'alone.md: in no part of the contents'
rm "$folder/copy/docs/alone.md"

# What only the finished pages show.
links() {
    mkdir -p "$folder/pages"
    printf '<html><body id="here">%s</body></html>\n' "$1" >"$folder/pages/index.html"
    local status=0
    python3 -B "$root/docs/site/check.py" "$folder/pages" >"$folder/output" 2>&1 || status=$?
    if [ $status != "$2" ] || ! grep -qF -- "$3" "$folder/output"; then
        echo "FAILED: $1: exit status $status instead of $2, or no \"$3\" in:"
        cat "$folder/output"
        failures=1
    fi
}
links '<a href="#here">x</a><a href="index.html#here">x</a><a href="https://example.org/">x</a>' 0 '3 links, 0 wrong'
links '<a href="#there">x</a>' 1 'leads to no place'
links '<a href="none.html">x</a>' 1 'leads to no file'
links '<a href="../../none.html">x</a>' 1 'leads out of the site'
links '<script src="https://example.org/x.js"></script>' 1 'comes from the network'
links '<img src="//example.org/x.png">' 1 'comes from the network'
exit $failures
