# A program whose standard output takes nothing, is closed, or is full after a while says so in one line and ends with 1.
#   sh unwritable_output.sh <folder to work in> <what the line begins with> <program> [<argument>...]
folder=$1
name=$2
shift 2
mkdir -p "$folder" && cd "$folder" || exit 1
wrong=0

expect_failure() {  # <how> <status>
    if [ "$2" -ne 1 ]; then
        echo "$1: exit status $2 instead of 1"
        wrong=1
    fi
    if [ "$(wc -l <error)" -ne 1 ] || ! grep -q "^$name: standard output cannot be written.*; send it to where there is room$" error; then
        echo "$1: standard error is not that line:"
        cat error
        wrong=1
    fi
}

# Without a GPU some end before they print.
if ! "$@" >output 2>error && grep -q GPU error; then
    echo "skipped: $(cat error)"
    exit 77
fi

"$@" >/dev/full 2>error
expect_failure "a full device" $?
"$@" >&- 2>error
expect_failure "closed" $?

# Room for half of what it prints, where that is more than the smallest limit.
"$@" >output 2>/dev/null
blocks=$(($(wc -c <output) / 1024 / 2))
if [ "$blocks" -gt 0 ]; then
    (trap '' XFSZ && ulimit -f "$blocks" && exec "$@" >output 2>error)
    expect_failure "full after a while" $?
fi
exit $wrong
