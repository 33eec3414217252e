#!/usr/bin/env python3
"""Uses the page of a trace as a reader does, in headless Chromium, and checks what it then shows.

check_page_use.py <chromium> <dynpar-trace> <folder> <case>
Makes its own trace, in which every time is known. Exits with 77 (skipped) where Chromium does not start.
"""
import json
import os
import subprocess
import sys
import time

import chromium

COLUMNS = ["parent", "continues", "stream", "kernel", "shape", "depth", "status", "processor", "launched", "begun", "ended"]
KERNELS = ["root", "child", "grandchild", "add_up"]
SHAPES = [[8, 1, 1, 32, 1, 1, 0, 0], [1, 1, 1, 32, 1, 1, 0, 0], [2, 1, 1, 64, 1, 1, 0, 0]]
LOST = "pending_launches_exceeded"


ABOUT = [["command", "sum --elements 7 '<b>'"], ["version", "dynpar 1.2.3"], ["options", "a = 1\nb = 2"]]


def known_grids():
    """A root; 8 children on 4 multiprocessors, of which each launches 2; every third of those is lost; a continuation."""
    grids = [[None, None, None, 0, 0, 0, "success", 0, 0, 1000, 9000]]
    for k in range(8):
        begun = 3000 + 5000 * k
        grids.append([0, None, None, 1, 1, 1, "success", k % 4, 2000 + 500 * k, begun, begun + 12000])
    for k in range(16):
        parent = 1 + k // 2
        launched = grids[parent][9] + 2000 + 3000 * (k % 2)
        if k % 3 == 2:
            grids.append([parent, None, None, 2, 2, 2, LOST, None, launched, None, None])
        else:
            grids.append([parent, None, None, 2, 2, 2, "success", (k + 1) % 4, launched, launched + 15000, launched + 22000])
    grids.append([None, 0, None, 3, 1, 0, "success", 2, 8000, 90000, 95000])
    return grids


def a_million_grids():
    """A root, a thousand children, a thousand grandchildren of each, on 132 multiprocessors."""
    grids = [[None, None, None, 0, 0, 0, "success", 0, 0, 1000, 9000]]
    for k in range(1000):
        grids.append([0, None, None, 1, 1, 1, "success", k % 132, 1000 + 8 * k, 10000 + 2000 * k, 30000 + 2000 * k])
    for k in range(1000 * 1000):
        launched = 12000 + 2 * k
        status = "success" if k % 1000 else LOST
        grids.append([1 + k // 1000, None, None, 2, 2, 2, status, None if k % 1000 == 0 else k % 132, launched,
                      None if k % 1000 == 0 else launched + 5000, None if k % 1000 == 0 else launched + 5200])
    return grids


def save(file, grids, **more):
    """As dynpar saves a trace."""
    ends = [grid[10] for grid in grids if grid[10] is not None]
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"format": "dynpar trace", "version": 1, "engine": "cdp", "device": "a GPU", "nanoseconds": max(ends) + 1000,
                   "clock_error": 0, "missing": 0, **more, "kernels": KERNELS, "shapes": SHAPES, "columns": COLUMNS, "grids": grids}, out)


def expect(what, look, wanted):
    """One check, with both values in its message. What the page shows is given as a function, and looked at until it is
    as wanted: when an input arrives, and when the page draws what follows from it, is the browser's affair."""
    deadline = time.monotonic() + 60
    while True:
        try:
            is_ = look() if callable(look) else look
        except RuntimeError as error:  # an element that is just being replaced
            is_ = error
        if is_ == wanted:
            return
        if not callable(look) or time.monotonic() > deadline:
            sys.exit(f"check_page_use: {what}: {is_!r} instead of {wanted!r}")
        time.sleep(0.05)


def shown_time(page):
    """From and to, in nanoseconds."""
    return page.value("[Number(timeline.dataset.from), Number(timeline.dataset.to)]")


def shown_after(page, before):
    """From and to, when they are others than before."""
    expect("the time that is shown changes", lambda: shown_time(page) != before, True)
    return shown_time(page)


def place_of(page, x_time):
    """Where a time is in the window, on the graph's row: the left 74 pixels are names."""
    left, width, top = page.value("(() => { const b = graph.getBoundingClientRect(); return [b.left, timeline.getBoundingClientRect().width, b.top]; })()")
    start, stop = shown_time(page)
    return left + 74 + (x_time - start) / (stop - start) * (width - 74), top + 30


def place_of_chosen(page):
    """Where the chosen grid is in the window."""
    page.settle()
    return page.value("(() => { const b = timeline.getBoundingClientRect(), p = timeline.dataset.box.split(' ').map(Number); return [b.left + p[0], b.top + p[1]]; })()")


def chosen_everywhere(page, number, kernel, depth):
    """The chosen grid, as each part of the page shows it."""
    expect("the grid in the timeline", lambda: page.value("Number(timeline.dataset.chosen)"), number)
    expect("the grid in words", lambda: page.value("[Number(details.dataset.grid), details.textContent.split(' ').slice(0, 3).join(' ')]"),
           [number, f"grid {number}: {kernel}"])
    expect("the grid in the tree", lambda: page.value("Number(tree.dataset.chosen)"), number)
    expect("lines that are chosen in the tree", lambda: page.value("document.querySelectorAll('#tree [aria-selected=true]').length"), 1)
    expect(f"grid {number}, {kernel}, is the line's", lambda: page.value(
        f"document.querySelector('#tree [aria-selected=true]').innerText.split('\\n').slice(0, 2).join(' ').includes('{kernel}')"), True)
    expect("it can be seen in the tree", lambda: page.value(
        "(() => { const a = document.querySelector('#tree [aria-selected=true] > .line').getBoundingClientRect(), "
        "b = tree.getBoundingClientRect(); return a.top >= b.top - 1 && a.top < b.bottom; })()"), True)
    expect("the row of the table", lambda: page.value(
        "Array.from(document.querySelectorAll('#table tr.chosen')).map((r) => [r.cells[0].textContent, Number(r.cells[1].textContent)])"), [[kernel, depth]])


def case_fills(page, _):
    """The timeline takes the room that there is, and what is said of the chosen grid is not cut off."""
    page.press("n")
    for width, height in ((1280, 1000), (1900, 1100), (1000, 640), (700, 900), (360, 640)):
        page.resize(width, height)
        window = f"in a window of {width} x {height}"
        expect(window, lambda: page.value("[innerWidth, innerHeight]"), [width, height])

        def room():
            left, right, high = page.value("(() => { const b = timeline.getBoundingClientRect(); return [b.left, b.right, b.height]; })()")
            return left <= 20 and width - 50 <= right <= width and high >= 80 or [left, right, high]
        expect(f"{window} the timeline has room", room, True)
        expect(f"{window} the page is as wide", lambda: page.value("document.documentElement.scrollWidth <= innerWidth"), True)
        expect(f"{window} the canvas has as many pixels as it shows", lambda: page.value("timeline.width === Math.round(timeline.getBoundingClientRect().width)"), True)
        if width <= 900:
            expect(f"{window} all is read of the chosen grid", lambda: page.value("details.scrollWidth <= details.clientWidth"), True)
        else:
            expect(f"{window} all is read of it at the pointer", lambda: page.value("details.title.startsWith('grid 0: root') && details.title.includes('complete')"), True)
        if height >= 640 and width > 900:
            expect(f"{window} all fits", lambda: page.value("document.documentElement.scrollHeight <= innerHeight"), True)
    page.resize(1280, 1000)
    expect("the window", lambda: page.value("[innerWidth, innerHeight, timeline.width > 1200]"), [1280, 1000, True])
    page.settle()
    before = page.value("timeline.getBoundingClientRect().height")
    page.value("divider.focus()")
    page.press("ArrowDown")
    expect("the divider gives the timeline room", lambda: page.value("timeline.getBoundingClientRect().height") > before + 20, True)


def case_linked(page, grids):
    """A grid that is chosen in one part is chosen in all."""
    page.click("#grids-tab")
    for number in (3, 12):
        page.click(f"#grids tr[data-grid='{number}']")
        page.click("#kernels-tab")
        chosen_everywhere(page, number, KERNELS[grids[number][3]], grids[number][5])
        page.click("#grids-tab")
        expect("the row of the grids' table", lambda: page.value("Array.from(document.querySelectorAll('#grids tr.chosen')).map((r) => Number(r.dataset.grid))"), [number])
    place = place_of_chosen(page)
    page.press("Escape")
    expect("Escape gives it up", lambda: page.value("Number(timeline.dataset.chosen)"), -1)
    page.click_at(*place)
    page.click("#kernels-tab")
    chosen_everywhere(page, 12, "grandchild", 2)
    page.press("Escape")
    expect("Escape gives it up in the tree", lambda: page.value("document.querySelectorAll('#tree [aria-selected=true]').length"), 0)
    page.click("#tree .node .node > .line")
    expect("another grid", lambda: page.value("Number(tree.dataset.chosen)") != 12, True)
    number = page.value("Number(tree.dataset.chosen)")
    chosen_everywhere(page, number, KERNELS[grids[number][3]], grids[number][5])


def case_lost(page, grids):
    """A lost launch is found, in every part."""
    lost = [i for i, grid in enumerate(grids) if grid[6] == LOST]
    # Each is three pixels wide, in the topmost row; from a copy, see case_dark.
    def red():
        pixels = page.value("(() => { const c = document.createElement('canvas'); c.width = timeline.width; c.height = 1; const k = c.getContext('2d'); "
                            "k.drawImage(timeline, 0, 6, c.width, 1, 0, 0, c.width, 1); const p = k.getImageData(0, 0, c.width, 1).data; "
                            "let n = 0; for (let x = 74; x < c.width; ++x) if (p[4 * x] > p[4 * x + 2] + 80) ++n; return n; })()")
        return 2 * len(lost) <= pixels <= 4 * len(lost) or pixels
    expect("pixels of lost launches", red, True)
    expect("how many are lost", lambda: page.value("Number(document.getElementById('count-lost').textContent)"), len(lost))
    for wanted in lost + lost[:1]:
        page.press("l")
        chosen_everywhere(page, wanted, "grandchild", 2)
        expect("it is said that the launch was lost", lambda: LOST in page.value("details.textContent") and
               "LOST" in page.value("document.querySelector('#tree [aria-selected=true]').textContent"), True)
    place = place_of_chosen(page)
    page.press("Escape")
    expect("Escape gives it up", lambda: page.value("Number(timeline.dataset.chosen)"), -1)
    page.click_at(*place)
    chosen_everywhere(page, lost[0], "grandchild", 2)
    page.click("#lost-button")
    chosen_everywhere(page, lost[1], "grandchild", 2)


def case_search(page, grids):
    """What matches is counted, kept in colour, and can be gone through."""
    def matching(test):
        numbers = [i for i, grid in enumerate(grids) if test(grid)]
        expect("what was typed is filtered", lambda: page.value("document.getElementById('search-text').dataset.filtered === document.getElementById('search-text').value"), True)
        expect("how many match", lambda: page.value("document.getElementById('match-count').textContent"), f"{len(numbers)} of {len(grids)} match")
        page.value("canvas = document.getElementById('timeline'), canvas.focus()")
        for wanted in numbers[:3]:
            page.press("n")
            expect("the next match", lambda: page.value("Number(timeline.dataset.chosen)"), wanted)
        page.press("p")
        expect("the match before", lambda: page.value("Number(timeline.dataset.chosen)"), numbers[min(2, len(numbers) - 1) - 1] if len(numbers) > 1 else numbers[0])
        page.click("#grids-tab")
        expect("the table of those that match", lambda: page.value("Array.from(document.querySelectorAll('#grids tbody tr')).map((r) => Number(r.dataset.grid))"), numbers)
        page.click("#kernels-tab")
        page.press("Escape")

    def choose(name, value):
        page.value(f"(() => {{ const e = document.getElementById('search-{name}'); e.value = '{value}'; e.dispatchEvent(new Event('input')); }})()")

    page.press("/")
    page.type("CHILD")
    matching(lambda g: "child" in KERNELS[g[3]])
    expect("lines of the tree without a match", lambda: page.value("document.querySelectorAll('#tree .unmatched').length"), 1)  # add_up
    choose("from", "2")
    matching(lambda g: "child" in KERNELS[g[3]] and g[5] >= 2)
    choose("status", "lost")
    matching(lambda g: g[6] == LOST)
    page.click("#clear")
    expect("nothing is looked for", lambda: page.value("document.getElementById('match-count').textContent"), "")
    choose("shape", "1")
    matching(lambda g: g[4] == 1)
    page.click("#clear")
    choose("to", "1")
    matching(lambda g: g[5] <= 1)
    page.click("#clear")
    page.press("/")
    page.type("7")
    matching(lambda g: g is grids[7])
    page.click("#clear")
    page.click("#table tbody tr:nth-child(3)")  # by kernel: add_up, root, child
    expect("its kernel is looked for", lambda: page.value("document.getElementById('match-count').textContent") != "", True)
    name, depth = page.value("(() => { const r = document.querySelector('#table tbody tr:nth-child(3)'); return [r.cells[0].textContent, Number(r.cells[1].textContent)]; })()")
    matching(lambda g: KERNELS[g[3]] == name and g[5] == depth)


def case_keys(page, grids):
    """w a s d, + - 0, Escape, the arrows, Tab, and the help."""
    start, stop = whole = shown_time(page)
    page.press("w")
    near = shown_after(page, whole)
    expect("w zooms in about the middle", [round(near[1] - near[0]), round(near[0] + near[1])], [round((stop - start) * 0.6), round(start + stop)])
    page.press("d")
    later = shown_after(page, near)
    expect("d moves to later", later[0] > near[0] and round(later[1] - later[0]) == round(near[1] - near[0]), True)
    page.press("a")
    expect("a moves back", lambda: [round(t) for t in shown_time(page)], [round(t) for t in near])
    page.press("s")
    expect("s zooms out", lambda: [round(t) for t in shown_time(page)], [round(t) for t in whole])
    page.press("+")
    page.press("+")
    expect("+ zooms in", lambda: round(shown_time(page)[1] - shown_time(page)[0]), round((stop - start) / 4))
    page.press("-")
    expect("- zooms out", lambda: round(shown_time(page)[1] - shown_time(page)[0]), round((stop - start) / 2))
    before = shown_time(page)
    page.press("ArrowRight")
    expect("without a grid an arrow moves", lambda: shown_time(page)[0] > before[0], True)
    page.press("0")
    expect("0 shows the whole run", lambda: shown_time(page), whole)
    for _ in range(100):
        page.press("W")
    expect("there is an end to zooming in", lambda: shown_time(page)[1] - shown_time(page)[0] >= 10, True)
    page.press("0")
    page.press("n")
    for key, number in (("ArrowDown", 1), ("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2), ("ArrowDown", 11), ("ArrowUp", 2), ("ArrowUp", 0)):
        page.press(key)
        expect(f"{key} goes from grid to grid", lambda: page.value("Number(timeline.dataset.chosen)"), number)
    page.press("f")
    shown = shown_after(page, whole)
    expect("f zooms to the grid", shown[0] <= grids[0][9] and shown[1] >= grids[0][10] and shown[1] - shown[0] < 20000, True)
    page.press("Escape")
    page.press("?", shift=True)
    expect("? opens the help", lambda: page.value("help.open"), True)
    listed = page.value("Array.from(document.querySelectorAll('#help kbd')).map((k) => k.textContent)")
    for key in ("w", "a", "s", "d", "+", "-", "0", "Esc", "Tab", "\u2190", "\u2191", "\u2192", "\u2193", "?"):
        expect(f"the help names {key}", key in listed, True)
    page.press("Escape")
    expect("Escape closes it", lambda: page.value("help.open"), False)
    page.press("/")
    page.type("w")
    expect("in a field w is a letter", lambda: [page.value("document.getElementById('search-text').value"), shown_time(page) == shown], ["w", True])
    page.press("Escape")
    reached = set()
    page.value("document.activeElement.blur()")
    parts = {"theme", "search-text", "timeline", "divider", "tree", "kernels-tab", "table"}

    def not_reached():
        page.press("Tab")
        reached.add(page.value("(document.activeElement.closest('[id]') || document.body).id"))
        return parts - reached
    expect("where Tab does not come", not_reached, set())
    page.value("document.querySelector('#tree .node').focus()")
    page.press("ArrowLeft")
    expect("an arrow closes a line of the tree", lambda: page.value("document.querySelector('#tree .node').getAttribute('aria-expanded')"), "false")
    page.press("ArrowRight")
    page.press("ArrowDown")
    page.press("Enter")
    expect("Enter chooses the next line", lambda: page.value("Number(timeline.dataset.chosen)"), 1)


def case_nesting(page, grids):
    """Rows by depth, and an arrow for each launch."""
    page.press("v")
    expect("v shows rows by depth", lambda: page.value("document.getElementById('view').value"), "nesting")
    page.press("n")
    page.press("n")
    page.press("f")
    page.press("0")
    children = [i for i, grid in enumerate(grids) if grid[0] == 1]
    expect("arrows from its parent and to its children", lambda: page.value("Number(timeline.dataset.arrows)"), 1 + len(children))
    heights = []
    for number in (0, 1, children[0]):
        while page.value("Number(timeline.dataset.chosen)") != number:
            page.press("n")
        heights.append(page.value("Number(timeline.dataset.box.split(' ')[1]) + rows.scrollTop"))
    expect(f"deeper grids are further down ({heights})", heights == sorted(set(heights)), True)
    page.press("Escape")
    expect("no arrows without a grid", lambda: page.value("Number(timeline.dataset.arrows)"), 0)
    page.press("r")
    launched = sum(1 for grid in grids if grid[0] is not None or grid[1] is not None)
    expect("r shows every launch", lambda: page.value("Number(timeline.dataset.arrows)"), launched)
    page.press("v")
    expect("also by multiprocessor", lambda: page.value("Number(timeline.dataset.arrows)"), launched)


def case_range(page, grids):
    """A range that is dragged, and its sums."""
    page.drag(place_of(page, 20000), place_of(page, 40000))
    def range_data():
        return page.value("Object.assign({}, document.getElementById('range-text').dataset)")

    def range_is_near(wanted):
        data = range_data()
        return "ran" in data and all(abs(float(data[name]) - t) < 200 for name, t in zip(("from", "to"), wanted)) or data
    expect("the range is what was dragged over", lambda: range_is_near((20000, 40000)), True)
    data = range_data()
    start, stop = float(data["from"]), float(data["to"])
    ran = [g for g in grids if g[9] is not None and g[9] <= stop and g[10] >= start]
    expect("grids that ran in it", int(data["ran"]), len(ran))
    expect("grids begun in it", int(data["begun"]), sum(1 for g in ran if g[9] >= start))
    expect("launches lost in it", int(data["lost"]), sum(1 for g in grids if g[6] == LOST and start <= g[8] <= stop))
    expect("their time in it", round(float(data["time"])), round(sum(min(g[10], stop) - max(g[9], start) for g in ran)))
    expect("it is in sight", lambda: page.value("!document.getElementById('range-panel').hidden"), True)
    page.press("f")
    expect("f zooms to it", lambda: [round(t) for t in shown_time(page)], [round(start), round(stop)])
    page.press("Escape")
    expect("Escape gives it up", lambda: page.value("document.querySelectorAll('#range-table tr').length"), 0)
    before = shown_time(page)
    place = place_of(page, 30000)
    page.drag(place, (place[0] + 100, place[1]), modifiers=8)
    expect("with Shift dragging moves", lambda: shown_time(page)[0] < before[0] and page.value("document.querySelectorAll('#range-table tr').length") == 0, True)
    page.press("0")
    page.press("n")
    page.press("n")
    page.press("m")
    below = [grids[1]] + [g for g in grids if g[0] == 1 and g[9] is not None]
    expect("m selects a grid's time, with what it launched", lambda: [float(range_data()[name]) for name in ("from", "to")], [grids[1][9], max(g[10] for g in below)])


def ruler_is_right(page):
    """Whether each mark of the ruler stands at the time that it names, and no two name the same; else the marks."""
    marks = [mark.split("|") for mark in page.value("graph.dataset.ruler").split(";")]
    left = page.value("timeline.getBoundingClientRect().left")
    if len(marks) < 3 or len({text for _, text in marks}) != len(marks):
        return marks
    for x, text in marks:
        number, unit = text.split(" ")
        t = float(number) * {"ns": 1, "\u00b5s": 1e3, "ms": 1e6, "s": 1e9}[unit]
        if abs(float(x) - (place_of(page, t)[0] - left)) > 1.5:
            return marks, f"{t} is at {place_of(page, t)[0] - left}"
    return True


def case_graph(page, grids):
    """Grids alive and multiprocessors in use, at the pointer; the ruler."""
    for t in (5250, 21250, 33333, 60250, 80000, 92500):
        page.pointer("mouseMoved", *place_of(page, t))
        # Where the pointer is exactly, a pixel is some hundred nanoseconds: nothing may begin or end nearby.
        near = [x for g in grids if g[9] is not None for x in (g[8], g[9], g[10]) if abs(x - t) < 120]
        expect(f"nothing happens near {t}", near, [])
        alive = sum(1 for g in grids if g[9] is not None and g[8] <= t < g[10])
        busy = len({g[7] for g in grids if g[9] is not None and g[9] <= t < g[10]})
        expect(f"at {t}", lambda: page.value("readout.textContent.split(': ')[1]"), f"{alive} grids alive, {busy} of 4 multiprocessors in use")
    page.press("0")
    for zoomed in (0, 3, 6):
        expect(f"the ruler, zoomed {zoomed} times", lambda: ruler_is_right(page), True)
        for _ in range(3):
            page.press("w")
    page.press("0")
    expect("it is painted", lambda: page.value("(() => { const w = graph.width, p = graph.getContext('2d').getImageData(0, 56, w, 1).data; let n = 0; "
           "for (let x = 80; x < w; x += 10) if (p[4 * x + 2] > p[4 * x] + 40) ++n; return n; })()") > 20, True)


def case_dark(page, _):
    """Dark as the system has it, or as it is switched; readable in both."""
    def background():
        page.settle()
        # From a copy: a canvas that is often read from is no longer drawn to by the GPU, which the browser says.
        return sum(page.value("(() => { const c = document.createElement('canvas').getContext('2d'); "
                              "c.drawImage(timeline, 5, timeline.height - 3, 1, 1, 0, 0, 1, 1); return Array.from(c.getImageData(0, 0, 1, 1).data).slice(0, 3); })()")) / 3

    expect("light as the system", lambda: background() > 200, True)
    page.prefer("dark")
    expect("dark as the system", lambda: background() < 60, True)
    page.prefer("light")
    expect("light again", lambda: background() > 200, True)
    page.value("theme.value = 'dark', theme.dispatchEvent(new Event('change'))")
    expect("dark as switched", lambda: background() < 60, True)
    contrast = """(() => {
      const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
        .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const bad = [];
      for (const e of document.querySelectorAll('main *, #search *')) {
        if (!Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.offsetParent || e.closest('option, #legend')) continue;
        let back = e; while (back && /, 0\\)|transparent/.test(getComputedStyle(back).backgroundColor)) back = back.parentElement;
        const a = light(getComputedStyle(e).color), b = light(getComputedStyle(back).backgroundColor);
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) bad.push(e.outerHTML.slice(0, 80) + ' ' + ratio.toFixed(2));
      }
      return bad; })()"""
    page.press("l")
    for theme in ("dark", "light"):
        page.value(f"theme.value = '{theme}', theme.dispatchEvent(new Event('change'))")
        expect(f"texts that are hard to read, {theme}", lambda: page.value(contrast), [])
    expect("controls without a name", lambda: page.value("Array.from(document.querySelectorAll('button, input, select, canvas, [role=separator], [role=tree]')).filter((e) => "
           "!e.closest('[hidden]') && !(e.textContent.trim() && e.tagName === 'BUTTON') && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby') && "
           "!(e.labels && e.labels.length)).map((e) => e.outerHTML.slice(0, 80))"), [])


def case_about(page, _):
    """What the program has said of the run, with a key as well as with the pointer."""
    expect("it is folded away", lambda: page.value("about.hidden"), True)
    page.value("document.getElementById('about-button').focus()")
    page.press("Enter")
    expect("it can be seen", lambda: page.value("about.getBoundingClientRect().height > 30"), True)
    expect("what it says", lambda: page.value("Array.from(about.querySelectorAll('dt')).map((d) => [d.textContent, d.nextElementSibling.textContent])"), ABOUT)
    page.click("#about-button")
    expect("it is folded away again", lambda: page.value("about.hidden"), True)


def a_deep_recursion():
    """Twenty thousand grids, each of which has launched the next."""
    grids = [[None, None, None, 0, 0, 0, "success", 0, 0, 1000, 9000]]
    for k in range(20000):
        grids.append([k, None, None, 1, 1, k + 1, "success", k % 132, 1000 + 10 * k, 9000 + 1000 * k, 9900 + 1000 * k])
    return grids


def case_deep(page, grids):
    """However deep a grid is, it is found in every part."""
    expect("it opens within 20 s", page.seconds < 20 or page.seconds, True)
    page.press("p")
    chosen_everywhere(page, len(grids) - 1, "child", len(grids) - 1)
    page.press("ArrowUp")
    chosen_everywhere(page, len(grids) - 2, "child", len(grids) - 2)
    for _ in range(30):
        page.press("ArrowUp")
    chosen_everywhere(page, len(grids) - 32, "child", len(grids) - 32)
    page.press("Escape")
    page.press("n")
    chosen_everywhere(page, 0, "root", 0)


def case_million(page, grids):
    """A million grids: it opens, and answers, in seconds. (Of the browser's processor time: others may use the machine.)"""
    print(f"opened: {page.seconds:.2f} s")
    expect("it opens within 30 s", page.seconds < 30 or page.seconds, True)
    lost = next(i for i, grid in enumerate(grids) if grid[6] == LOST)
    whole = shown_time(page)
    uses = (("w", lambda: page.press("w"), lambda: shown_time(page) != whole),
            ("l", lambda: page.press("l"), lambda: page.value("Number(timeline.dataset.chosen)") == lost),
            ("v", lambda: page.press("v"), lambda: page.value("document.getElementById('view').value") == "nesting"),
            ("r", lambda: page.press("r"), lambda: page.value("Number(timeline.dataset.arrows)") > 1),
            ("a range", lambda: page.drag(place_of(page, 500000), place_of(page, 1200000)),
             lambda: page.value("document.querySelectorAll('#range-table tr').length") > 1))
    for what, use, is_done in uses:
        start = page.processor_time()
        use()
        expect(f"{what} is done", is_done, True)
        seconds = page.processor_time() - start
        print(f"{what}: {seconds:.2f} s")
        expect(f"{what} takes less than 8 s", seconds < 8 or seconds, True)
    page.press("/")
    page.type("grandchild")
    expect("how many match", lambda: page.value("document.getElementById('match-count').textContent"), "1,000,000 of 1,001,001 match")


def main():
    browser, tool, folder, case = sys.argv[1:]
    grids = {"million": a_million_grids, "deep": a_deep_recursion}.get(case, known_grids)()
    os.makedirs(folder, exist_ok=True)
    saved, file = os.path.join(folder, f"{case}.dynpar.json"), os.path.join(folder, f"{case}.html")
    save(saved, grids, **({"about": ABOUT} if case == "about" else {}))
    subprocess.run([tool, "convert", saved, file], check=True)
    try:
        with chromium.Page(browser, file) as page:
            try:
                globals()[f"case_{case}"](page, grids)
            except (AssertionError, RuntimeError) as error:
                sys.exit(f"check_page_use: {error}")
            if page.console:
                sys.exit("check_page_use: lines on the console: " + "\n".join(page.console))
    except chromium.NotHere as error:
        print(f"check_page_use: skipped: {error}")
        sys.exit(77)
    print(f"{case}: as it should be")


if __name__ == "__main__":
    main()
