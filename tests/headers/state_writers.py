#!/usr/bin/env python3
"""Which headers of the queue engine write a field of the scheduler's state, against the table beside this file.

    state_writers.py DETAIL_QUEUE_FOLDER TABLE            # exit 1 if they differ, with a line for each difference
    state_writers.py DETAIL_QUEUE_FOLDER TABLE --write    # writes the table anew, owners as they were

A write is an assignment, an increment, a call of a function of memory_order.cuh that stores, a lock, or a reference
that is not to const. References that a function returns count as a write there.
"""
import collections
import pathlib
import re
import sys

OBJECTS = {
    "warp_state": r"(?:this_warp\(\)|\bwarp)\.",
    "gang_state": r"(?:this_block\(\)\.gang|\bgang)\.",
    "team_state": r"(?:this_team\(\)|\bteam)\.",
    "run_control": r"(?:engine\(\)\.control->|view\.control->|\bcontrol(?:\.|->))",
    "own_deque": r"\bown_deque<\w+>::|\bdeque::",
}
STORES = (
    r"(?:store|fetch|exchange|compare_exchange|take_back|post_request|claim_request|copy_task|with_\w*lock\w*|"
    r"ensure_\w+|use_own_grid|push_to_segment)\w*(?:<[^>]*>)?\(\s*(?:word_of\()?"
)
# Both ends of a run: begins and reads everything.
EVERYWHERE = "persistent_grid.cuh"


def writers(folder):
    found = collections.defaultdict(set)
    for path in sorted(folder.rglob("*.cuh")):
        name = str(path.relative_to(folder))
        if name in (EVERYWHERE, "memory/memory_order.cuh"):
            continue
        code = re.sub(r"//[^\n]*", "", path.read_text())
        for struct, prefix in OBJECTS.items():
            field = r"(?:%s)(\w+)(?:\[[^\]]*\])*(?:\(\))?(?:\.\w+)*" % prefix
            for pattern in (
                field + r"\s*(?:=(?!=)|\+=|-=|\|=|&=|\+\+|--)",
                r"(?:\+\+|--)" + field,
                STORES + field,
                r"(?<!const )\b(?!const\b)[\w:]+(?:<\w+>)?\s*&\s*\w+\s*(?:=|\{)\s*" + field,
            ):
                for match in re.finditer(pattern, code):
                    if re.search(r"const\s+[\w:]*$", code[: match.start()]):
                        continue
                    found[f"{struct}::{match.group(1)}"].add(name)
            for function in re.finditer(r"(?<!const )\b[\w:]+& \w+\([^)]*\)(?: const)? \{\s*return ([^;]*);", code):
                if re.search(r"const\s+[\w:]*$", code[: function.start()]):
                    continue
                for match in re.finditer(field, function.group(1)):
                    found[f"{struct}::{match.group(1)}"].add(name)
    return found


def read_table(path):
    table = {}
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            table[words[0]] = words[1:]
    return table


def main():
    folder, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found, table = writers(folder), read_table(path)
    if len(found) < 50:
        sys.exit(f"{folder}: only {len(found)} fields are written")
    if sys.argv[3:] == ["--write"]:
        head = [line for line in path.read_text().splitlines() if line.startswith("#") or not line]
        rows = []
        for field in sorted(found):
            known = [name for name in table.get(field, []) if name in found[field]]
            rows.append(f"{field:32}" + " ".join(known + sorted(found[field] - set(known))))
        path.write_text("\n".join(head + rows) + "\n")
        return
    wrong = 0
    for field in sorted(set(found) | set(table)):
        for name in sorted(found[field] - set(table.get(field, []))):
            wrong += 1
            print(f"{name} writes {field}, of which {path.name} knows nothing")
        for name in sorted(set(table.get(field, [])) - found[field]):
            wrong += 1
            print(f"{path.name}: {name} does not write {field}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
