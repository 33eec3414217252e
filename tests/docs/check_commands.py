"""Runs the commands with which the documents say that a program is built.

    check_commands.py --root ROOT [--prefix PREFIX] [--nvcc NVCC [--architecture sm_90]] DOCUMENT...

A block that begins with "```text commands" is run as it stands, by bash, in a folder for each document in which ROOT's
`include` and `src` are, as in a checkout. A block of C++ whose text before it ends with a file's name in backquotes and
a colon is written to that file first. A block "```text printed" after the commands is what they print, all of it.

After "commands" may stand what they need: "installed", where dynpar is installed in PREFIX, which <prefix> stands for
and pkg-config finds, for the programs of tests/install; "nvcc", where there is nvcc. With an architecture, for machines
without a GPU, it takes the place of "native", and the program is not run. What is not there is said.

Ends with 77 where a library is not installed in the system: the commands are for one that has them.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile


def blocks(text):
    """For each block: its first line without the fence, its number, the paragraph before it, its text."""
    for found in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        before = text[:found.start()].rstrip().rsplit("\n\n", 1)[-1]
        yield found[1], text[:found.start(2)].count("\n") + 1, " ".join(before.split()), found[2]


def missing_header():
    """A header that the commands need and the system has not, if any."""
    for header in ("boost/context/fiber.hpp", "nlohmann/json.hpp", "spdlog/spdlog.h", "toml++/toml.h", "zlib.h"):
        if subprocess.run(["g++", "-std=c++17", "-M", "-x", "c++", "-"], input=f"#include <{header}>\n",
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, encoding="utf-8",
                          check=False).returncode != 0:
            return header
    return None if shutil.which("pkg-config") else "pkg-config"



def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--prefix")
    parser.add_argument("--nvcc")
    parser.add_argument("--architecture")
    parser.add_argument("documents", nargs="+")
    given = parser.parse_args()
    missing = missing_header()
    if missing:
        print(f"skipped: not installed in the system: {missing}")
        return 77
    there = {"installed": given.prefix, "nvcc": given.nvcc}
    environment = dict(os.environ)
    if given.nvcc:
        environment["PATH"] += os.pathsep + os.path.dirname(os.path.abspath(given.nvcc))
    if given.prefix:
        files = glob.glob(os.path.join(given.prefix, "**", "dynpar-core.pc"), recursive=True)
        environment["PKG_CONFIG_PATH"] = os.path.dirname(files[0])
    run = wrong = left_out = 0
    for document in given.documents:
        with open(document, encoding="utf-8") as file:
            text = file.read()
        if "```text commands" not in text:
            continue
        with tempfile.TemporaryDirectory(prefix="dynpar-commands-") as folder:
            for name in ("include", "src"):
                os.symlink(os.path.join(os.path.abspath(given.root), name), os.path.join(folder, name))
            for file, program in (("main.cpp", "core/main.cpp"), ("main.cu", "cuda_core/main.cu")):
                with open(os.path.join(folder, file), "w", encoding="utf-8") as source:
                    source.write(f'#include "{os.path.abspath(given.root)}/tests/install/{program}"\n')
            printed = None
            for kind, line, before, content in blocks(text):
                named = re.search(r"`([a-z]+\.c(?:u|pp))`[^`]*:$", before)
                if kind.startswith("cpp") and named:
                    with open(os.path.join(folder, named[1]), "w", encoding="utf-8") as file:
                        file.write(content)
                elif kind.startswith("text commands"):
                    needs = kind.split()[2:]
                    if not all(there[need] for need in needs):
                        left_out += 1
                        continue
                    if "installed" in needs:
                        content = content.replace("<prefix>", given.prefix)
                    if "nvcc" in needs and given.architecture:
                        content = content.replace("-arch=native", f"-arch={given.architecture}")
                        content = re.sub(r"^[.]/.*\n", "", content, flags=re.MULTILINE)
                    done = subprocess.run(["bash", "-eu", "-c", content], cwd=folder, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, encoding="utf-8", env=environment, check=False)
                    run, printed = run + 1, done.stdout
                    if done.returncode != 0:
                        wrong += 1
                        print(f"{document}:{line}: status {done.returncode}\n{content}{done.stdout}{done.stderr}")
                elif kind == "text printed" and content != printed:
                    wrong += 1
                    print(f"{document}:{line}: the commands before print\n{printed}")
    print(f"{run} blocks of commands run, {wrong} wrong, {left_out} left out for want of nvcc or of an installation")
    return 1 if wrong or not run else 0


if __name__ == "__main__":
    sys.exit(main())
