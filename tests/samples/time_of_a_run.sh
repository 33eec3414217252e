# The times that a sample prints are its runs', whatever --trace takes to write: here the traces go into pipes that nobody
# reads for two seconds. Each time must be less than one.
#   sh time_of_a_run.sh <folder to work in, emptied before> <number of traces> <program> [<argument>...]
folder=$1
traces=$2
shift 2
rm -rf "$folder" && mkdir -p "$folder" && cd "$folder" || exit 1
mkfifo run.json
for i in $(seq 2 "$traces"); do mkfifo "run-$i.json"; done
(for file in run*.json; do (sleep 2 && cat "$file" >/dev/null) & done)
"$@" --trace run.json >output || exit 1
cat output
times=$(grep -o '[0-9.]* [mu]s' output)
[ -n "$times" ] || { echo "it prints no time"; exit 1; }
echo "$times" | awk '$1 / ($2 == "us" ? 1000 : 1) >= 1000 { wrong = 1 } END { exit wrong }' ||
    { echo "a second or more: the writing of the trace is in it"; exit 1; }
