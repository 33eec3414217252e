// ---- Keys. What the overlay shows is this list.
const keys = [
  ["w", "zoom in, at the pointer if it is on the timeline", () => zoomBy(0.6, pointerTime >= 0 ? pointerTime : undefined)],
  ["s", "zoom out", () => zoomBy(1 / 0.6, pointerTime >= 0 ? pointerTime : undefined)],
  ["a", "move to earlier", () => panBy(-0.2)],
  ["d", "move to later", () => panBy(0.2)],
  ["+", "zoom in", () => zoomBy(0.5)],
  ["-", "zoom out", () => zoomBy(2)],
  ["0", "the whole run", () => showTime(0, end)],
  ["f", "zoom to the chosen grid, or to the range", () => { if (chosen.grid >= 0) zoomToChosen(); else if (chosen.range) showTime(...chosen.range); }],
  ["m", "select the time of the chosen grid, with all that it launched, as a range", () => { if (chosen.grid >= 0) chooseRange(begin[chosen.grid], Math.max(begin[chosen.grid] + 1, complete[chosen.grid])); }],
  ["v", "rows by processor or by nesting depth", () => setView(view === "nesting" ? "processors" : "nesting")],
  ["r", "every launch as an arrow, or only those of the chosen grid", () => byId("all-arrows").click()],
  ["/", "search", () => fields.text.focus()],
  ["n", "the next grid that matches", () => step(1, matches)],
  ["p", "the previous grid that matches", () => step(-1, matches)],
  ["l", "the next lost launch", () => step(1, (i) => !ran(i))],
  ["?", "this help", () => byId("help").showModal()],
  ["Escape", "give up what was chosen last: the range, the grid, the filter", escape],
  ["ArrowUp", "the grid that launched the chosen one; without a chosen grid, scroll the rows", () => walk("ArrowUp")],
  ["ArrowDown", "the first grid that it launched", () => walk("ArrowDown")],
  ["ArrowLeft", "the one launched before it by the same grid; without a chosen grid, move to earlier", () => walk("ArrowLeft")],
  ["ArrowRight", "the one launched after it", () => walk("ArrowRight")],
];
const keyNames = { Escape: "Esc", ArrowUp: "\u2191", ArrowDown: "\u2193", ArrowLeft: "\u2190", ArrowRight: "\u2192" };

function escape() {
  if (chosen.range) chooseRange();
  else if (chosen.grid >= 0) choose(-1);
  else if (chosen.matches) clearFilter();
}
function walk(key) {
  const i = chosen.grid;
  if (i < 0) {
    if (key === "ArrowLeft") panBy(-0.2);
    else if (key === "ArrowRight") panBy(0.2);
    else scrollRows(key === "ArrowUp" ? -40 : 40);
    return;
  }
  const source = above(i);
  let to_ = -1;
  if (key === "ArrowUp") to_ = source;
  else if (key === "ArrowDown") to_ = first[i];
  else if (key === "ArrowRight") to_ = source >= 0 ? next[i] : (roots.concat(orphans))[roots.concat(orphans).indexOf(i) + 1] ?? -1;
  else if (source >= 0) { for (let c = first[source]; c !== i; c = next[c]) to_ = c; }
  else { const tops = roots.concat(orphans); to_ = tops[tops.indexOf(i) - 1] ?? -1; }
  if (to_ >= 0) choose(to_, "keys");
}
// The arrows belong to what has the focus, if that knows them: the tree, a table, a list to choose from.
const knowsArrows = (target) => target.closest("#tree, table, .scroll, [role='tablist'], #divider") !== null;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.matches("input:not([type='checkbox']), select")) {
    if (event.key === "Escape") { target.blur(); canvas.focus({ preventScroll: true }); event.preventDefault(); }
    return;
  }
  if (event.key.startsWith("Arrow") && knowsArrows(target)) return;
  const name = event.key === "=" ? "+" : event.key === "_" ? "-" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const entry = keys.find(([key]) => key === name);
  if (!entry) return;
  entry[2]();
  event.preventDefault();
});
(function () {
  const body = byId("keys").tBodies[0];
  const add = (name, text) => {
    const row = element("tr"), cell = element("td");
    cell.append(element("kbd", "", name));
    row.append(cell, element("td", "", text));
    body.append(row);
  };
  for (const [key, text] of keys) add(keyNames[key] || key, text);
  add("Tab", "the next part of the page; in the tree the arrows move, open and close, Enter chooses");
  add("click", "choose a grid; a row of the kernels' table filters; two clicks zoom to the grid");
  add("drag", "select a range of time; with Shift or the middle button, move");
  add("wheel", "scroll the rows; with Ctrl zoom, with Shift move to earlier and later");
})();
byId("help-button").addEventListener("click", () => byId("help").showModal());
