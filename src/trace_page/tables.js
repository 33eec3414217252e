// ---- The tables: kernels by depth, and single grids.
const tableNames = ["kernels", "grids", "range"];
function showTable(name) {
  for (const other of tableNames) {
    const tab = byId(other + "-tab");
    tab.setAttribute("aria-selected", String(other === name));
    tab.tabIndex = other === name ? 0 : -1;
    byId(other + "-panel").hidden = other !== name;
  }
  if (name === "grids") fillGrids();
}
const tableShown = (name) => !byId(name + "-panel").hidden;
tableNames.forEach((name, at) => {
  byId(name + "-tab").addEventListener("click", () => showTable(name));
  byId(name + "-tab").addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const other = tableNames[(at + step + tableNames.length) % tableNames.length];
    showTable(other);
    byId(other + "-tab").focus();
    event.preventDefault();
    event.stopPropagation();
  });
});

// Heads that sort. `fill` fills the body anew.
function addHeads(table, columns, order_, fill) {
  const row = element("tr");
  columns.forEach((column) => {
    const head = element("th", column.text ? "text" : "");
    head.append(button("", column.name, () => {
      order_.up = order_.by === column ? !order_.up : column.text === true;
      order_.by = column;
      Array.from(row.children).forEach((other, k) => {
        if (columns[k] === column) other.setAttribute("aria-sort", order_.up ? "ascending" : "descending");
        else other.removeAttribute("aria-sort");
      });
      fill();
    }));
    row.append(head);
  });
  table.tHead.append(row);
}
function addRow(body, cells, activate) {
  const row = element("tr");
  row.tabIndex = 0;
  for (const [text, isText, className] of cells) row.append(element("td", (isText ? "text " : "") + (className || ""), text));
  row.addEventListener("click", activate);
  row.addEventListener("keydown", (event) => {
    const other = event.key === "ArrowDown" ? row.nextElementSibling : event.key === "ArrowUp" ? row.previousElementSibling : null;
    if (other) other.focus();
    else if (event.key === "Enter" || event.key === " ") activate();
    else if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    event.stopPropagation();
  });
  body.append(row);
  return row;
}
function scrollToRow(row) {
  const panel = row.closest(".scroll"), a = row.getBoundingClientRect(), b = panel.getBoundingClientRect();
  if (a.top < b.top + 30 || a.bottom > b.bottom) panel.scrollTop += a.top - b.top - b.height / 3;
}

// Kernels by depth: a row filters for its grids.
const kernelColumns = [
  { name: "kernel", value: (r) => r.kernel, text: true }, { name: "depth", value: (r) => r.depth },
  { name: "grids", value: (r) => r.count, show: whole }, { name: "lost", value: (r) => r.lost, show: whole }];
["latency", "duration"].forEach((what) => ["median", "p95", "max"].forEach((which, i) =>
  kernelColumns.push({ name: what + " " + which, value: (r) => r[what][i], show: time })));
kernelColumns.push({ name: "total duration", value: (r) => r.duration[3], show: time });
const kernelOrder = { by: null, up: true };
const kernelsAtOnce = 500;  // a recursion has a row for each of its depths
let kernelsShown = kernelsAtOnce;
let kernelRows = [];
const isEntryOf = (entry, i) => i >= 0 && entry.kernel === trace.kernels[trace.kernel[i]] && entry.depth === trace.depth[i];
function fillKernels() {
  let list = trace.table.slice();
  if (kernelOrder.by) list.sort((a, b) => (kernelOrder.up ? d3.ascending : d3.descending)(kernelOrder.by.value(a), kernelOrder.by.value(b)));
  const body = byId("table").tBodies[0], own = list.findIndex((entry) => isEntryOf(entry, chosen.grid));
  byId("more-kernels").hidden = list.length <= kernelsShown;
  byId("more-kernels").textContent = whole(list.length - kernelsShown) + " more";
  // The chosen grid's row is there, wherever it would be.
  list = (own >= kernelsShown ? [list[own]] : []).concat(list.slice(0, kernelsShown));
  body.replaceChildren();
  kernelRows = list.map((entry) => {
    const row = addRow(body, kernelColumns.map((c) => [(c.show || String)(c.value(entry)), c.text, c.name === "lost" && entry.lost > 0 ? "lost" : ""]),
      () => filterFor(entry.kernel, entry.depth));
    row.title = "Click to see only these grids";
    return { entry: entry, row: row };
  });
  markKernels();
}
function markKernels() {
  const i = chosen.grid;
  for (const { entry, row } of kernelRows) {
    const isChosen = isEntryOf(entry, i);
    row.classList.toggle("chosen", isChosen);
    row.classList.toggle("unmatched", chosen.matches !== null && !matchingKernels.has(entry.kernel + "\n" + entry.depth));
    if (isChosen && tableShown("kernels")) scrollToRow(row);
  }
}
let matchingKernels = new Set();
function findMatchingKernels() {
  const seen = new Set(), n = trace.kernels.length;
  matchingKernels = new Set();
  if (chosen.matches === null) return;
  for (let i = 0; i < count; ++i) if (chosen.matches[i]) seen.add(trace.depth[i] * n + trace.kernel[i]);
  for (const key of seen) matchingKernels.add(trace.kernels[key % n] + "\n" + Math.floor(key / n));
}

// Grids that match, one a row. Only the first are made: a sorted list of a million is never needed.
const gridColumns = [
  { name: "grid", value: (i) => i, show: String }, { name: "kernel", value: (i) => trace.kernel[i] * trace.shapes.length + trace.shape[i], show: nameOf, text: true },
  { name: "depth", value: (i) => trace.depth[i], show: (i) => String(trace.depth[i]) },
  { name: "status", value: (i) => trace.status[i], show: (i) => ran(i) ? "" : trace.statuses[trace.status[i]], text: true },
  { name: processorKind, value: (i) => trace.processor[i], show: (i) => trace.processor[i] < 0 ? "" : String(trace.processor[i]) },
  { name: "launched", value: (i) => trace.launched[i], show: (i) => time(trace.launched[i]) },
  { name: "latency", value: latency, show: (i) => latency(i) < 0 ? "" : time(latency(i)) },
  { name: "duration", value: duration, show: (i) => duration(i) < 0 ? "" : time(duration(i)) }];
const gridOrder = { by: gridColumns[0], up: true };
const gridsAtOnce = 100;
let gridsShown = gridsAtOnce;
function firstGrids(wanted) {
  const { by, up } = gridOrder, sign = up ? 1 : -1;
  const list = [];
  if (by === gridColumns[0]) {
    for (let k = 0; k < count && list.length < wanted; ++k) { const i = up ? k : count - 1 - k; if (matches(i)) list.push(i); }
    return list;
  }
  const keys = new Float64Array(chosen.matchCount);
  for (let i = 0, n = 0; i < count; ++i) if (matches(i)) keys[n++] = sign * by.value(i);
  keys.sort();
  const last = keys[Math.min(wanted, keys.length) - 1];
  for (let i = 0; i < count; ++i) if (matches(i) && sign * by.value(i) <= last) list.push(i);
  return list.sort((a, b) => sign * (by.value(a) - by.value(b)) || a - b).slice(0, wanted);
}
function fillGrids() {
  const list = firstGrids(gridsShown), body = byId("grids").tBodies[0], i = chosen.grid;
  // The chosen grid is in the table, wherever it would be in its order.
  if (i >= 0 && !list.includes(i)) list.unshift(i);
  body.replaceChildren();
  for (const g of list) {
    const row = addRow(body, gridColumns.map((c) => [c.show(g), c.text, c.name === "status" ? "lost" : ""]), () => choose(g, "grids"));
    row.dataset.grid = g;
  }
  byId("more-grids").hidden = chosen.matchCount <= gridsShown;
  byId("more-grids").textContent = whole(chosen.matchCount - gridsShown) + " more";
  markGrids();
}
function markGrids(origin) {
  for (const row of byId("grids").tBodies[0].children) {
    const isChosen = Number(row.dataset.grid) === chosen.grid;
    row.classList.toggle("chosen", isChosen);
    row.setAttribute("aria-selected", String(isChosen));
    if (isChosen && origin !== "grids") scrollToRow(row);
  }
}
byId("more-kernels").addEventListener("click", () => { kernelsShown += kernelsAtOnce; fillKernels(); });
byId("more-grids").addEventListener("click", () => { gridsShown += gridsAtOnce; fillGrids(); });

parts.push({
  chosen(i, origin) {
    if (i >= 0 && !kernelRows.some(({ entry }) => isEntryOf(entry, i))) fillKernels(); else markKernels();
    if (!tableShown("grids")) return;
    if (i >= 0 && !byId("grids").querySelector("tr[data-grid='" + i + "']")) fillGrids(); else markGrids(origin);
  },
  filtered() {
    gridsShown = gridsAtOnce;
    byId("grids-tab").textContent = "Grids" + (chosen.matches ? " (" + whole(chosen.matchCount) + ")" : "");
    findMatchingKernels();
    markKernels();
    if (tableShown("grids")) fillGrids();
  },
});
addHeads(byId("table"), kernelColumns, kernelOrder, fillKernels);
addHeads(byId("grids"), gridColumns, gridOrder, () => { gridsShown = gridsAtOnce; fillGrids(); });
fillKernels();
