"""Makes the pages of the API reference, and checks that every public name has a comment.

    reference.py XML HEADERS PAGES

XML is what Doxygen has read in the public headers; its files are changed: what no program uses is taken out. HEADERS is
the folder of the headers. PAGES is a new folder: one page for each subject, on it the headers of the subject, and of
each header its declarations in the order of the source. Breathe shows them.

It is an error if a public header is on no page, if a public class, function, variable, type or macro has no `///`
comment, if the block of an engine has a member that neither `Block` nor a comment has, and if the guide's tables lack a
member of reports or options. Not asked for a comment, and not shown without one: destructors, copies and moves, what
is deleted, the call of a function object.
"""
import itertools
import pathlib
import re
import sys
import textwrap
import xml.etree.ElementTree as ElementTree

# Title, what the page is for, and its headers.
SUBJECTS = [
    ("engines", "Engines", "What runs a kernel, and what it can be told.",
     ["with_engine.hpp", "engine/basic_engine.hpp", "engine/queue.cuh", "detail/queue/host/queue_options.hpp",
      "engine/host.hpp", "engine/cdp.cuh", "engine_options.hpp", "engine_kind.hpp", "probe_gpu.hpp"]),
    ("kernels", "Kernels and blocks", "What a kernel is, and what it can ask of its block.",
     ["block.hpp", "grid_group.hpp", "kernel.hpp", "print.hpp"]),
    ("loops", "Nested loops", "Loops of another length in each thread, which threads and child grids share, and grids over what the device has counted.",
     ["nested_for.hpp", "nested_reduce.hpp", "nested_for_options.hpp", "shape_for_loops.hpp", "counted_grid.hpp",
      "frontier.hpp"]),
    ("values", "Kernels with values", "Kernels that return a value to their caller.",
     ["result.hpp", "value_list.hpp", "call_outcome.hpp"]),
    ("together", "Threads together", "Votes, reductions and scans of a warp or a block, atomic operations, and what all threads of a run add to.",
     ["collectives.hpp", "operators.hpp", "atomic.hpp", "reducer.hpp", "monoids.hpp"]),
    ("shapes", "Shapes", "How many blocks of how many threads.", ["shape.hpp", "dimensions.hpp"]),
    ("buffers", "Buffers", "Memory that an engine's kernels can reach.", ["buffer.hpp"]),
    ("reports", "Reports and errors", "What the host learns of a run, and what is thrown.",
     ["report.hpp", "run_needs.hpp", "status.hpp"]),
    ("limits", "Limits and configuration", "What a run may use, and where its settings come from.",
     ["limits.hpp", "config.hpp", "recommendation.hpp", "log.hpp"]),
    ("traces", "Traces", "Which grid launched which, and when each ran.",
     ["trace.hpp", "trace_tree.hpp", "trace_file.hpp", "trace_page.hpp", "perfetto_trace.hpp", "chrome_trace.hpp", "graphviz.hpp",
      "trace_statistics.hpp", "trace_comparison.hpp"]),
    ("launch", "Launch helpers", "For plain `__global__` kernels: launches whose failures the host learns.",
     ["launch.cuh", "launch_configuration.hpp", "device_log.hpp", "cuda_error.hpp", "source_place.hpp"]),
    ("streams", "Streams and events",
     "For plain `__global__` kernels, on the host and in device code. (Those of a kernel's block are "
     "`Block::make_stream` and `Block::make_event`.)", ["stream.cuh", "event.cuh"]),
    ("macros", "Macros and version", "What the preprocessor knows, and what it can be told.",
     ["platform.hpp", "version.hpp"]),
]
# Headers that declare nothing of their own.
WITHOUT_A_PAGE = {"dynpar.hpp", "engine/missing.hpp"}
# Named on the page of their engine, without members: those are Block's.
BLOCKS = {"dynpar::host_block", "dynpar::host_stream", "dynpar::host_event", "dynpar::basic_cdp_block",
          "dynpar::basic_cdp_stream", "dynpar::basic_cdp_event"}
CONCEPT = "Block"
# What the block types of engines are derived from: members of Block too.
VALUES_OF_BLOCK = "value_interface"
# The guide has tables of all members of these.
IN_GUIDE = ("report", "failure", "run_needs", "engine_options", "host_options", "queue_options", "limits")
# For dynpar's own headers.
PRIVATE_MACROS = {"DYNPAR_FORCEINLINE", "DYNPAR_NOINLINE", "DYNPAR_ON_HOST", "DYNPAR_VERSION_TEXT", "DYNPAR_VERSION_QUOTED"}
MEMBERS = {"function", "variable", "enum", "typedef", "define"}


def words(node):
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


def is_documented(node):
    return any(words(node.find(part)) for part in ("briefdescription", "detaileddescription"))


def name_of(member):
    return words(member.find("qualifiedname")) or words(member.find("name"))


class Reference:
    def __init__(self, xml, headers):
        self.xml, self.headers, self.errors = xml, headers, []
        self.documents = {file.stem: ElementTree.parse(file) for file in xml.glob("*.xml") if file.stem != "index"}
        self.compounds = {name: tree.getroot().find("compounddef") for name, tree in self.documents.items()
                          if tree.getroot().find("compounddef") is not None}
        self.index = ElementTree.parse(xml / "index.xml")
        self.runs = 0

    def error(self, node, text):
        place = node.find("location")
        self.errors.append(f"{place.get('file')}:{place.get('line')}: {text}")

    def of_kind(self, *kinds):
        return [c for c in self.compounds.values() if c.get("kind") in kinds]

    # ---- what no program uses

    def is_hidden(self, member, owner):
        """Not a part of the interface that programs see."""
        if member.get("kind") == "friend":
            return not words(member.find("argsstring"))  # the friendship of a class, and not a function defined here
        if member.get("prot") != "public" or member.get("kind") not in MEMBERS:
            return True
        if any("if_wrong_launch" in words(parameter) for parameter in member.iterfind("templateparamlist/param")):
            return True  # chosen for a wrong call only, to say what is wrong with it
        if words(member.find("name")) in PRIVATE_MACROS:
            return True
        if member.get("kind") != "function" or is_documented(member):
            return False
        name, arguments = words(member.find("name")), words(member.find("argsstring"))
        of_class = owner.get("kind") in ("class", "struct")
        own = words(owner.find("compoundname")).split("::")[-1]
        copied = of_class and re.fullmatch(rf"\((const )?{own}(<.*>)?\s*&&?\s*\w*\).*", arguments)
        functions = [m for m in owner.iterfind("sectiondef/memberdef") if m.get("kind") == "function"]
        if name == "operator()" and len(functions) == 1 and is_documented(owner):
            return True  # the comment of a function object is that of its call
        return name.startswith("~") or bool(copied) or arguments.endswith("=delete")

    def take_out(self):
        for owner in self.compounds.values():
            for section in list(owner.iterfind("sectiondef")):
                for member in list(section.iterfind("memberdef")):
                    if self.is_hidden(member, owner):
                        section.remove(member)
                        continue
                    if member.get("kind") == "friend":
                        member.set("kind", "function")
                    initial = member.find("initializer")
                    if "!=" in words(initial):  # of macros, which are 1 here whatever the reader's compiler says
                        member.remove(initial)
                    # An implementation, where the reader asks for the interface.
                    member.attrib.pop("inline", None)
                    parameters = member.find("templateparamlist")
                    for parameter in list(parameters) if parameters is not None else []:
                        if "detail::" in words(parameter) or "enable_if" in words(parameter):
                            parameters.remove(parameter)
                    if parameters is not None and not list(parameters):
                        member.remove(parameters)
                if section.find("memberdef") is None:
                    owner.remove(section)
            for inner in list(owner.iterfind("innerclass")):
                if inner.get("prot") != "public":
                    owner.remove(inner)
            for include in list(owner.iterfind("includes")):  # the page has the header as a heading
                owner.remove(include)
            for base in list(owner.iterfind("basecompoundref")):
                if base.get("prot") != "public" or any(name in words(base) for name in ("detail::", VALUES_OF_BLOCK)):
                    owner.remove(base)

    # ---- what is missing

    def check(self):
        shown = {header for subject in SUBJECTS for header in subject[3]}
        for file in sorted(self.headers.rglob("*.[hc][pu][ph]")):
            header = file.relative_to(self.headers).as_posix()
            if not header.startswith("detail/") and header not in shown | WITHOUT_A_PAGE:
                self.errors.append(f"{file}: on no page of the reference; name it in docs/site/reference.py")
        for owner in self.compounds.values():
            kind, name = owner.get("kind"), words(owner.find("compoundname"))
            if kind in ("class", "struct"):
                if owner.get("prot") != "public" or self.is_inside_private(name):
                    continue
                if not is_documented(owner):
                    self.error(owner, f"{name} has no /// comment")
                if name.removeprefix("dynpar::") in IN_GUIDE:
                    self.check_guide(owner)
            elif kind not in ("namespace", "file"):
                continue
            for member in owner.iterfind("sectiondef/memberdef"):
                if name in BLOCKS:
                    self.check_member_of_block(member, owner)
                    continue
                if not is_documented(member):
                    self.error(member, f"{name_of(member)} has no /// comment")
                for value in member.iterfind("enumvalue"):
                    if not is_documented(value):
                        self.error(member, f"{name_of(member)}::{words(value.find('name'))} has no /// comment")

    def check_guide(self, owner):
        guide = (self.headers.parent.parent / "docs/guide.md").read_text(encoding="utf-8")
        rows = [line for line in guide.splitlines() if line.startswith("|")]
        for member in owner.iterfind("sectiondef/memberdef"):
            name = words(member.find("name"))
            if member.get("static") == "no" and not any(f"`{name}`" in row or f"limits.{name}`" in row for row in rows):
                self.error(member, f"{name_of(member)}: in no table of docs/guide.md")

    def is_inside_private(self, name):
        parent = name.rpartition("::")[0]
        owners = [c for c in self.of_kind("class", "struct") if words(c.find("compoundname")) == parent]
        return any(name not in [words(inner) for inner in owner.iterfind("innerclass")] for owner in owners)

    def check_member_of_block(self, member, owner):
        names = {words(m.find("name")) for c in self.of_kind("class", "struct")
                 if words(c.find("compoundname")).split("::")[0] == CONCEPT for m in c.iterfind("sectiondef/memberdef")}
        if member.get("kind") == "function" and words(member.find("name")) not in names and not is_documented(member):
            self.error(member, f"{name_of(member)}: {CONCEPT} has no such member")

    # ---- pages

    def declared_in(self, header):
        """What a header declares outside classes: (line, name, node)."""
        def is_here(node):
            place = node.find("location")
            return place is not None and place.get("file", "").endswith("/" + header)
        found = []
        for c in self.of_kind("class", "struct"):
            name = words(c.find("compoundname"))
            outer = name.rpartition("::")[0]
            nested = outer in [words(o.find("compoundname")) for o in self.of_kind("class", "struct")]
            if is_here(c) and not nested:
                found.append((int(c.find("location").get("line")), name, c))
        for c in self.of_kind("namespace", "file"):
            for member in c.iterfind("sectiondef/memberdef"):
                if is_here(member):
                    found.append((int(member.find("location").get("line")), name_of(member), member))
        return sorted(found, key=lambda entry: entry[0])

    def group(self, members):
        """A group of Doxygen's that holds these members, so that Breathe shows them one after another."""
        self.runs += 1
        name = f"run{self.runs}"
        root = ElementTree.Element("doxygen", version="1.9.4")
        compound = ElementTree.SubElement(root, "compounddef", id=name, kind="group")
        ElementTree.SubElement(compound, "compoundname").text = name
        ElementTree.SubElement(compound, "title").text = name
        section = ElementTree.SubElement(compound, "sectiondef", kind="user-defined")
        section.extend(members)
        ElementTree.SubElement(compound, "briefdescription")
        ElementTree.SubElement(compound, "detaileddescription")
        entry = ElementTree.SubElement(self.index.getroot(), "compound", refid=name, kind="group")
        ElementTree.SubElement(entry, "name").text = name
        for member in members:
            of_index = ElementTree.SubElement(entry, "member", refid=member.get("id"), kind=member.get("kind"))
            ElementTree.SubElement(of_index, "name").text = words(member.find("name"))
        self.documents[name] = ElementTree.ElementTree(root)
        return name

    def introduction(self, header):
        """The comment that a header begins with; what is indented in it is code."""
        lines = []
        for line in (self.headers / header).read_text(encoding="utf-8").splitlines():
            if not line.startswith("//"):
                break
            lines.append(line[2:].removeprefix(" "))
        out = ""
        for is_code, part in itertools.groupby(lines, key=lambda line: line.startswith("  ") or not line):
            text = "\n".join(part)
            if not is_code:
                out += text.replace("`", "``") + "\n\n"
            elif text.strip():
                out += ".. code-block:: cpp\n\n" + textwrap.indent(text.strip("\n"), "    ") + "\n\n"
        return out

    def page(self, title, purpose, headers):
        def heading(text, line):
            return f"{text}\n{line * len(text)}\n\n"

        def literals(text):
            return text.replace("`", "``")

        out = heading(title, "=") + literals(purpose) + "\n\n"
        for header in headers:
            if header.startswith("detail/"):  # a part of its engine's header
                entries = self.declared_in(header)
            else:
                out += heading(f"<dynpar/{header}>", "-") + self.introduction(header)
                entries = self.declared_in(header)
            place = 0
            while place < len(entries):
                _, name, node = entries[place]
                short = name.removeprefix("dynpar::")
                place += 1
                if node.get("kind") in ("class", "struct"):
                    out += heading(short, "~")
                    out += f".. doxygen{node.get('kind')}:: {name}\n"
                    out += "" if name in BLOCKS else "   :members:\n"
                    out += "\n"
                    continue
                members = [node]
                while place < len(entries) and entries[place][1] == name:
                    members.append(entries[place][2])
                    place += 1
                out += heading(short, "~") + f".. doxygengroup:: {self.group(members)}\n   :content-only:\n\n"
        return out

    def write(self, pages):
        pages.mkdir(parents=True)
        contents = "API reference\n=============\n\n"
        contents += ("Every public name, from the comments of the headers. ``<dynpar/dynpar.hpp>`` includes the core "
                     "and the engines\nthat the compiler can build; the other headers are included by name.\n\n")
        for file, title, purpose, headers in SUBJECTS:
            (pages / f"{file}.rst").write_text(self.page(title, purpose, headers), encoding="utf-8")
            contents += f":doc:`{title} <{file}>`\n   {purpose.replace('`', '``')}\n\n"
        contents += ".. toctree::\n   :hidden:\n\n" + "".join(f"   {subject[0]}\n" for subject in SUBJECTS)
        (pages / "index.rst").write_text(contents, encoding="utf-8")
        for name, tree in self.documents.items():
            tree.write(self.xml / f"{name}.xml", encoding="utf-8")
        self.index.write(self.xml / "index.xml", encoding="utf-8")


def main():
    xml, headers, pages = (pathlib.Path(argument) for argument in sys.argv[1:4])
    reference = Reference(xml, headers)
    reference.take_out()
    reference.check()
    for line in sorted(set(reference.errors)):
        print(line, file=sys.stderr)
    if reference.errors:
        return 1
    reference.write(pages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
