#!/usr/bin/env bash
# Every link of the documents to a file or to a heading leads somewhere. Links to other hosts are not followed.
#     check_links.sh ROOT
set -euo pipefail
cd "$1"
documents=(*.md docs/*.md)

# A line for each heading: document#anchor, as GitHub makes anchors of headings.
anchors=$(LC_ALL=C awk '
    FNR == 1 { code = 0 }
    /^ *```/ { code = !code }
    !code && /^#+ / {
        sub(/^#+ /, "")
        anchor = tolower($0)
        gsub(/[^-a-z0-9_ ]/, "", anchor)
        gsub(/ /, "-", anchor)
        print FILENAME "#" anchor
    }' "${documents[@]}")

# A line for each link: document, line, target.
links=$(LC_ALL=C awk '
    FNR == 1 { code = 0 }
    /^ *```/ { code = !code }
    code || /^    / { next }
    {
        text = $0
        gsub(/`[^`]*`/, "", text)
        while (match(text, /\]\([^ )]+\)/)) {
            print FILENAME, FNR, substr(text, RSTART + 2, RLENGTH - 3)
            text = substr(text, RSTART + RLENGTH)
        }
    }' "${documents[@]}")

wrong=0
while read -r document line target; do
    case $target in http://* | https://*) continue ;; esac
    file=${target%%#*} anchor=
    case $target in *"#"*) anchor=${target#*#} ;; esac
    if [ -z "$file" ]; then
        path=$document
    else
        path=$(realpath -m --relative-to=. "$(dirname "$document")/$file")
    fi
    if [ ! -e "$path" ]; then
        echo "$document:$line: there is no $path"
        wrong=1
    elif [ -n "$anchor" ] && ! grep -qxF -- "$path#$anchor" <<<"$anchors"; then
        echo "$document:$line: $path has no heading #$anchor"
        wrong=1
    fi
done <<<"$links"
exit $wrong
