// ---- The tree. Grids that look alike, whatever is below them, are a group; a group's children are those of all its grids.
const tree = byId("tree");
const linesAtOnce = 100;   // that open at a time
const deepestPath = 48;    // levels that open to show one grid: beyond, the tree begins further down
const groupKey = (i) => trace.kernel[i] + " " + trace.shape[i] + " " + trace.status[i] + " " + (trace.continues[i] >= 0);
let openNodes = [];        // every line there is
let topList = null;        // the list of what the host launched
let chosenNode = null;

function inGroups(grids) {
  const groups = new Map();
  for (const i of grids) {
    const key = groupKey(i), group = groups.get(key);
    if (group) group.push(i); else groups.set(key, [i]);
  }
  return Array.from(groups.values());
}
function below(grids) {
  const all = [];
  for (const i of grids) for (let c = first[i]; c >= 0; c = next[c]) all.push(c);
  return all;
}
function median(values) {
  const known = Float64Array.from(values.filter((v) => v >= 0)).sort();
  return known.length === 0 ? -1 : known[Math.ceil(known.length / 2) - 1];
}

// Whether a grid, or one below it, matches.
let matchesBelow = null;
function findMatchesBelow() {
  matchesBelow = chosen.matches && Uint8Array.from(chosen.matches);
  if (matchesBelow) for (let i = count - 1; i >= 0; --i) if (matchesBelow[i] && above(i) >= 0) matchesBelow[above(i)] = 1;
}

function addList(parent, groups, single, level) {
  const nodes = new Map();  // by place in groups
  let shown = 0, more = null;
  const add = (at) => {
    if (!nodes.has(at)) nodes.set(at, addNode(parent, groups[at], single, level, more));
    return nodes.get(at);
  };
  function showMore() {
    const to = Math.min(groups.length, shown + linesAtOnce);
    while (shown < to) add(shown++);
    if (shown === groups.length) { if (more) more.remove(); return; }
    if (!more) parent.append(more = button("link", "", showMore));
    more.textContent = whole(groups.length - shown) + " more";
  }
  showMore();
  return { nodes: nodes, show: (i) => add(groups.findIndex((group) => single ? group[0] === i : groupKey(group[0]) === groupKey(i))) };
}

function addNode(parent, grids, single, level, before) {
  const i = grids[0], hasBelow = grids.some((g) => first[g] >= 0);
  const holder = element("div", "node"), line = element("div", "line"), toggle = element("span", "toggle", hasBelow ? "\u25b8" : "");
  holder.setAttribute("role", "treeitem");
  holder.setAttribute("aria-level", level);
  holder.setAttribute("aria-selected", "false");
  holder.tabIndex = openNodes.length === 0 ? 0 : -1;
  if (hasBelow) holder.setAttribute("aria-expanded", "false");
  const swatch = element("span", "swatch");
  swatch.style.background = shadeOf(i).fill;
  line.append(toggle);
  if (trace.continues[i] >= 0) line.append(element("span", "then", "then "));
  line.append(swatch, nameOf(i));
  if (!ran(i)) line.append(element("span", "lost", "  LOST: " + trace.statuses[trace.status[i]]));
  if (grids.length > 1) line.append(element("span", "count", "\u00d7 " + whole(grids.length)));
  const matching = element("span", "matches");
  line.append(matching);
  const node = { element: holder, grids: grids, single: single, list: null, chosenLine: null };
  if (single) {
    line.append(element("span", "times", oneText(i)));
  } else {
    const d = median(grids.map(duration)), l = median(grids.map(latency));
    if (d >= 0) line.append(element("span", "times", "took " + time(d) + ", began " + time(l) + " after its launch" + (grids.length > 1 ? " (medians)" : "")));
    if (grids.length > 1) {
      let one = null;
      line.append(button("link", "one by one", () => {
        if (one) { one.remove(); one = null; forget(); return; }
        one = element("div", "below");
        one.setAttribute("role", "group");
        holder.append(one);
        addList(one, grids.map((g) => [g]), true, level + 1);
      }));
    }
  }
  let children = null;
  node.open = () => {
    if (!hasBelow || children) return;
    children = element("div", "below");
    children.setAttribute("role", "group");
    holder.append(children);
    toggle.textContent = "\u25be";
    holder.setAttribute("aria-expanded", "true");
    node.list = addList(children, inGroups(below(grids)), false, level + 1);
  };
  node.close = () => {
    if (!children) return;
    children.remove();
    children = node.list = null;
    toggle.textContent = "\u25b8";
    holder.setAttribute("aria-expanded", "false");
    forget();
  };
  node.mark = () => {
    const n = chosen.matches ? grids.reduce((sum, g) => sum + chosen.matches[g], 0) : 0;
    matching.textContent = n > 0 && grids.length > 1 ? whole(n) + " match" : "";
    holder.dataset.matches = chosen.matches ? n : "";
    holder.classList.toggle("unmatched", matchesBelow !== null && !grids.some((g) => matchesBelow[g]));
  };
  toggle.addEventListener("click", (event) => { event.stopPropagation(); if (children) node.close(); else node.open(); });
  // Of a group the first that matches is chosen; clicking again takes the next.
  line.addEventListener("click", () => {
    focusNode(node);
    const wanted = grids.filter(matches), from_ = wanted.length > 0 ? wanted : grids;
    choose(from_[(from_.indexOf(chosen.grid) + 1) % from_.length], "tree");
  });
  holder.append(line);
  parent.insertBefore(holder, before || null);
  openNodes.push(node);
  node.mark();
  return node;
}
const forget = () => { openNodes = openNodes.filter((node) => tree.contains(node.element)); };
const oneText = (i) => "grid " + i + (trace.begun[i] < 0 ? ", launched at " + time(trace.launched[i]) :
  ", " + processorName(trace.processor[i]) + ", began at " + time(trace.begun[i])) + (duration(i) < 0 ? "" : ", took " + time(duration(i)));

function focusNode(node) {
  for (const other of openNodes) other.element.tabIndex = -1;
  node.element.tabIndex = 0;
  node.element.focus({ preventScroll: true });
}

function showTop() {
  tree.replaceChildren();
  openNodes = [];
  topList = addList(tree, inGroups(roots), false, 1);
  if (orphans.length > 0) {
    tree.append(element("div", "times", "launched by grids that are not in the trace:"));
    topList.orphans = addList(tree, inGroups(orphans), false, 1);
  }
}
// The tree below one grid, where that is too deep to open all that is above it.
function showTopOf(i, levels) {
  tree.replaceChildren();
  openNodes = [];
  tree.append(button("link", whole(levels) + " levels above this: show the whole tree", () => { showTop(); choose(chosen.grid); }));
  topList = addList(tree, [[i]], false, 1);
  topList.start = i;
}

function reveal(i, origin) {
  if (chosenNode) {
    chosenNode.element.setAttribute("aria-selected", "false");
    if (chosenNode.chosenLine) chosenNode.chosenLine.remove();
  }
  chosenNode = null;
  if (i < 0) return;
  let path = [];
  for (let j = i; j >= 0 && j !== topList.start; j = above(j)) path.push(j);
  if (topList.start !== undefined) {
    if (path.length > 0 && above(path[path.length - 1]) === topList.start) path.push(topList.start);
    else if (path.length === 0) path.push(i);
    else { showTop(); return reveal(i, origin); }
  }
  if (path.length > deepestPath) {
    showTopOf(path[20], path.length - 21);
    path = path.slice(0, 21);
  }
  let list = topList.orphans && trace.depth[path[path.length - 1]] > 0 ? topList.orphans : topList, node = null;
  for (let k = path.length - 1; k >= 0; --k) {
    node = list.show(path[k]);
    if (k > 0) { node.open(); list = node.list; }
  }
  chosenNode = node;
  node.element.setAttribute("aria-selected", "true");
  if (node.grids.length > 1) {
    node.chosenLine = element("div", "one-of", oneText(i));
    node.element.firstChild.after(node.chosenLine);
  }
  tree.dataset.chosen = i;
  if (origin === "tree") return;
  // Only the tree scrolls, not the page.
  const line = node.element.firstChild.getBoundingClientRect(), box = tree.getBoundingClientRect();
  if (line.top < box.top || line.bottom > box.bottom - 20) tree.scrollTop += line.top - box.top - box.height / 3;
}
parts.push({
  chosen: reveal,
  filtered() { findMatchesBelow(); for (const node of openNodes) node.mark(); },
});

tree.addEventListener("keydown", (event) => {
  const holder = event.target.closest(".node");
  if (!holder || event.ctrlKey || event.metaKey || event.altKey || event.target !== holder) return;
  const node = openNodes.find((one) => one.element === holder), lines = Array.from(tree.querySelectorAll(".node")), at = lines.indexOf(holder);
  const go = (to_) => { const found = openNodes.find((one) => one.element === to_); if (found) { focusNode(found); to_.firstChild.scrollIntoView({ block: "nearest" }); } };
  if (event.key === "ArrowDown") go(lines[at + 1]);
  else if (event.key === "ArrowUp") go(lines[at - 1]);
  else if (event.key === "ArrowRight") { if (holder.getAttribute("aria-expanded") === "true") go(lines[at + 1]); else node.open(); }
  else if (event.key === "ArrowLeft") { if (holder.getAttribute("aria-expanded") === "true") node.close(); else go(holder.parentNode.closest(".node")); }
  else if (event.key === "Home") go(lines[0]);
  else if (event.key === "End") go(lines[lines.length - 1]);
  else if (event.key === "Enter" || event.key === " ") holder.firstChild.click();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

showTop();
// Open as far as it stays short.
for (let level = 0; level < 12; ++level) {
  const closed = openNodes.filter((node) => node.list === null);
  if (closed.length + openNodes.length > 40) break;
  closed.forEach((node) => node.open());
}
