"""Runs the commands that the documents show and compares what they print.

    check_examples.py [--without TEXT]... [--demo] --path FOLDER... -- DOCUMENT...

A block that begins with "```text run" holds commands, "$ " before each, and below each what it prints. They are run as
they stand, in one empty folder for each document, on the host engine: "cdp" is read as "host" in commands and output.
Times and percentages may differ, and with them the columns: several spaces count as one. A line "..." stands for any
lines, and at the end of a line for the rest of it. With "```text form" every number may differ. A command in which one
of the texts after --without occurs is left out.

A block that begins with "```text demo" is what scripts/demo prints without a GPU, and without the times at the ends of
lines; spaces count. Only a build without CUDA prints it, which --demo says of this one.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile


def blocks(document):
    """For each block that is to be compared: its kind, the number of its first line, its lines."""
    kind, first, lines = None, 0, []
    with open(document, encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            line = line.rstrip("\n")
            if kind is not None and line == "```":
                yield kind, first, lines
                kind = None
            elif kind is not None:
                lines.append(line)
            elif line in ("```text run", "```text form", "```text demo"):
                kind, first, lines = line.split()[1], number + 1, []


def commands(first, lines):
    for offset, line in enumerate(lines):
        if line.startswith("$ "):
            end = next((i for i in range(offset + 1, len(lines)) if lines[i].startswith("$ ")), len(lines))
            expected = lines[offset + 1:end]
            while expected and not expected[-1]:
                expected.pop()  # the line between two commands
            yield first + offset, line[2:], expected


def comparable(line, kind):
    if kind == "demo":
        return re.sub(r"  [0-9.]+ (us|ms|s)$", "", line)
    line = line.replace("cdp", "host")
    line = re.sub(r"[0-9]+(\.[0-9]+)? (ns|us|ms|s)\b", "<time>", line)
    line = re.sub(r"[+-][0-9]+ %", "<percent>", line)
    if kind == "form":
        line = re.sub(r"[0-9]+", "<number>", line)
    return re.sub(r" +", " ", line).rstrip()


def pattern(expected, kind):
    result = ""
    for line in expected:
        if line == "...":
            result += r"(?:[^\n]*\n)*?"
        elif line.endswith("..."):
            result += re.escape(comparable(line[:-3], kind)) + r"[^\n]*\n"
        else:
            result += re.escape(comparable(line, kind)) + r"\n"
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("documents", nargs="+")
    given = parser.parse_args()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DYNPAR_")}
    environment["PATH"] = os.pathsep.join([os.path.abspath(folder) for folder in given.path] + [environment["PATH"]])
    compared = wrong = 0
    for document in given.documents:
        with tempfile.TemporaryDirectory(prefix="dynpar-examples-") as folder:
            for kind, first, lines in blocks(document):
                if kind == "demo" and not given.demo:
                    continue
                for number, command, expected in commands(first, lines):
                    if any(text in command for text in given.without):
                        continue
                    run = subprocess.run(command.replace("cdp", "host"), shell=True, cwd=folder, env=environment,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                                         check=False)
                    printed = "".join(comparable(line, kind) + "\n" for line in run.stdout.splitlines())
                    compared += 1
                    if not re.fullmatch(pattern(expected, kind), printed):
                        wrong += 1
                        print(f"{document}:{number}: {command}\nprints, with status {run.returncode}:\n{run.stdout}")
                        print("and not:\n" + "\n".join(expected) + "\n")
    print(f"{compared} commands compared, {wrong} print something else")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
