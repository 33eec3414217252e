// ---- A range of time, and what ran in it.
function chooseRange(a, b) {
  chosen.range = b > a ? [a, b] : null;
  tell("ranged");
}
// By kernel and depth: grids that ran in it for any time, their time within it, and launches that were lost in it.
function sumsOf(a, b) {
  const groups = new Map(), all = { ran: 0, begun: 0, lost: 0, time: 0 };
  for (const i of order) {
    if (begin[i] > b) break;
    if (finish[i] < a || !matches(i)) continue;
    const key = trace.kernel[i] + " " + trace.depth[i];
    let group = groups.get(key);
    if (!group) groups.set(key, group = { kernel: trace.kernels[trace.kernel[i]], depth: trace.depth[i], ran: 0, begun: 0, lost: 0, time: 0 });
    const within = Math.max(0, Math.min(finish[i], b) - Math.max(begin[i], a));
    for (const sum of [group, all]) {
      if (trace.begun[i] < 0) { if (!ran(i)) ++sum.lost; continue; }
      ++sum.ran;
      if (begin[i] >= a) ++sum.begun;
      sum.time += within;
    }
  }
  return { all: all, groups: Array.from(groups.values()).sort((g, h) => h.time - g.time) };
}
let rangeWaiting = false;
function showRange() {
  rangeWaiting = false;
  const text = byId("range-text"), head = byId("range-table").tHead, body = byId("range-table").tBodies[0];
  head.replaceChildren(); body.replaceChildren();
  byId("range-tab").textContent = "Range";
  if (!chosen.range) { text.textContent = "Drag over the timeline to select a range of time; m selects the time of the chosen grid."; return; }
  const [a, b] = chosen.range, sums = sumsOf(a, b);
  byId("range-tab").textContent = "Range: " + time(b - a);
  text.textContent = time(b - a) + " from " + time(a) + " to " + time(b) + ": " + whole(sums.all.ran) + " grids ran, " +
    whole(sums.all.begun) + " of them begun in it, for " + time(sums.all.time) + " in all; " + whole(sums.all.lost) +
    " launches lost; on average " + alive.mean(a, b).toPrecision(3) + " grids alive and " + busy.mean(a, b).toPrecision(3) + " of " +
    whole(busy.processors) + " " + processorsName + " in use" + (chosen.matches ? " (sums: only of grids that match)" : "");
  Object.assign(text.dataset, { from: a, to: b, ran: sums.all.ran, begun: sums.all.begun, lost: sums.all.lost, time: sums.all.time });
  const row = element("tr");
  ["kernel", "depth", "grids ran", "begun", "lost", "time in it"].forEach((name, k) => row.append(element("th", k === 0 ? "text" : "", name)));
  head.append(row);
  for (const group of sums.groups.slice(0, 200)) {
    const line = element("tr");
    line.append(element("td", "text", group.kernel));
    for (const value of [group.depth, whole(group.ran), whole(group.begun), whole(group.lost), time(group.time)]) line.append(element("td", "", value));
    body.append(line);
  }
}
// Once a frame: a drag changes it more often.
const rangeChanged = () => { if (!rangeWaiting) { rangeWaiting = true; requestAnimationFrame(showRange); } };
parts.push({ ranged() { rangeChanged(); if (chosen.range) showTable("range"); }, filtered: rangeChanged });
