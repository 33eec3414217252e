#!/usr/bin/env python3
"""Checks a trace in Perfetto's format against the saved one, with protoc, which is not its writer.

check_perfetto.py <protoc> <dynpar-trace> <folder> [<saved trace>]    # without it, one in which every time is known
check_perfetto.py <protoc> <file>                                     # how many slices the file has
Every slice, flow, instant event and counter is looked at as Perfetto's trace processor does: in the order of the file.
"""
import ast
import json
import os
import subprocess
import sys
import zlib

import check_page_use

HERE = os.path.dirname(os.path.abspath(__file__))


def fail(message):
    sys.exit(f"check_perfetto: {message}")


def expect(what, is_, wanted):
    """One check, with both values in its message."""
    if is_ != wanted:
        fail(f"{what}: {str(is_)[:2000]} instead of {str(wanted)[:2000]}")


def decoded(protoc, data):
    """The packets, as dictionaries of lists."""
    text = subprocess.run([protoc, f"--proto_path={HERE}", "--decode=Trace", "perfetto.proto"], input=data, capture_output=True, check=False)
    if text.returncode != 0:
        fail(f"protoc cannot read it: {text.stderr[-500:]}")
    root, above = {}, []
    message = root
    for line in text.stdout.decode().splitlines():
        line = line.strip()
        if line.endswith(" {"):
            key, value = line[:-2], {}
        elif line == "}":
            message = above.pop()
            continue
        else:
            key, value = line.split(": ", 1)
            if value.startswith('"'):
                value = ast.literal_eval("b" + value)
            elif value.lstrip("-").isdigit():
                value = int(value)
        if key.isdigit():
            fail(f"a field that is none of the format: {key}")
        message.setdefault(key, []).append(value)
        if isinstance(value, dict):
            above.append(message)
            message = value
    return root.get("packet", [])


def packets_of(protoc, file):
    """All packets, in the order in which a reader meets them: those that are packed in the place of their pack."""
    with open(file, "rb") as data:
        outer = decoded(protoc, data.read())
    inner = b""
    for packet in outer:
        if set(packet) != {"trusted_packet_sequence_id", "compressed_packets"} and set(packet) != {"compressed_packets"}:
            return outer if not inner else fail("packed and plain packets: this check reads one kind")
        if len(packet["compressed_packets"][0]) > 512 * 1000:
            fail("a pack is larger than Perfetto asks for")
        inner += zlib.decompress(packet["compressed_packets"][0])
    return decoded(protoc, inner)


class Reader:
    """What Perfetto makes of the packets."""

    def __init__(self, packets):
        self.now, self.tracks, self.texts, self.open = 0, {}, {}, {}
        self.slices, self.instants, self.counters, self.attributes = [], [], {}, {}
        self.flow_from, self.flow_to = {}, {}
        for number, packet in enumerate(packets):
            expect("the sequence", packet["trusted_packet_sequence_id"], [1])
            for field, entries in packet.get("interned_data", [{}])[0].items():
                for entry in entries:
                    key = field, entry["iid"][0]
                    if key in self.texts:
                        fail(f"{key} is given twice")
                    self.texts[key] = entry["text"][0].decode()
            if number == 0:
                expect("the first packet", [packet["sequence_flags"], packet["trace_packet_defaults"], packet["clock_snapshot"]],
                       [[1], [{"timestamp_clock_id": [64]}], [{"clocks": [{"clock_id": [6], "timestamp": [0]}, {"clock_id": [64], "timestamp": [0], "is_incremental": ["true"]}]}]])
            elif "track_descriptor" in packet:
                track = packet["track_descriptor"][0]
                self.tracks[track["uuid"][0]] = track
            elif "trace_attributes" in packet:
                for attribute in packet["trace_attributes"][0]["attribute"]:
                    self.attributes[attribute["key"][0].decode()] = attribute["string_value"][0].decode()
            else:
                expect("that it needs what came before", packet["sequence_flags"], [2])
                self.now += packet["timestamp"][0]
                self.take(packet["track_event"][0])
        expect("slices without an end", [stack for stack in self.open.values() if stack], [])

    def annotations(self, event):
        """Names and values."""
        result = {}
        for a in event.get("debug_annotations", []):
            name = a["name"][0].decode() if "name" in a else self.texts["debug_annotation_names", a["name_iid"][0]]
            if "string_value_iid" in a:
                value = self.texts["debug_annotation_string_values", a["string_value_iid"][0]]
            else:
                value = a["uint_value"][0] if "uint_value" in a else a["string_value"][0].decode()
            expect(f"annotations called {name}", name in result, False)
            result[name] = value
        return result

    def take(self, event):
        """One event of a track."""
        uuid, kind = event["track_uuid"][0], event["type"][0]
        expect("that the track is known", uuid in self.tracks, True)
        stack = self.open.setdefault(uuid, [])
        if kind == "TYPE_COUNTER":
            self.counters.setdefault(self.tracks[uuid]["name"][0].decode(), []).append((self.now, event["counter_value"][0]))
        elif kind == "TYPE_SLICE_END":
            if not stack:
                fail(f"an end without a begin at {self.now}")
            stack.pop()["end"] = self.now
        else:
            it = {"track": uuid, "begin": self.now, "category": self.texts["event_categories", event["category_iids"][0]],
                  "name": event["name"][0].decode() if "name" in event else self.texts["event_names", event["name_iid"][0]],
                  "args": self.annotations(event), "inside": stack[-1]["args"].get("grid") if stack else None}
            for flow in event.get("flow_ids", []):
                expect(f"flow {flow} begun before", flow in self.flow_from, False)
                self.flow_from[flow] = it["args"]["grid"]
            for flow in event.get("terminating_flow_ids", []):
                expect(f"flow {flow} begun, and not ended", [flow in self.flow_from, flow in self.flow_to], [True, False])
                self.flow_to[flow] = it["args"]["grid"]
            if kind == "TYPE_SLICE_BEGIN":
                stack.append(it)
                self.slices.append(it)
            else:
                self.instants.append(it)


def shape_text(sizes):
    """As the page and the tree write it."""
    def dimensions(x, y, z):
        return f"({x},{y},{z})" if z != 1 else f"({x},{y})" if y != 1 else str(x)
    return (f"<<<{dimensions(*sizes[:3])}, {'at most ' if sizes[7] else ''}{dimensions(*sizes[3:6])}"
            f"{f', {sizes[6]} bytes' if sizes[6] else ''}>>>")


def check(reader, saved):
    """That what Perfetto reads is what was saved."""
    column = {name: i for i, name in enumerate(saved["columns"])}
    grids = [{name: row[i] for name, i in column.items()} for row in saved["grids"]]
    ran = [i for i, g in enumerate(grids) if g["status"] == "success" and g["begun"] is not None]
    ends = {i: grids[i]["ended"] for i in ran}
    for i in reversed(ran):
        if grids[i]["parent"] in ends:
            ends[grids[i]["parent"]] = max(ends[grids[i]["parent"]], ends[i])

    def args_of(i):
        g = grids[i]
        args = {"grid": i, "shape": shape_text(saved["shapes"][g["shape"]]), "depth": g["depth"]}
        args.update((key, g[key]) for key in ("stream", "parent", "continues") if g[key] is not None)
        if g["status"] != "success":
            return dict(args, status=g["status"])
        if g["ended"] != ends[i]:
            args["ended"] = g["ended"]
        return dict(args, launched=g["launched"], **({} if g["processor"] is None else {"processor": g["processor"]}))

    name = f"{saved['engine']} engine on {saved['device']}"
    about = dict(saved.get("about", []))
    said = {"engine": saved["engine"], "device": saved["device"], "grids": str(len(grids)), "missing grids": str(saved["missing"]),
            "clock error in ns": str(saved["clock_error"]), **about}
    run = [s for s in reader.slices if s["category"] == "run"]
    expect("the slice of the run", [(s["name"], s["begin"], s["end"], s["args"]) for s in run], [(name, 0, saved["nanoseconds"], said)])
    expect("what is said of the run", reader.attributes, {"dynpar." + key: text for key, text in said.items()})
    process = [t for t in reader.tracks.values() if "process" in t]
    expect("the process", [(t["process"][0]["process_name"][0].decode(), [c.decode() for c in t["process"][0].get("cmdline", [])]) for t in process],
           [(name, [about["command"]] if "command" in about else [])])
    for track in reader.tracks.values():
        if "process" not in track:
            expect("the track above", track["parent_uuid"], process[0]["uuid"])
    names = [t["name"][0].decode() for t in reader.tracks.values() if "name" in t]
    expect("names of tracks that two have", [n for n in set(names) if names.count(n) > 1], [])

    slices = {s["args"]["grid"]: s for s in reader.slices if s["category"] != "run"}
    expect("grids with a slice", sorted(slices), ran)
    for i, s in slices.items():
        g = grids[i]
        expect(f"grid {i}", (s["name"], s["category"], s["begin"], s["end"], s["args"]),
               (saved["kernels"][g["kernel"]], "grid" if g["continues"] is None else "continuation", g["begun"], ends[i], args_of(i)))
        if s["inside"] is not None:
            expect(f"in whose slice grid {i} lies", s["inside"], g["parent"])
    lost = [i for i, g in enumerate(grids) if g["status"] != "success"]
    expect("lost launches", sorted((s["args"]["grid"], s["name"], s["category"], s["begin"], str(sorted(s["args"].items()))) for s in reader.instants),
           sorted((i, "lost: " + saved["kernels"][grids[i]["kernel"]], "lost", grids[i]["launched"], str(sorted(args_of(i).items()))) for i in lost))
    expect("where lost launches are", {reader.tracks[s["track"]]["name"][0] for s in reader.instants}, {b"lost launches"} if lost else set())

    launchers = {}
    for i in ran + lost:
        launcher = grids[i]["parent"] if grids[i]["continues"] is None else grids[i]["continues"]
        if launcher in ends and grids[launcher]["begun"] <= (grids[i]["begun"] if i in slices else grids[i]["launched"]):
            launchers[i] = launcher
    expect("flows", {reader.flow_to[flow]: grid for flow, grid in reader.flow_from.items()}, launchers)

    def counter(changes):
        steps, value, result = sorted(changes), 0, []
        for k, (time, change) in enumerate(steps):
            value += change
            if k + 1 == len(steps) or steps[k + 1][0] != time:
                if value != (result[-1][1] if result else 0):
                    result.append((time, value))
        return result

    alive = [change for i in ran for change in ((grids[i]["launched"], 1), (grids[i]["ended"], -1))]
    expect("grids alive", reader.counters.get("grids alive", []), counter(alive))
    busy = []
    for processor in {grids[i]["processor"] for i in ran} - {None}:
        of_it = [change for i in ran if grids[i]["processor"] == processor and grids[i]["begun"] < grids[i]["ended"]
                 for change in ((grids[i]["begun"], 1), (grids[i]["ended"], -1))]
        used = counter(of_it)
        busy += [(time, (value > 0) - (k > 0 and used[k - 1][1] > 0)) for k, (time, value) in enumerate(used)]
    kind = "workers" if saved["engine"] == "host" else "multiprocessors"
    expect(f"{kind} in use", reader.counters.get(f"{kind} in use", []), counter(busy))
    print(f"{len(slices)} slices, {len(lost)} lost launches, {len(launchers)} flows, {sum(map(len, reader.counters.values()))} values of counters: as saved")


def main():
    protoc = sys.argv[1]
    if len(sys.argv) == 3:
        slices = Reader(packets_of(protoc, sys.argv[2])).slices
        print(f"{sum(1 for s in slices if s['category'] != 'run')} slices of grids")
        return
    tool, folder = sys.argv[2:4]
    saved = sys.argv[4] if len(sys.argv) == 5 else os.path.join(folder, "known.dynpar.json")
    if len(sys.argv) == 4:
        check_page_use.save(saved, check_page_use.known_grids(), about=check_page_use.ABOUT)
    file = os.path.join(folder, "check.pftrace")
    subprocess.run([tool, "convert", saved, file], check=True)
    with open(saved, encoding="utf-8") as text:
        check(Reader(packets_of(protoc, file)), json.load(text))


main()
