#!/usr/bin/env python3
"""Checks a Chrome trace against the rules of its format ("Trace Event Format"), with a parser that is not its writer.

check_chrome_trace.py <trace.json> <grids>: the number of grids that it must show.
"""
import json
import sys

REQUIRED = {
    "M": {"name", "pid", "args"},
    "X": {"name", "cat", "pid", "tid", "ts", "dur"},
    "i": {"name", "pid", "tid", "ts", "s"},
    "s": {"name", "cat", "id", "pid", "tid", "ts"},
    "f": {"name", "cat", "id", "pid", "tid", "ts", "bp"},
}
# Times are in microseconds with a fraction: a nanosecond is what they are exact to.
TOLERANCE = 0.0011


def fail(message):
    sys.exit(f"check_chrome_trace: {message}")


def main():
    path, grids = sys.argv[1], int(sys.argv[2])
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    if trace.get("displayTimeUnit") not in ("ms", "ns"):
        fail("displayTimeUnit must be ms or ns")
    events = trace["traceEvents"]
    slices, starts, ends = {}, {}, {}
    for event in events:
        phase = event.get("ph")
        if phase not in REQUIRED:
            fail(f"unknown phase: {event}")
        missing = REQUIRED[phase] - event.keys()
        if missing:
            fail(f"{missing} missing: {event}")
        for key in ("ts", "dur"):
            if key in event and (not isinstance(event[key], (int, float)) or event[key] < 0):
                fail(f"{key} is no time: {event}")
        if phase == "X":
            slices.setdefault((event["pid"], event["tid"]), []).append(event)
        elif phase == "s":
            starts[event["id"]] = event
        elif phase == "f":
            ends[event["id"]] = event
            if event["bp"] != "e":
                fail(f"bp must be e, so that the arrow ends at its slice: {event}")
    shown = sum(len(track) for track in slices.values())
    if shown != grids:
        fail(f"{shown} slices instead of {grids}")
    if starts.keys() != ends.keys():
        fail("flow arrows without a begin or an end")

    by_id, stack_above = {}, {}
    for track in slices.values():
        track.sort(key=lambda e: (e["ts"], -e["dur"], e["args"]["id"]))
        open_slices = []
        for event in track:
            end = event["ts"] + event["dur"]
            while open_slices and open_slices[-1]["ts"] + open_slices[-1]["dur"] <= event["ts"] + TOLERANCE:
                if open_slices[-1]["ts"] + open_slices[-1]["dur"] >= end - TOLERANCE:
                    break  # it takes no time, at the end of its parent
                open_slices.pop()
            if open_slices and end > open_slices[-1]["ts"] + open_slices[-1]["dur"] + TOLERANCE:
                fail(f"slices of one track overlap and are not nested: {event} in {open_slices[-1]}")
            by_id[event["args"]["id"]] = event
            stack_above[event["args"]["id"]] = [e["args"]["id"] for e in open_slices]
            open_slices.append(event)
    for event in by_id.values():
        parent = by_id.get(event["args"].get("parent"))
        if parent is None:
            continue
        if event["ts"] < parent["ts"] - TOLERANCE or event["ts"] + event["dur"] > parent["ts"] + parent["dur"] + TOLERANCE:
            fail(f"a child is not inside its parent: {event} in {parent}")
        if event["tid"] == parent["tid"] and parent["args"]["id"] not in stack_above[event["args"]["id"]]:
            fail(f"a child on its parent's track is not nested in it: {event}")
    for flow, start in starts.items():
        if start["ts"] > ends[flow]["ts"] + TOLERANCE:
            fail(f"an arrow goes back in time: {start}")
        launcher = by_id[flow]["args"].get("continues", by_id[flow]["args"].get("parent"))
        if start["tid"] != by_id[launcher]["tid"]:
            fail(f"an arrow does not begin on its launcher's track: {start}")
    launched = [e for e in by_id.values() if "parent" in e["args"] or "continues" in e["args"]]
    if len(starts) != len(launched):
        fail(f"{len(starts)} arrows for {len(launched)} launches")
    print(f"{shown} slices on {len(slices)} tracks, {len(starts)} arrows: valid")


main()
