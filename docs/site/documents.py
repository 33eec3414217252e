"""Lays out the documents for Sphinx.

    documents.py ROOT SOURCE

README, CHANGELOG, CONTRIBUTING and docs/*.md are copied from ROOT to the folder SOURCE, README as index.md. The files
are written for a reader of the repository as well, so their links lead to files of it: a link to README leads to the
index here, and one to a file or a folder that is no document leads to a page that shows it.
"""
import pathlib
import posixpath
import re
import shutil
import sys

# What the sidebar shows, in this order: pages, with a title where their own is long. A document that is not here is an error.
CONTENTS = [
    ("Begin", ["docs/quick-start", "docs/guide", "docs/samples", "docs/building", "docs/support",
               "docs/porting-from-cdp1", "docs/tracing"]),
    ("Reference", ["reference/index", "docs/contract"]),
    ("The queue engine", ["How it works <docs/queue-engine>", "Programs, costs, tuning <docs/tuning>",
                          "What has been shown <docs/state>", "Orders of memory <docs/orders>",
                          "Random programs <docs/random-programs>"]),
    ("Texts on CUDA", ["docs/texts", "docs/reductions", "docs/exercises", "Coverage <docs/coverage>"]),
    ("The project", ["CHANGELOG", "CONTRIBUTING"]),
]
LANGUAGES = {".hpp": "cpp", ".cpp": "cpp", ".cu": "cuda", ".cuh": "cuda", ".py": "python", ".json": "json",
             ".cmake": "cmake", ".sh": "bash", ".js": "javascript", ".css": "css"}
LINK = re.compile(r"(\]\()([^ )]+)(\))")
LARGEST_PAGE = 200_000  # bytes; a larger file is only linked


class Site:
    def __init__(self, root, source):
        self.root, self.source = root, source
        self.documents = [root / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
        self.documents += sorted((root / "docs").glob("*.md"))
        self.shown = {}  # files and folders that are no documents: path in the repository -> page

    def path(self, file):
        return file.relative_to(self.root).as_posix()

    def page_of(self, document):
        name = self.path(document)
        return "index.md" if name == "README.md" else name

    def target(self, document, link):
        """What a link of a document becomes."""
        if re.match(r"[a-z]+:|#", link):
            return link
        name, _, anchor = link.partition("#")
        file = (document.parent / name).resolve()
        if not file.exists():
            raise ValueError(f"{document}: there is no {name}")
        here = posixpath.dirname(self.page_of(document))
        if file in self.documents:
            there = self.page_of(file)
        elif file.suffix == ".png":
            there = self.path(file)
        else:
            there = self.show(file)
        return posixpath.relpath(there, here or ".") + (f"#{anchor}" if anchor else "")

    def copy(self, document):
        lines, in_code = [], False
        for line in document.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith("```"):
                in_code = not in_code
                # What comes after the language is for the tests.
                line = re.sub(r"^( *```)cpp (cuda|old)$", r"\1cuda", line)
            elif not in_code and not line.startswith("    "):
                parts = re.split(r"(`[^`]*`)", line)
                parts[::2] = [LINK.sub(lambda m: m[1] + self.target(document, m[2]) + m[3], part)
                              for part in parts[::2]]
                line = "".join(parts)
            lines.append(line)
        text = "\n".join(lines) + "\n"
        if self.page_of(document) == "index.md":
            text += self.contents()
        self.write(self.page_of(document), text)

    def contents(self):
        text = ""
        for caption, pages in CONTENTS:
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(pages) + "\n```\n"
        return text

    def write(self, page, text):
        file = self.source / page
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def show(self, file):
        """The page that shows a file, or what is in a folder."""
        name = self.path(file)
        if name in self.shown:
            return self.shown[name]
        page = self.shown[name] = f"files/{name}/index.md" if file.is_dir() else f"files/{name}.md"
        text = f"---\norphan: true\nnosearch: true\n---\n\n# {name}\n\n"
        if file.is_dir():
            for entry in sorted(file.iterdir()):
                if not entry.name.startswith("."):
                    link = posixpath.relpath(self.show(entry), posixpath.dirname(page))
                    text += f"* [{entry.name}]({link})\n"
        elif file.stat().st_size > LARGEST_PAGE:
            text += f"{file.stat().st_size} bytes: too large to be shown here.\n"
        else:
            code = file.read_text(encoding="utf-8")
            fence = "`" * (max([2] + [len(run) for run in re.findall("`+", code)]) + 1)
            text += f"{fence}{LANGUAGES.get(file.suffix, 'text')}\n{code}\n{fence}\n"
        self.write(page, text)
        return page

    def check_contents(self):
        listed = [page.split("<")[-1].rstrip(">") for _, pages in CONTENTS for page in pages]
        for document in self.documents:
            page = self.page_of(document).removesuffix(".md")
            if page != "index" and page not in listed:
                raise ValueError(f"{document}: in no part of the contents; name it in docs/site/documents.py")

    def check_samples(self):
        index = (self.root / "docs/samples.md").read_text(encoding="utf-8")
        for sample in sorted((self.root / "samples").glob("*/CMakeLists.txt")):
            if f"\n| [{sample.parent.name}](" not in index:
                raise ValueError(f"docs/samples.md: the table of all samples has no {sample.parent.name}")


def main():
    root, source = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    site = Site(root, source)
    try:
        site.check_contents()
        site.check_samples()
        for document in site.documents:
            site.copy(document)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    shutil.copytree(root / "docs/images", source / "docs/images", dirs_exist_ok=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
