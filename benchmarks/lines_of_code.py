#!/usr/bin/env python3
"""How long the programs of the benchmark of nested loops are, with dynpar and by hand: lines of device code.

    benchmarks/lines_of_code.py

Counted are lines that are not empty, not comments and not preprocessor directives, of what a GPU executes and of the
types that it works on. What the host does to begin a program is left out on both sides: with dynpar that is one call.
"""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
GRAPH = "samples/graph/kernels.hpp"
FLAT_GRID = ("benchmarks/nested_loops/flat_grid.cuh", "bits_before", "place_in")
FLAT_SEARCH = ("benchmarks/nested_loops/flat_search.cuh", "part", "control", "search", "sum_up_to", "next_list", "claim",
               "search_by_levels")
FLAT_LOOPS = "benchmarks/nested_loops/flat_loops.cu"
# Program, its definitions with dynpar, and those of the same by hand.
PROGRAMS = [
    ("breadth first",
     [(GRAPH, "search", "neighbour", "visit_neighbour", "visit_frontier")],
     [FLAT_SEARCH, FLAT_GRID]),
    ("shortest ways",
     [(GRAPH, "search", "neighbour", "shorten_way", "visit_frontier")],
     [FLAT_SEARCH, FLAT_GRID]),
    ("spanning forest",
     [("samples/graph/forest.hpp", "forest", "key_of_edge", "find_lightest", "join_components", "name_components",
       "next_forest_round")],
     [("benchmarks/nested_loops/flat_forest.cuh", "crossing", "forest_control", "forest", "owner_of", "component_of",
       "cross", "span_by_rounds"), FLAT_GRID]),
    ("colours",
     [("samples/graph/colouring.hpp", "colouring", "taken_colours", "colour_of_neighbour", "colour_vertices")],
     [("benchmarks/nested_loops/flat_colouring.cuh", "colouring_control", "colouring", "bits_of", "bits_of_some",
       "or_of_warp", "or_of_block", "colours_around", "least_free", "colour_by_rounds"), FLAT_GRID]),
    ("families",
     [("samples/parent_child/kernels.hpp", "child_value", "visit_parents")],
     [(FLAT_LOOPS, "owner_of", "flat_children", "blocks_for")]),
    ("curves",
     [("samples/bezier/kernels.hpp", "put_point", "draw_curves")],
     [(FLAT_LOOPS, "owner_of", "flat_counts", "flat_points", "blocks_for")]),
]


def code_of(path):
    """The file's lines of code."""
    text = (ROOT / path).read_text(encoding="utf-8")
    lines = (re.sub(r"//.*", "", line).rstrip() for line in text.split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def lines_of(path, name):
    """How many lines the definition of that name has, from a `template` before it to its last brace."""
    code = code_of(path)
    begins = re.compile(r"^(struct|class|enum class|__global__|__device__|DYNPAR_FUNCTION|inline|unsigned)\b.*\b" + name +
                        r"\b\s*[({:]")
    found = [i for i, line in enumerate(code) if begins.match(line)]
    if len(found) != 1:
        raise SystemExit(f"lines_of_code: {path}: {len(found)} definitions of {name}")
    first = last = found[0]
    while code[first - 1].startswith("template"):
        first -= 1
    depth = 0
    while True:
        depth += code[last].count("{") - code[last].count("}")
        if depth == 0 and re.search(r"[;}]$", code[last]):
            return last - first + 1
        last += 1


def main():
    print(f"{'':16} {'dynpar':>7} {'by hand':>8} {'part':>6}")
    for program, *sides in PROGRAMS:
        ours, by_hand = (sum(lines_of(path, name) for path, *names in side for name in names) for side in sides)
        print(f"{program:16} {ours:7} {by_hand:8} {ours / by_hand:6.2f}")


if __name__ == "__main__":
    main()
