#!/usr/bin/env bash
# The man page and the completion of dynpar-trace have every command and option that --help has, and no others; the
# page renders without a warning.
#     man_page.sh PROGRAM MAN_PAGE COMPLETION
# Lists of words are split where they are used.
# shellcheck disable=SC2048,SC2086
set -euo pipefail
program=$1 page=$2 completion=$3
failures=0
fail() { echo "FAILED: $*"; failures=1; }

# The words at the begin of lines, up to their description.
words() { sed -n 's/^  \([-a-z][-a-z,]*\) .*/\1/p' | tr ',' '\n'; }
commands=$("$program" --help | sed -n '/^Subcommands:/,$p' | words)
options=$("$program" --help | sed -n '/^Options:/,/^Subcommands:/p' | words)
if [ -z "$commands" ] || [ -z "$options" ]; then fail "dynpar-trace --help is not understood"; fi
declare -A of
for command in $commands; do of[$command]=$("$program" "$command" --help | sed -n '/^Options:/,$p' | words); done

in_help=$(printf '%s\n' $options ${of[*]} | sort -u)
in_page=$(sed -n '/^\.SH OPTIONS/,/^\.SH EXIT/p' "$page" | sed -n 's/\\-/-/g; s/^\.B[RI]* \(-.*\)/\1/p' | grep -oE -- '-[-a-z]+' | sort -u)
[ "$in_help" = "$in_page" ] || fail "options of --help and of the man page differ:" "$(diff <(echo "$in_help") <(echo "$in_page"))"
for command in $commands; do
    grep -qx "\.B $command" "$page" || fail "the man page has no command $command"
done

# completes WORDS... -> what is offered for the last of them
# shellcheck source=/dev/null
source "$completion"
completes() {
    COMP_WORDS=(dynpar-trace "$@") COMP_CWORD=$#
    _dynpar_trace
    printf '%s\n' ${COMPREPLY[@]+"${COMPREPLY[@]}"} | sort
}
same() { [ "$1" = "$2" ] || fail "completion of $3:" "$(diff <(echo "$1") <(echo "$2"))"; }
same "$(printf '%s\n' $options $commands | sort)" "$(completes '')" "the first word"
for command in $commands; do
    same "$(printf '%s\n' ${of[$command]} | sort)" "$(completes "$command" -)" "the options of $command"
done
same "convert" "$(completes conv)" "conv"

if command -v man >/dev/null && command -v groff >/dev/null; then
    warnings=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || fail "man says: $warnings"
elif [ $failures = 0 ]; then
    echo "skipped: whether the page renders, because man or groff is missing"
    exit 77
fi
exit $failures
