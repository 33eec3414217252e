#!/usr/bin/env python3
"""Opens the page of a trace in headless Chromium: it must render, without a line on the console, with the run's own counts.

check_page.py <chromium> <page.html> <trace.dynpar.json>
Exits with 77 (skipped) where Chromium cannot run at all.
"""
import html.parser
import json
import re
import sys

import chromium


def fail(message):
    sys.exit(f"check_page: {message}")


class Page(html.parser.HTMLParser):
    """The texts of elements with an id, the cells of the table, the lines of the tree."""

    def __init__(self):
        super().__init__()
        self.texts, self.rows, self.lines, self.attributes, self.inside = {}, [], 0, {}, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.attributes.setdefault(tag, []).append(attributes)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        if attributes.get("class") == "line":
            self.lines += 1
        if tag not in ("meta", "br", "link"):
            self.inside.append((tag, attributes.get("id")))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self.inside:
            tag, name = self.inside[-1]
            if name:
                self.texts[name] = self.texts.get(name, "") + data
            if tag == "td":
                self.rows[-1][-1] += data


def main():
    browser, page_file, trace_file = sys.argv[1:]
    with open(page_file, encoding="utf-8") as file:
        text = file.read()
    for pattern in (r'\bsrc\s*=\s*["\']?\s*(https?:)?//', r"<link\b", r"@import", r"\burl\("):
        own = re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.S)
        if re.search(pattern, own):
            fail(f"the page needs something from outside: {pattern}")
    try:
        with chromium.Page(browser, page_file) as shown:
            dom, console = shown.value("document.documentElement.outerHTML"), shown.console
    except chromium.NotHere as error:
        print(f"check_page: skipped: {error}")
        sys.exit(77)
    if console:
        fail("lines on the console:\n" + "\n".join(console))
    page = Page()
    page.feed(dom)

    with open(trace_file, encoding="utf-8") as file:
        trace = json.load(file)
    column = {name: i for i, name in enumerate(trace["columns"])}
    ran = [row for row in trace["grids"] if row[column["status"]] == "success"]
    expected = {
        "count-grids": len(ran),
        "count-lost": len(trace["grids"]) - len(ran),
        "count-kernels": len(trace["kernels"]),
        "deepest": max((row[column["depth"]] for row in ran), default=0),
    }
    for name, count in expected.items():
        if int(page.texts[name].replace(",", "")) != count:
            fail(f"{name} is {page.texts[name]} on the page and {count} in the run")
    counts = {}
    for row in ran:
        key = (trace["kernels"][row[column["kernel"]]], row[column["depth"]])
        counts[key] = counts.get(key, 0) + 1
    shown = {(cells[0], int(cells[1])): int(cells[2].replace(",", "")) for cells in page.rows if len(cells) == 11}
    if shown != counts:
        fail(f"the table counts {shown}, the run {counts}")
    if page.lines < 1:
        fail("the tree is empty")
    canvas = page.attributes["canvas"][0]
    if int(float(canvas.get("width", 0))) < 300 or int(float(canvas.get("height", 0))) < 5:
        fail(f"the timeline has no room: {canvas}")
    print(f"{len(ran)} grids, {len(counts)} rows of the table, {page.lines} lines of the tree: as in the run")


main()
