#!/usr/bin/env python3
"""What it takes to compile a small program with dynpar, and what shortens it. Needs nvcc; no GPU.

    benchmarks/compile_time.py [--runs N] [--only TEXT]

A line for each way of compiling: the shortest of N runs by the clock, the least processor time of them (which other
programs on the machine disturb less), and the part of ptxas by nvcc's own account.
"""
import argparse
import csv
import os
import pathlib
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NVCC = ["nvcc", "-std=c++17", "-arch=sm_90", f"-I{ROOT}/include", "-c", "-o", "out.o"]
CXX = ["g++", "-std=c++17", "-O2", f"-I{ROOT}/include", "-c", "-o", "out.o"]

HELLO = """
struct {name} {{
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned n) const {{
        dynpar::print(block, "%u\\n", n);
        if (n != 0) block.launch(*this, dynpar::shape(1, 1), n - 1);
    }}
}};
"""


def hello(engine, kernels=("hello",), include="dynpar/dynpar.hpp", main="int main()"):
    calls = "".join(f"    engine.run({kernel}{{}}, dynpar::shape(1, 1), 3u);\n" for kernel in kernels)
    return (f"#include <{include}>\n" + "".join(HELLO.format(name=kernel) for kernel in kernels) +
            f"{main} {{\n    dynpar::{engine} engine;\n{calls}}}\n")


def including(header):
    return f"#include <{header}>\nint main() {{}}\n"


TWO = ("hello", "world")
QUEUE = hello("queue_engine")
QUEUE_ALONE = hello("queue_engine", include="dynpar/engine/queue.cuh").replace(
    "#include", "#include <dynpar/print.hpp>\n#include", 1)
FAST_PTXAS = NVCC + ["-Xptxas", "-Ofc=mid"]
WAYS = [
    ("no dynpar: an empty main, nvcc", NVCC, "int main() {}\n"),
    ("no dynpar: #include <cuda_runtime.h>", NVCC, including("cuda_runtime.h")),
    ("no dynpar: <string>, <vector>, <memory>", NVCC, "#include <memory>\n#include <string>\n" + including("vector")),
    ("include alone: shape.hpp", NVCC, including("dynpar/shape.hpp")),
    ("include alone: report.hpp", NVCC, including("dynpar/report.hpp")),
    ("include alone: launch.cuh, -rdc=true", NVCC + ["-rdc=true"], including("dynpar/launch.cuh")),
    ("include alone: engine/host.hpp", NVCC, including("dynpar/engine/host.hpp")),
    ("include alone: engine/queue.cuh", NVCC, including("dynpar/engine/queue.cuh")),
    ("include alone: dynpar.hpp", NVCC, including("dynpar/dynpar.hpp")),
    ("include alone: dynpar.hpp, -rdc=true", NVCC + ["-rdc=true"], including("dynpar/dynpar.hpp")),
    ("include alone: engine/cdp.cuh, -rdc=true", NVCC + ["-rdc=true"], including("dynpar/engine/cdp.cuh")),
    ("host engine, g++ -O2", CXX, hello("host_engine")),
    ("host engine, nvcc", NVCC, hello("host_engine")),
    ("queue engine", NVCC, QUEUE),
    ("queue engine, engine/queue.cuh in place of dynpar.hpp", NVCC, QUEUE_ALONE),
    ("queue engine, -Xptxas -Ofc=mid", FAST_PTXAS, QUEUE),
    ("queue engine, engine/queue.cuh in place of dynpar.hpp, -Xptxas -Ofc=mid", FAST_PTXAS, QUEUE_ALONE),
    ("queue engine, -Ofc=mid", NVCC + ["-Ofc=mid"], QUEUE),
    ("queue engine, engine/queue.cuh in place of dynpar.hpp, -Ofc=mid", NVCC + ["-Ofc=mid"], QUEUE_ALONE),
    ("queue engine, -Ofc=max", NVCC + ["-Ofc=max"], QUEUE),
    ("queue engine, DYNPAR_NO_TRACE=1", NVCC + ["-DDYNPAR_NO_TRACE=1"], QUEUE),
    ("queue engine, DYNPAR_QUEUE_MOST_THREADS=256", NVCC + ["-DDYNPAR_QUEUE_MOST_THREADS=256"], QUEUE),
    ("queue engine, -rdc=true", NVCC + ["-rdc=true"], QUEUE),
    ("queue engine, -rdc=true, -Ofc=mid", NVCC + ["-rdc=true", "-Ofc=mid"], QUEUE),
    ("queue engine, PTX alone (compute_90)", NVCC + ["-arch=compute_90", "-code=compute_90"], QUEUE),
    ("queue engine, two architectures", NVCC[:2] + ["-gencode=arch=compute_80,code=sm_80",
                                                    "-gencode=arch=compute_90,code=sm_90"] + NVCC[3:], QUEUE),
    ("queue engine, two architectures, -t2", NVCC[:2] + ["-gencode=arch=compute_80,code=sm_80",
                                                         "-gencode=arch=compute_90,code=sm_90", "-t2"] + NVCC[3:], QUEUE),
    ("queue engine, -split-compile=2", NVCC + ["-split-compile=2"], QUEUE),
    ("queue engine, two kernels that the host runs", NVCC, hello("queue_engine", TWO)),
    ("queue engine, two kernels that the host runs, -Xptxas -Ofc=mid", FAST_PTXAS, hello("queue_engine", TWO)),
    ("queue engine, two kernels that the host runs, -rdc=true", NVCC + ["-rdc=true"], hello("queue_engine", TWO)),
    ("cdp engine, -rdc=true", NVCC + ["-rdc=true"], hello("cdp_engine")),
    ("cdp engine, -rdc=true, DYNPAR_NO_TRACE=1", NVCC + ["-rdc=true", "-DDYNPAR_NO_TRACE=1"], hello("cdp_engine")),
]
if shutil.which("ccache"):
    WAYS.append(("queue engine, ccache, the second time", ["ccache"] + NVCC, QUEUE))


def once(command, folder):
    """Seconds by the clock, of the processor, and of ptxas."""
    source = "hello.cpp" if command[0] == "g++" else "hello.cu"
    account = folder / "account.csv"
    account.unlink(missing_ok=True)
    timed = ["-time", str(account)] if "nvcc" in command and "ccache" not in command else []
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command + timed + [source], cwd=folder, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.exit(f"compile_time: {' '.join(command)}\n{done.stderr}")
    ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ptxas = 0.0
    if account.exists():
        with open(account, encoding="utf-8") as rows:
            for row in csv.reader(rows, skipinitialspace=True):
                if len(row) > 2 and row[1].strip() == "ptxas":
                    ptxas += float(row[-2]) / 1000  # ..., metric, unit: milliseconds
    return ended - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ptxas


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    if not shutil.which("nvcc"):
        sys.exit("compile_time: there is no nvcc")
    release = subprocess.run(["nvcc", "--version"], stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout
    print(f"{platform.machine()}, {os.cpu_count()} processors; {release.splitlines()[-2].split(', ')[-1]}; "
          f"the shortest of {given.runs} runs, in seconds")
    with tempfile.TemporaryDirectory(prefix="dynpar-compile-") as name:
        folder = pathlib.Path(name)
        os.environ["CCACHE_DIR"] = str(folder / "ccache")
        ways = [way for way in WAYS if given.only in way[0]]
        measured = [[] for _ in ways]
        for _ in range(given.runs):  # the rounds outside, so that a slow minute of the machine does not hit one way alone
            for (_, command, text), runs in zip(ways, measured):
                for source in ("hello.cu", "hello.cpp"):
                    (folder / source).write_text(text, encoding="utf-8")
                if command[0] == "ccache" and not runs:
                    once(command, folder)
                runs.append(once(command, folder))
        print(f"{'clock':>7} {'cpu':>7} {'ptxas':>7}")
        for (title, _, _), runs in zip(ways, measured):
            clock, cpu, ptxas = (min(values) for values in zip(*runs))
            print(f"{clock:7.2f} {cpu:7.2f} {ptxas:7.2f}  {title}")


if __name__ == "__main__":
    main()
